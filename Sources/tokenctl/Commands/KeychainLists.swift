internal import ArgumentParser
internal import KeychainHost
internal import PKCS11Driver
internal import TokenKit

/// Whose settings are shown or set, by the names of macOS's `security`.
struct DomainOptions: ParsableArguments {
    enum Name: String, CaseIterable, ExpressibleByArgument {
        case user, system, common, dynamic
    }

    @Option(name: .letter("d"), help: ArgumentHelp("Whose settings.", valueName: "domain"))
    var name: Name?

    var domain: KeychainPreferences.Domain? { name.flatMap { KeychainPreferences.Domain(rawValue: $0.rawValue) } }
}

struct ListKeychains: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list-keychains", abstract: "List the keychains a search visits, in its order, or set the list.",
        discussion: """
            With -s the keychains named are the new list of a domain; cards come and go by themselves and are passed \
            over.
            """)

    @OptionGroup var domain: DomainOptions

    @Flag(name: .customShort("s"), help: "Set the list to these keychains.")
    var set = false

    @Argument(help: "With -s: names, or paths with a slash in them.")
    var keychains: [String] = []

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: ListingOptions

    struct KeychainRow: Row {
        static let columns = ["KEYCHAIN", "KIND", "STATE", "WHERE"]
        let name: String
        let kind: String
        let state: String
        let location: String
        var uri: String?
        var cells: [String] { [name, kind, state, Directories.own.abbreviated(location)] }
    }

    func validate() throws {
        guard set || keychains.isEmpty else {
            throw ValidationError("unexpected argument '\(keychains[0])'; -s sets the list")
        }
    }

    func run() throws {
        guard !set else {
            // What list-keychains prints of cards is not a file.
            let files = try keychains.filter { NamedKeychain.tokenID($0) == nil }.map(KeychainName.file)
            return try KeychainPreferences.own.setSearchList(files, in: domain.domain ?? .user)
        }
        let rows = try rows()
        if output.uris { return rows.compactMap(\.uri).forEach { print($0) } }
        if output.isListing { return try Listing.show(rows, json: output.json) }
        for row in rows { print("    \"\(Listing.printable(row.location))\"") }
    }

    private func rows() throws -> [KeychainRow] {
        switch domain.domain {
        case nil:
            let session = try Session(cards)
            var result = session.eachToken { _, identity in ListKeychains.row(identity) }
            result.found += session.locals.map(ListKeychains.row)
            return session.reporting(result)
        case .dynamic:
            let session = try Session(cards, locals: false)
            return session.reporting(session.eachToken { _, identity in ListKeychains.row(identity) })
        case let domain?:
            return try KeychainPreferences.own.searchList(in: domain).map { path in
                do throws(KeychainError) {
                    return ListKeychains.row(try LocalKeychain.open(path))
                } catch {
                    return KeychainRow(name: path, kind: "file", state: "missing", location: path)
                }
            }
        }
    }

    private static func row(_ identity: TokenIdentity) -> KeychainRow {
        KeychainRow(
            name: identity.label, kind: "card", state: "read-only", location: identity.id.description,
            uri: PKCS11URI(of: CryptokiTokenName(identity)).description)
    }

    private static func row(_ keychain: LocalKeychain) -> KeychainRow {
        let isUnlocked = (try? keychain.unlockFromSession()) ?? false
        let state = (isUnlocked ? "unlocked" : "locked") + (keychain.isReadOnly ? ", read-only" : "")
        return KeychainRow(
            name: keychain.name, kind: "file", state: state, location: keychain.path,
            uri: PKCS11URI(of: keychain.cryptokiName).description)
    }
}

/// The options of a setting that names one keychain.
struct KeychainSettingOptions: ParsableArguments {
    @OptionGroup var domain: DomainOptions

    @Flag(name: .customShort("s"), help: "Set it to this keychain; to none if none is named.")
    var set = false

    @Argument(help: "With -s: a name, or a path with a slash in it.")
    var keychain: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard set || keychain == nil else {
            throw ValidationError("unexpected argument '\(keychain ?? "")'; -s sets the keychain")
        }
    }

    /// What it is to be set to.
    var path: String? {
        get throws { try keychain.map(KeychainName.file) }
    }

    func show(_ path: String) throws {
        guard !output.json else { return try Listing.showJSON(["keychain": path]) }
        print("    \"\(Listing.printable(path))\"")
    }
}

struct DefaultKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "default-keychain", abstract: "Show or set the keychain that gets new items.")

    @OptionGroup var setting: KeychainSettingOptions

    func run() throws {
        let preferences = KeychainPreferences.own
        let domain = setting.domain.domain
        guard !setting.set else { return try preferences.setDefaultKeychain(setting.path, in: domain ?? .user) }
        try setting.show(domain.map { try preferences.defaultKeychain(in: $0) } ?? preferences.defaultKeychain())
    }
}

struct LoginKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login-keychain", abstract: "Show or set the keychain that a login unlocks.")

    @OptionGroup var setting: KeychainSettingOptions

    func run() throws {
        guard setting.domain.domain ?? .user == .user else {
            throw KeychainError(.invalidPreferencesDomain, "only a user has a login keychain", remedy: "leave -d out")
        }
        guard !setting.set else {
            // New items go there where no other default is set.
            if let path = try setting.path { _ = try LocalKeychain.named(path) }
            return try KeychainPreferences.own.setLoginKeychain(setting.path)
        }
        try setting.show(KeychainPreferences.own.loginKeychain())
    }
}
