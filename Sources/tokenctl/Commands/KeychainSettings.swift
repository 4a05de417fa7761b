internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

struct SetKeychainSettings: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-keychain-settings", abstract: "Set when a local keychain locks by itself.",
        discussion: "What is not given is switched off, so that no option at all means never.")

    @Flag(name: .customShort("l"), help: "Lock it when the machine sleeps.")
    var locksOnSleep = false

    @Flag(name: .customShort("u"), help: "Lock it after the time of -t without use; without -t that is never.")
    var usesInterval = false

    @Option(
        name: .letter("t"), parsing: .unconditional,
        help: ArgumentHelp("The time without use, in seconds.", valueName: "seconds"))
    var interval: UInt32?

    @Argument(
        help: "A name, or a path with a slash in it; the default keychain if left out.",
        completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let named = try NamedKeychain(file: keychain)
        try named.host(authentication).configure(
            named.identifier, KeychainSettings(locksOnSleep: locksOnSleep, lockInterval: interval),
            authentication.request)
        if output.json { try Listing.showJSON(KeychainInfo(named.currentDetails())) }
    }
}

struct ShowKeychainInfo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show-keychain-info", abstract: "Show the settings of a keychain, and what guards it.",
        discussion: "The settings go to standard error in the form of macOS's security. A card is named by its id.")

    @Argument(help: NamedKeychain.help, completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let named = try NamedKeychain(keychain, cards)
        var info = KeychainInfo(named.details)
        if !named.isFile { info.lockInterval = try named.access.host.cardSettings(.pins, in: nil, .silent).pinTimeout }
        guard !output.json else {
            try Listing.showJSON(info)
            return try fail(named)
        }
        named.isFile ? show(info) : show(info, reader: named.description.location)
        try fail(named)
    }

    /// - Throws: the first error of the details that cannot be read. The others are printed.
    private func fail(_ named: NamedKeychain) throws {
        let failures = named.details.unlocking?.failures ?? []
        for failure in failures.dropFirst() { printError("\(named.description.name): \(failure)") }
        if let failure = failures.first { throw failure }
    }

    private func show(_ info: KeychainInfo) {
        if let locksOnSleep = info.locksOnSleep {
            let sleep = locksOnSleep ? " lock-on-sleep" : ""
            let interval = ShowKeychainInfo.text(of: info.lockInterval)
            let name = keychain.map { PKCS11URI.isURI($0) ? info.keychain : $0 } ?? "<NULL>"
            StandardError.line("Keychain \"\(name)\"\(sleep)\(interval)")
        }
        let facts = [
            CardFact("File", info.keychain), CardFact("State", Word.shown(info.isUnlocked ? "unlocked" : "locked")),
            CardFact("Password", Word.shown(info.hasPassword.map { $0 ? "set" : "empty" } ?? "unknown")),
            CardFact("One guess costs", info.passwordCost?.text ?? Word.shown("unknown")),
        ]
        Listing.show(facts + (info.cards ?? []).map { CardFact("Opened by", "\($0.card) (\($0.token))") })
    }

    private static func text(of interval: UInt32?) -> String {
        interval.map { " use-lock-interval timeout=\($0)s" } ?? " no-timeout"
    }

    private func show(_ info: KeychainInfo, reader: String) {
        StandardError.line("Keychain \"\(info.keychain)\"\(ShowKeychainInfo.text(of: info.lockInterval))")
        Listing.show([
            CardFact("Reader", reader), CardFact("State", Word.shown(info.isUnlocked ? "PIN presented" : "locked")),
            CardFact("PIN tries left", info.triesLeft.map { String($0) } ?? Word.shown("unknown")),
        ])
    }
}
