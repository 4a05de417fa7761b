internal import ArgumentParser
internal import KeychainHost
internal import TokenKit

struct ListKeychains: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list-keychains", abstract: "List the keychains a search visits, in its order.")

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions

    struct KeychainRow: Row {
        static let columns = ["KEYCHAIN", "KIND", "STATE", "WHERE"]
        let name: String
        let kind: String
        let state: String
        let location: String
        var cells: [String] { [name, kind, state, Directories.own.abbreviated(location)] }
    }

    func run() throws {
        let session = try Session(cards)
        var result = session.eachCard { _, identity in
            KeychainRow(name: identity.label, kind: "card", state: "read-only", location: identity.id.description)
        }
        result.found += session.locals.map { keychain in
            KeychainRow(
                name: keychain.name, kind: "file", state: ListKeychains.state(of: keychain), location: keychain.path)
        }
        try Listing.show(session.reporting(result), json: output.json)
    }

    private static func state(of keychain: LocalKeychain) -> String {
        let isUnlocked = (try? keychain.unlockFromSession()) ?? false
        return (isUnlocked ? "unlocked" : "locked") + (keychain.isReadOnly ? ", read-only" : "")
    }
}

struct CreateKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-keychain", abstract: "Create local keychains, each with a password that is asked for.")

    @Argument(help: "Names, or paths with a slash in them.")
    var keychains: [String] = ["login"]

    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let context = try authentication.context()
        for keychain in keychains {
            let password = try context.prompter.ask(PromptRequest(.newPassword, subject: keychain))
            let created = try KeychainPreferences.own.create(keychain, password: password)
            print(created.path)
        }
    }
}

struct UnlockKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock-keychain",
        abstract: "Unlock a local keychain for this login session.",
        discussion: """
            The key stays in the kernel's keyring, in memory only, until lock-keychain, logout or the time is up. Later \
            commands of the session then ask for no password.
            """)

    @Argument(help: "A name, or a path with a slash in it.")
    var keychain = "login"

    @Option(name: [.customShort("t"), .customLong("timeout")], help: "Seconds until it locks by itself.")
    var timeout: UInt32 = 28_800

    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let opened = try LocalKeychain.open(Directories.own.path(ofKeychain: keychain))
        try opened.unlock(use: "unlock it", authentication: authentication.context())
        try opened.shareKeyWithSession(seconds: timeout)
    }
}

struct LockKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock-keychain",
        abstract: "Lock a local keychain, or with -a all of them and the cards.",
        discussion: "A card is locked by being reset: it forgets that its PIN was presented.")

    @Flag(name: [.customShort("a"), .customLong("all")], help: "Lock every keychain and card.")
    var all = false

    @Argument(help: "A name, or a path with a slash in it.")
    var keychain = "login"

    @OptionGroup var cards: CardOptions

    func run() throws {
        guard all else {
            try LocalKeychain.open(Directories.own.path(ofKeychain: keychain)).lockSession()
            return
        }
        let session = try Session(cards)
        var result = SearchList.Result<String>()
        for keychain in session.locals {
            do throws(KeychainError) { try keychain.lockSession() } catch {
                result.failures.append(SearchList.Failure(keychain: keychain.name, error: error))
            }
        }
        for token in session.tokens where (try? token.identity()) ?? nil != nil {
            token.slot.disconnect(resetting: true)
        }
        _ = session.reporting(result)
        if !result.failures.isEmpty { throw ExitCode(1) }
    }
}

struct SetKeychainPassword: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-keychain-password", abstract: "Change the password of a local keychain.")

    @Argument(help: "A name, or a path with a slash in it.")
    var keychain = "login"

    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let opened = try LocalKeychain.open(Directories.own.path(ofKeychain: keychain))
        let prompter = try authentication.context().prompter
        let old = try prompter.ask(PromptRequest(.password, subject: opened.name, use: "change it"))
        let new = try prompter.ask(PromptRequest(.newPassword, subject: opened.name))
        try opened.changePassword(from: old, to: new)
        print("The password of '\(opened.name)' has been changed.")
    }
}
