internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

struct SetKeychainPassword: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-keychain-password", abstract: "Change the password of a local keychain.",
        discussion: """
            The session no longer keeps the keychain unlocked then. The key that the password opens stays: a copy of the file \
            from before, with the old password, has it. With --rekey the keychain gets another key, and everything in it is \
            encrypted anew; do that once somebody may have a copy and the old password, or a card that was unbound. Programs \
            that have the keychain unlocked lock it. Damaged items are named, and nothing is changed while there are any.
            """)

    @Flag(help: "Give it another key as well.")
    var rekey = false

    @Option(name: .letter("o"), parsing: .unconditional, help: SecretArgument.help("The old password."))
    var oldPassword: String?

    @Option(name: .letter("p"), parsing: .unconditional, help: SecretArgument.help("The new password."))
    var newPassword: String?

    @Argument(
        help: "A name, or a path with a slash in it; the default keychain if left out.",
        completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard oldPassword == nil || newPassword == nil || authentication.pinSource == nil else {
            throw ValidationError(localized: "both passwords are given: leave out --pin-source")
        }
    }

    func run() throws {
        let named = try NamedKeychain(keychain, cards)
        guard named.isFile else {
            throw KeychainError(
                .readOnly, "a card has a PIN, not a password", remedy: "use 'tokenctl card pin change'")
        }
        func given(_ password: String?) -> SharedSecret? { password.map { SharedSecret(SecretArgument.secret($0)) } }
        let change = try named.host(authentication).changePassword(
            of: named.identifier, from: given(oldPassword), to: given(newPassword), renewingKey: rekey,
            authentication.request)
        let name = named.description.name
        defer { SetKeychainPassword.warn(of: change, in: name) }
        guard !output.json else { return try Listing.showJSON(KeychainInfo(named.currentDetails())) }
        StandardOutput.line(
            localized: rekey
                ? "The password and the key of '\(name)' have been changed."
                : "The password of '\(name)' has been changed.")
        for card in change.renewed {
            StandardOutput.line(localized: "'\(card.label)' (\(card.token.rawValue)) opens it as before.")
        }
    }

    private static func warn(of change: PasswordChange, in keychain: String) {
        for card in change.dropped {
            Warnings.show(
                "warning: '\(card.label)' (\(card.token.rawValue)) no longer opens '\(keychain)': bind it again with 'tokenctl bind-keychain', if it is yours"
            )
        }
        if let leftover = change.leftover { Warnings.show("warning: \(leftover)") }
    }
}
