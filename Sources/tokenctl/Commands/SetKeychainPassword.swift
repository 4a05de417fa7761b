internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import KeychainHost
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
            throw ValidationError("both passwords are given: leave out --pin-source")
        }
    }

    func run() throws {
        guard case .local(let opened) = try NamedKeychain(keychain, cards) else {
            throw KeychainError(
                .readOnly, "a card has a PIN, not a password", remedy: "use 'tokenctl card pin change'")
        }
        try opened.checkWritable()
        let context = try authentication.context(for: keychain)
        let old = Passphrase(
            argument: oldPassword, request: PromptRequest(.password, subject: opened.name, use: "change it"),
            context: context)
        let new = Passphrase(
            argument: newPassword, request: PromptRequest(.newPassword, subject: opened.name), context: context)
        let change =
            rekey
            ? try opened.rekey(from: old.ask(), to: new.ask())
            : try opened.changePassword(from: old.ask(), to: new.ask())
        defer { SetKeychainPassword.warn(of: change, in: opened.name) }
        guard !output.json else { return try Listing.showJSON(KeychainInfo(opened)) }
        StandardOutput.line(
            "The password\(rekey ? " and the key" : "") of '\(opened.name)' \(rekey ? "have" : "has") been changed.")
        for binding in change.renewedBindings {
            StandardOutput.line("'\(binding.label)' (\(binding.tokenID)) opens it as before.")
        }
    }

    private static func warn(of change: PasswordChange, in keychain: String) {
        for binding in change.droppedBindings {
            Warnings.show(
                "warning: '\(binding.label)' (\(binding.tokenID)) no longer opens '\(keychain)': bind it again with 'tokenctl bind-keychain', if it is yours"
            )
        }
        if let leftover = change.leftover { Warnings.show("warning: \(leftover)") }
    }
}
