internal import ArgumentParser
internal import KeychainHost
internal import PKCS11Driver
internal import TokenKit

struct SetKeychainSettings: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-keychain-settings", abstract: "Set when a local keychain locks by itself.",
        discussion: "What is not given is switched off, so that no option at all means never.")

    @Flag(name: .customShort("l"), help: "Lock it when the machine sleeps.")
    var locksOnSleep = false

    @Flag(name: .customShort("u"), help: "Lock it after the time of -t without use.")
    var usesInterval = false

    @Option(
        name: .letter("t"), parsing: .unconditional,
        help: ArgumentHelp("The time without use, in seconds.", valueName: "seconds"))
    var interval: UInt32?

    @Argument(help: "A name, or a path with a slash in it; the default keychain if left out.")
    var keychain: String?

    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard !usesInterval || interval != nil else { throw ValidationError("-u needs the time of -t") }
    }

    func run() throws {
        let opened = try LocalKeychain.named(keychain)
        try opened.unlock(use: "change its settings", authentication: authentication.context(for: keychain))
        try opened.change(KeychainSettings(locksOnSleep: locksOnSleep, lockInterval: interval))
    }
}

struct ShowKeychainInfo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show-keychain-info", abstract: "Show the settings of a keychain, and what guards it.",
        discussion: "The settings go to standard error in the form of macOS's security. A card is named by its id.")

    @Argument(
        help: "A name, a path with a slash in it, a card's id, or a pkcs11: URI; the default keychain if left out.")
    var keychain: String?

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions

    private struct Info: Encodable {
        let keychain: String
        let isUnlocked: Bool?
        let isReadOnly: Bool
        var locksOnSleep: Bool?
        var lockInterval: UInt32?
        var hasPassword: Bool?
        var passwordCost: String?
        var triesLeft: Int?
    }

    func run() throws {
        switch try NamedKeychain(keychain, cards) {
        case .local(let opened): try show(opened)
        case .card(let card): try show(card)
        }
    }

    private func show(_ opened: LocalKeychain) throws {
        let settings = try opened.settings
        let cost = try opened.cost
        let info = Info(
            keychain: opened.path, isUnlocked: (try? opened.unlockFromSession()) ?? false,
            isReadOnly: opened.isReadOnly, locksOnSleep: settings.locksOnSleep, lockInterval: settings.lockInterval,
            hasPassword: try opened.hasPassword, passwordCost: ShowKeychainInfo.text(of: cost))
        guard !output.json else { return try Listing.showJSON(info) }
        let sleep = settings.locksOnSleep ? " lock-on-sleep" : ""
        let interval = settings.lockInterval.map { " use-lock-interval timeout=\($0)s" } ?? " no-timeout"
        let name = keychain.map { PKCS11URI.isURI($0) ? opened.path : $0 } ?? "<NULL>"
        StandardError.write("Keychain \"\(Listing.printable(name))\"\(sleep)\(interval)\n")
        Listing.show([
            TokenFact("File", opened.path), TokenFact("State", info.isUnlocked == true ? "unlocked" : "locked"),
            TokenFact("Password", info.hasPassword == true ? "set" : "empty"),
            TokenFact("One guess costs", ShowKeychainInfo.text(of: cost)),
        ])
    }

    /// Memory is 128 bytes times both of the first two. RFC 7914 §2.
    private static func text(of cost: ScryptCost) -> String {
        let (units, isTooMuch) = cost.n.multipliedReportingOverflow(by: UInt64(cost.r))
        let memory = isTooMuch ? "" : ", \(units >> 13) MiB of memory"
        return "scrypt N=\(cost.n) r=\(cost.r) p=\(cost.p)\(memory)"
    }

    private func show(_ card: TokenKeychain) throws {
        let status = try card.status(of: .pin)
        let info = Info(
            keychain: try card.identity()?.id.description ?? card.name, isUnlocked: status.isVerified, isReadOnly: true,
            triesLeft: status.triesLeft)
        guard !output.json else { return try Listing.showJSON(info) }
        StandardError.write("Keychain \"\(Listing.printable(info.keychain))\" no-timeout\n")
        Listing.show([
            TokenFact("Reader", card.name), TokenFact("State", status.isVerified ? "PIN presented" : "locked"),
            TokenFact("PIN tries left", status.triesLeft.map { String($0) } ?? "unknown"),
        ])
    }
}
