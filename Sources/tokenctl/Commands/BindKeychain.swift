internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

struct BindKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bind-keychain",
        abstract: "Let a card's PIN open a local keychain.",
        discussion: """
            The keychain's key is encrypted for a key of the card, and the card shows at once that it can decrypt it. The \
            password goes on opening the keychain. Several cards can be bound; a card that was issued anew is bound again.

            Before its PIN is asked for, a card that has a key 9E has to show that it is the one it had when it was bound: a copy \
            of what can be read of the card is sent no PIN. Bindings made before this was so have no proof; bind such a card again.
            """)

    @Argument(
        help: "A name, or a path with a slash in it; the default keychain if left out.",
        completion: Completions.keychains)
    var keychain: String?

    @Option(
        help: ArgumentHelp(
            "The card's key, by its slot or pkcs11: URI; it must decrypt or agree on secrets. (default: the key management key)",
            valueName: "key"), completion: Completions.keys)
    var key: String?

    @Flag(name: .shortAndLong, help: "List the cards that open the keychain, and bind none.")
    var list = false

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard list else { return }
        guard key == nil else { throw ValidationError(localized: "--list binds nothing: leave out --key") }
        try cards.refuse("--list asks no card: leave out the options for cards")
    }

    func run() throws {
        let named = try NamedKeychain(file: keychain)
        if list {
            let unlocking = named.details.unlocking ?? UnlockingDetails()
            try Listing.show(unlocking.cards.map(BindingRow.init), json: output.json)
            if let failure = unlocking.failures.first { throw failure }
            return
        }
        let uri = try key.flatMap { try PKCS11URI(argument: $0) }
        let session = try CommandKeychains(cards, keychains: uri == nil ? [] : [key].compactMap { $0 }, files: false)
        let name = try uri.map { try session.key(namedBy: $0).name } ?? key
        let card = try session.onlyCard()
        let host = try authentication.host(session.access, for: [key, keychain, cards.reader].compactMap { $0 })
        _ = try host.openKeychain(at: named.description.location, .silent)
        let bound = try host.bind(named.identifier, to: card.identifier, key: name, authentication.request)
        guard !output.json else { return try Listing.showJSON(BindingRow(bound)) }
        StandardOutput.line(localized: "'\(bound.label)' opens '\(named.description.name)' from now on.")
    }
}

/// A card that opens a keychain.
struct BindingRow: Row {
    static let columns: [LocalizedKey] = ["CARD", "KEY", "PROOF", "TOKEN"]
    let card: String
    let key: String
    /// The key that proves the card's identity before its PIN is asked for, by a challenge or only by comparison.
    let proof: String?
    let isChallenged: Bool
    let token: String
    var cells: [String] {
        [
            card, key, proof.map { isChallenged ? $0 : String(localized: "\($0) (compared)") } ?? Word.shown("none"),
            token,
        ]
    }

    init(_ bound: BoundCard) {
        (card, key, token) = (bound.label, bound.key, bound.token.rawValue)
        (proof, isChallenged) = (bound.proof, bound.isChallenged)
    }
}

struct UnbindKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unbind-keychain",
        abstract: "Have cards no longer open a local keychain.",
        discussion: """
            The password goes on opening it. What a card has opened stays open until it is locked. A copy of the file from \
            before still opens with the card, and has the keychain's key: set-keychain-password --rekey changes it.
            """)

    @Argument(
        help: "A name, or a path with a slash in it; the default keychain if left out.",
        completion: Completions.keychains)
    var keychain: String?

    @Option(
        help: ArgumentHelp(
            "Only this card, as bind-keychain --list names it or by its pkcs11: URI, instead of all.",
            valueName: "token"), completion: Completions.cards)
    var token: String?

    @OptionGroup var output: OutputOptions

    func run() throws {
        let named = try NamedKeychain(file: keychain)
        let isListed = named.details.unlocking?.cards.contains { $0.token.rawValue == token } ?? false
        let uri = try isListed ? nil : token.flatMap { try PKCS11URI(argument: $0) }
        let id = try uri.map { try UnbindKeychain.id(of: $0) } ?? token
        let card = id.map(KeychainIdentifier.init(rawValue:))
        let removed = try named.host().unbind(named.identifier, from: card, .silent)
        Warnings.show(
            "a copy of '\(named.description.name)' from before still opens with the card: 'tokenctl set-keychain-password --rekey' gives it another key"
        )
        guard output.json else { return }
        try Listing.show(removed.map(BindingRow.init), json: true)
    }

    /// The id of the card that a URI names, inserted or read before.
    private static func id(of uri: PKCS11URI) throws -> String {
        try uri.requireName()
        let session = try CommandKeychains(files: false)
        let cards = try session.foundTokens().found + session.knownCards()
        let ids = Set(cards.filter { uri.matches(PKCS11URI.Place($0)) }.map(\.identifier.rawValue))
        guard let id = ids.first else {
            throw KeychainError(.itemNotFound, "no card that is in or was read before matches '\(uri.tokenPart)'")
        }
        guard ids.count == 1 else {
            throw CommandError("'\(uri)' names more than one card", "\(ids.sorted().joined(separator: ", "))")
        }
        return id
    }
}
