internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

struct CreateKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-keychain", abstract: "Create local keychains, each with a password that is asked for.",
        discussion: """
            With -p they are unlocked as well, for scripts that go on with them: as by unlock-keychain, where this system \
            keeps keys of a login session.
            """)

    @Option(name: .letter("p"), parsing: .unconditional, help: SecretArgument.help("The password."))
    var password: String?

    @Flag(name: .customShort("P"), help: "Ask for the password; that is so in any case.")
    var isAsked = false

    @Argument(help: "Names, or paths with a slash in them.", completion: Completions.keychains)
    var keychains: [String] = ["login"]

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws { try authentication.refuseSource(beside: "-p", password) }

    func run() throws {
        let host = try authentication.host(HostAccess(), for: [])
        var rows: [KeychainRow] = []
        // If one cannot be made, those that were made before are reported.
        defer { output.report(rows) }
        for keychain in keychains {
            let name = try KeychainName.new(keychain)
            let password = password.map { SharedSecret(SecretArgument.secret($0)) }
            let created = try host.createKeychain(name, password: password, RequestContext()).keychain
            if password != nil { try? host.unlock(created.identifier, .silent) }
            rows.append(KeychainRow(created))
            if !output.json { StandardOutput.line(created.location) }
        }
    }
}

struct DeleteKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-keychain", abstract: "Delete keychains with all that is in them, and unlist them.",
        discussion: "A symbolic link is refused: it, or the keychain that it leads to, may be meant.")

    @Argument(help: "Names, or paths with a slash in them.", completion: Completions.keychains)
    var keychains: [String]

    @OptionGroup var output: OutputOptions

    func run() throws {
        let (host, request) = (try HostAccess().host, RequestContext.silent)
        var rows: [KeychainRow] = []
        defer { output.report(rows) }
        for keychain in keychains {
            if let noun = NamedKeychain.noun(ofCard: keychain) {
                throw KeychainError(
                    .readOnly, "'\(keychain)' is \(noun), not a file that could be deleted", remedy: "take it out")
            }
            let name = try KeychainName.fileToDelete(keychain)
            let row = KeychainRow(at: try host.path(ofKeychain: name, request), host)
            try host.deleteKeychain(name, request)
            rows.append(row)
        }
    }
}

struct UnlockKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock-keychain",
        abstract: "Unlock a local keychain for this login session.",
        discussion: """
            The host of the session keeps the key, in memory only, until lock-keychain, logout or the time is up. Later \
            commands of the session then ask for no password. A card, named by its id, is asked whether the PIN is right. \
            Where a card is in that the keychain is bound to (see bind-keychain), its PIN is asked for, not the password.
            """)

    @Argument(help: NamedKeychain.help, completion: Completions.keychains)
    var keychain: String?

    @Option(name: .letter("p"), parsing: .unconditional, help: SecretArgument.help("The password."))
    var password: String?

    @Flag(name: .customShort("u"), help: "Use no password, only the key that the session keeps.")
    var withoutPassword = false

    @Option(
        name: [.letter("t"), .customLong("timeout")], parsing: .unconditional,
        help: ArgumentHelp(
            String(localized: "Seconds until it locks by itself. (default: \(KeychainSettings.standardSessionTime))"),
            valueName: "timeout"
        ))
    var givenTimeout: UInt32?

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard givenTimeout != 0 else {
            throw ValidationError(localized: "-t takes at least one second; lock-keychain locks at once")
        }
        try authentication.refuseSource(beside: "-p", password)
    }

    func run() throws {
        let named = try NamedKeychain(keychain, cards)
        guard named.isFile || !withoutPassword && givenTimeout == nil else {
            throw CommandError(
                "-\(withoutPassword ? "u" : "t") is for keychains in files",
                "a card keeps its PIN itself, until it is taken out or locked", advice: "leave it out")
        }
        var request = authentication.request
        if let password, !withoutPassword {
            request.credentials = [.init(named.isFile ? .password : .pin, SecretArgument.secret(password))]
        }
        if withoutPassword {
            guard named.description.status.contains(.unlocked) else {
                throw KeychainError(
                    .interactionNotAllowed, "this session does not keep the key of '\(named.description.name)'",
                    remedy: "leave -u out")
            }
            request.questions = .never
        }
        if named.isFile { try UnlockKeychain.requireSession(of: named) }
        let time = named.isFile ? givenTimeout ?? KeychainSettings.standardSessionTime : nil
        try named.host(authentication).unlock(named.identifier, for: time, request)
        guard output.json else { return }
        try Listing.showJSON(
            named.isFile ? KeychainInfo(named.currentDetails()) : KeychainInfo(named.description, isUnlocked: true))
    }

    /// - Throws: `errSecNotAvailable` where the key would be forgotten with the end of this command.
    private static func requireSession(of named: NamedKeychain) throws {
        guard try !named.access.isOfSession else { return }
        throw KeychainError(
            .notAvailable,
            "'\(named.description.name)' would be unlocked for this command alone, since no host serves the session",
            remedy: "tokenctl host start tells why; a command that needs the password asks for it")
    }
}

struct LockKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock-keychain",
        abstract: "Lock a local keychain or a card, or with -a all of them.",
        discussion: "A card is locked by being reset: it forgets that its PIN was presented.")

    @Flag(name: [.customShort("a"), .customLong("all")], help: "Lock every keychain and card.")
    var all = false

    @Argument(help: NamedKeychain.help, completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        guard !all else { return try lockAll() }
        let (named, request) = (try NamedKeychain(keychain, cards), RequestContext.silent)
        let host = try named.host()
        if named.isFile {
            _ = try host.lock(named.identifier, request)
        } else {
            try host.administer(named.identifier, .reset, request)
        }
        guard output.json else { return }
        try Listing.showJSON([
            named.isFile ? KeychainInfo(named.currentDetails()) : KeychainInfo(named.description, isUnlocked: false)
        ])
    }

    private func lockAll() throws {
        let (host, request) = (try HostAccess(cards).host, RequestContext.silent)
        let all = try host.keychains(request)
        let present = all.found.filter { $0.kind != .moduleToken }
        for card in present where card.kind == .card { try host.administer(card.identifier, .reset, request) }
        let failed = try host.lock(nil, request).filter { $0.kind != .absentKeychain }
        let gaps = Gaps()
        gaps.tell(failed + all.missing.filter { $0.kind != .absentKeychain })
        if output.json {
            try Listing.showJSON(
                present.map { keychain in
                    guard keychain.kind == .file else { return KeychainInfo(keychain, isUnlocked: false) }
                    return KeychainInfo(try host.keychain(keychain.identifier, request))
                })
        }
        try gaps.end()
        if !failed.isEmpty { throw ExitCode(1) }
    }
}
