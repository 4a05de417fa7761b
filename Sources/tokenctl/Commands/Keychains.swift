internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import KeychainHost
internal import SecureBytes
internal import TokenKit

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
        let context = try authentication.context()
        var rows: [KeychainRow] = []
        // If one cannot be made, those that were made before are reported.
        defer { output.report(rows) }
        for keychain in keychains {
            let name = try KeychainName.new(keychain)
            try KeychainPreferences.own.checkFree(name)
            let password = Passphrase(
                argument: password, request: PromptRequest(.newPassword, subject: keychain), context: context)
            let created = try KeychainPreferences.own.create(name, password: password.ask())
            if self.password != nil { try? created.shareKeyWithSession(seconds: LocalKeychain.standardSessionTime) }
            rows.append(KeychainRow(created))
            if !output.json { StandardOutput.line(created.path) }
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
        var rows: [KeychainRow] = []
        defer { output.report(rows) }
        for keychain in keychains {
            if let noun = NamedKeychain.noun(ofCard: keychain) {
                throw KeychainError(
                    .readOnly, "'\(keychain)' is \(noun), not a file that could be deleted", remedy: "take it out")
            }
            let name = try KeychainName.fileToDelete(keychain)
            let row = KeychainRow(at: KeychainPreferences.own.absolutePath(name))
            try KeychainPreferences.own.delete(name)
            rows.append(row)
        }
    }
}

struct UnlockKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock-keychain",
        abstract: "Unlock a local keychain for this login session.",
        discussion: """
            The key stays in the kernel's keyring, in memory only, until lock-keychain, logout or the time is up. Later \
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
            "Seconds until it locks by itself. (default: \(LocalKeychain.standardSessionTime))", valueName: "timeout"))
    var givenTimeout: UInt32?

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard givenTimeout != 0 else {
            throw ValidationError("-t takes at least one second; lock-keychain locks at once")
        }
        try authentication.refuseSource(beside: "-p", password)
    }

    func run() throws {
        switch try NamedKeychain(keychain, cards) {
        case .card(let card):
            guard !withoutPassword, givenTimeout == nil else {
                throw CommandError(
                    "-\(withoutPassword ? "u" : "t") is for keychains in files",
                    "a card keeps its PIN itself, until it is taken out or locked", advice: "leave it out")
            }
            let context = try authentication.context(for: keychain, cards.reader)
            if let password { context.setCredential(SecretArgument.secret(password), .pin) }
            try card.verifyPIN(authentication: context)
            if output.json { try Listing.showJSON(KeychainInfo(card, isUnlocked: true)) }
        case .local(let opened):
            try unlock(opened)
            try opened.shareKeyWithSession(seconds: givenTimeout ?? LocalKeychain.standardSessionTime)
            if output.json { try Listing.showJSON(KeychainInfo(opened)) }
        }
    }

    private func unlock(_ opened: LocalKeychain) throws {
        guard withoutPassword else {
            if let password { return try opened.unlock(password: SecretArgument.secret(password)) }
            return try opened.unlock(
                use: LocalKeychain.plainUnlock,
                authentication: authentication.context(ProcessKeychains(cards), for: keychain, cards.reader))
        }
        guard try opened.unlockFromSession() else {
            throw KeychainError(
                .interactionNotAllowed, "this session does not keep the key of '\(opened.name)'", remedy: "leave -u out"
            )
        }
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
        switch try NamedKeychain(keychain, cards) {
        case .card(let card):
            let info = try LockKeychain.lock(card)
            if output.json { try Listing.showJSON([info]) }
        case .local(let opened):
            try opened.lockSession()
            if output.json { try Listing.showJSON([KeychainInfo(opened)]) }
        }
    }

    private static func lock(_ card: TokenKeychain) throws -> KeychainInfo {
        defer { card.slot.disconnect(resetting: true) }
        return try KeychainInfo(card, isUnlocked: false)
    }

    private func lockAll() throws {
        let session = try CommandKeychains(cards, locals: false)
        var outcome = try session.process.lockAll()
        // An absent keychain needs no locking.
        outcome.missing.removeAll { $0.kind == .absentKeychain }
        var infos: [KeychainInfo] = []
        for token in session.tokens where (try? token.identity()) ?? nil != nil {
            infos.append(try LockKeychain.lock(token))
        }
        _ = session.reporting(outcome)
        if output.json {
            infos += try outcome.found.map { try KeychainInfo($0) }
            try Listing.showJSON(infos)
        }
        if !outcome.missing.isEmpty { throw ExitCode(1) }
    }
}

/// A passphrase: given as an argument, or asked for.
struct Passphrase {
    let argument: String?
    let request: PromptRequest
    let context: AuthenticationContext

    func ask() throws -> Secret {
        if let argument { return SecretArgument.secret(argument) }
        return try context.prompter.ask(request)
    }
}
