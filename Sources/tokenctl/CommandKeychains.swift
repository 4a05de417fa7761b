internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform

/// The keychains of a run of the command, and the gaps of its searches.
struct CommandKeychains {
    let access: HostAccess
    let gaps: Gaps
    /// The host of searches.
    let host: any KeychainService
    private var files: Members
    private var tokens: Members
    /// The gaps of the search for keychains that were named.
    private(set) var missing: [Missing] = []
    private var names: Names

    /// The keychains of a kind that a search visits.
    private enum Members {
        case all
        case these([KeychainDescription])

        static let none = Members.these([])

        var isAll: Bool { if case .all = self { true } else { false } }
    }

    /// All keychains, without the cards or the files if they are not wanted.
    init(_ access: HostAccess, cards: Bool = true, files: Bool = true, _ gaps: Gaps = Gaps()) {
        (self.access, self.gaps, names) = (access, gaps, Names())
        host = access.host
        self.files = files ? .all : .none
        tokens = cards ? .all : .none
    }

    /// - Parameters:
    ///   - names: files or names of local keychains, ids or labels of cards, and URIs of either, to use instead of all.
    ///   - cards: whether cards are used.
    ///   - files: whether keychains in files are used.
    ///   - access: the access of the command's other keychains; nil for a new one.
    ///   - gaps: the gaps of the command's other keychains.
    init(
        _ options: CardOptions? = nil, keychains names: [String] = [], cards: Bool = true, files: Bool = true,
        of access: HostAccess? = nil, _ gaps: Gaps = Gaps()
    ) throws {
        if !cards, let card = names.first(where: NamedKeychain.isIDOfCard) {
            throw KeychainError(
                .noSuchKeychain, "'\(card)' is a card, and this is for keychains in files",
                remedy: "name one of those, or leave it out")
        }
        let all = CommandKeychains(try access ?? HostAccess(options), cards: cards, files: files, gaps)
        self = all
        let uris = try PKCS11URI.all(in: names)
        let ofCards = cards ? try all.namesOfCards(among: names) : []
        let paths = names.filter { !PKCS11URI.isURI($0) && !ofCards.contains($0) }
        let visitsCards = cards && (names.isEmpty || paths.count < names.count)
        if !names.isEmpty {
            (self.files, tokens, self.names) = (.these(try opened(paths)), visitsCards ? .all : .none, Names())
        }
        if visitsCards || cards && options?.reader != nil {
            try options?.check(CommandKeychains(all.access, files: false))
        }
        guard paths.count < names.count else { return }
        var others = all
        if uris.isEmpty { others.files = .none }
        let named = try others.limited(to: uris, orCards: ofCards)
        let own = try self.foundFiles().found
        let further = try named.foundFiles().found
        self.files = .these(own + further.filter { file in !own.contains { $0.identifier == file.identifier } })
        (tokens, missing, self.names) = (named.tokens, named.missing, Names())
        try checkInserted(ofCards)
    }

    /// The keychains in files that are named.
    ///
    /// - Throws: `errSecDuplicateKeychain` for a copy of another one: a change of an item in one could reach the other.
    private func opened(_ names: [String]) throws -> [KeychainDescription] {
        var opened: [KeychainDescription] = []
        for name in names {
            let file = try host.openKeychain(at: KeychainName.path(name), .silent).keychain
            if let original = opened.first(where: { $0.identifier == file.identifier }) {
                guard original.location != file.location else { continue }
                throw KeychainError(
                    .duplicateKeychain, "\(file.location) is a copy of \(original.location), and has the same items",
                    remedy: "name one of them, or take one out of the search list")
            }
            opened.append(file)
        }
        return opened
    }

    /// The names that are ids of cards, or labels of cards that are inserted or were read before.
    private func namesOfCards(among names: [String]) throws -> Set<String> {
        let candidates = names.filter(NamedKeychain.mayBeCard)
        let ids = candidates.filter(NamedKeychain.isIDOfCard)
        guard ids.count < candidates.count else { return Set(ids) }
        let cards = try CommandKeychains(access, files: false).foundTokens().found + knownCards()
        return Set(ids).union(Set(cards.map(\.name)).intersection(candidates))
    }

    // MARK: Members

    private var areAll: Bool { files.isAll && tokens.isAll }

    /// The keychains in files.
    func foundFiles() throws(KeychainError) -> Outcome<[KeychainDescription]> { try found(files, .files) }

    /// The cards, without readers that have none of a known kind.
    func foundCards() throws(KeychainError) -> Outcome<[KeychainDescription]> { try found(tokens, .cards, .card) }

    /// The tokens of modules.
    func foundModuleTokens() throws(KeychainError) -> Outcome<[KeychainDescription]> {
        try found(tokens, .moduleTokens, .moduleToken)
    }

    /// The cards, and then the tokens of modules.
    func foundTokens() throws(KeychainError) -> Outcome<[KeychainDescription]> { try found(tokens, .tokens) }

    private func found(
        _ members: Members, _ kinds: KeychainDescription.Kinds, _ kind: KeychainDescription.Kind? = nil
    ) throws(KeychainError) -> Outcome<[KeychainDescription]> {
        switch members {
        case .all: try host.keychains(kinds, .silent)
        case .these(let chosen): Outcome(chosen.filter { kind == nil || $0.kind == kind })
        }
    }

    /// The cards that were read before, in a reader or not.
    func knownCards() throws(KeychainError) -> [KeychainDescription] { try host.keychains(.knownCards, .silent).found }

    /// The identifiers of the keychains, for queries; nil for the whole search list.
    func members(cards: Bool = true) throws(KeychainError) -> Outcome<[KeychainIdentifier]>? {
        areAll ? nil : try identifiers(cards: cards)
    }

    /// The identifiers of the keychains, cards first.
    ///
    /// - Throws: the error of the first card or module that cannot be read, if there is no identifier.
    func identifiers(cards: Bool = true) throws(KeychainError) -> Outcome<[KeychainIdentifier]> {
        var members = cards ? try foundTokens() : Outcome([])
        let unread = members.missing.first { $0.place != .allCards }
        let files = try foundFiles()
        members.found += files.found
        members.add(missing: files.missing)
        if members.found.isEmpty, let unread { throw unread.error }
        return Outcome(members.found.map(\.identifier), missing: members.missing)
    }

    /// The only inserted card; without any, the only token of a module.
    func onlyCard() throws -> KeychainDescription {
        let cards = try foundCards()
        if let gap = cards.missing.first(where: { $0.place == .card }) { throw gap.error }
        var present = cards.found
        if present.isEmpty {
            let tokens = try foundModuleTokens()
            if let gap = tokens.missing.first(where: { $0.place == .module }) { throw gap.error }
            present = tokens.found
        }
        guard let first = present.first else {
            if let gap = cards.missing.first { throw gap.error }
            let remedy: LocalizedText? = CardDrivers.disabled(in: host).first.map {
                "insert one; the driver '\($0)' is disabled, and 'tokenctl smartcards token -e \($0)' enables it"
            }
            throw KeychainError(
                .noSuchKeychain, "no card that can be used is inserted", remedy: remedy ?? "insert one")
        }
        guard present.count == 1 else {
            let names = present.map { "'\($0.location)'" }.joined(separator: ", ")
            throw CommandError("more than one card is inserted", "in \(names)", advice: "choose one with --reader")
        }
        return first
    }

    // MARK: Named members

    /// These keychains with only those that one of the URIs names or that have one of the names.
    ///
    /// A URI with a maker and a serial number names one token: if that is found here, no module is started.
    ///
    /// - Throws: `errSecItemNotFound` for a URI that names none of them, `errSecInteractionRequired` for a known card that is
    ///   not inserted.
    func limited(to uris: [PKCS11URI], orCards names: Set<String> = []) throws(KeychainError) -> CommandKeychains {
        var limited = self
        var unmatched = Set(uris)
        func isMatch(_ keychain: KeychainDescription) -> Bool {
            let place = PKCS11URI.Place(keychain)
            let matching = uris.filter { $0.matches(place) }
            unmatched.subtract(matching)
            return !matching.isEmpty
        }
        var chosen: [KeychainDescription] = []
        func limit(_ all: Outcome<[KeychainDescription]>) {
            limited.add(missing: all.missing)
            for token in all.found where isMatch(token) || names.contains(where: token.isNamed) { chosen.append(token) }
        }
        let files = try foundFiles()
        limited.files = .these(files.found.filter(isMatch))
        limit(try foundCards())
        let isAnswered = names.isEmpty && unmatched.isEmpty && uris.allSatisfy(\.namesOneToken)
        if !isAnswered { limit(try foundModuleTokens()) }
        limited.tokens = .these(chosen)
        limited.names = Names()
        guard let uri = uris.first(where: unmatched.contains) else { return limited }
        if areAll { limited.add(missing: files.missing) }
        throw try limited.absence(of: uri, amongKnown: looksIntoReaders())
    }

    /// These keychains without the cards.
    func withoutTokens() -> CommandKeychains {
        var limited = self
        (limited.tokens, limited.names) = (.none, Names())
        return limited
    }

    private mutating func add(missing others: [Missing]) { missing += others.filter { !missing.contains($0) } }

    /// Whether a card that is not found is in no reader: without readers that is unknown.
    private func looksIntoReaders() throws(KeychainError) -> Bool {
        guard tokens.isAll else { return !(try foundTokens().found.isEmpty) }
        return try host.places(.silent).found.contains { $0.kind == .card }
    }

    /// The error of a URI that names none of the keychains.
    ///
    /// - Parameter amongKnown: whether a card that was read before may be meant.
    private func absence(of uri: PKCS11URI, amongKnown: Bool) throws(KeychainError) -> KeychainError {
        // Without the card service no card can be told to be absent.
        if uri.mayNameCard, let gap = missing.first(where: { $0.place == .allCards }) { return gap.error }
        // The token that is missing may be one that cannot be read.
        gaps.tell(missing)
        let known = amongKnown ? try knownCards() : []
        guard let card = known.first(where: { uri.matches(PKCS11URI.Place($0)) }) else {
            return KeychainError(
                .itemNotFound, "no token matches '\(uri.tokenPart)'",
                remedy: "'tokenctl list-keychains --uri' lists those there are")
        }
        if let unread = missing.unreadCard {
            return KeychainError(
                unread.code, "'\(card.name)' is in no reader, unless it is the card that could not be read",
                remedy: unread.remedyText)
        }
        return KeychainError(
            .interactionRequired, "'\(card.name)' is in no reader", remedy: "insert card \(card.numberOrInstance)")
    }

    /// - Throws: for the id or label of a card that is not inserted; the error of a card that could not be read, and may be it.
    private func checkInserted(_ names: Set<String>) throws(KeychainError) {
        guard !names.isEmpty else { return }
        let inserted = try foundTokens()
        let absent = names.filter { name in !inserted.found.contains { $0.isNamed(name) } }
        guard let first = absent.min() else { return }
        let gaps = missing + inserted.missing
        if let unread = gaps.unreadCard { throw unread }
        // The token may be one of a module that failed.
        guard gaps.isEmpty else { return }
        throw KeychainError.cardNotInserted(first)
    }

    // MARK: Names

    /// The keychains by their identifiers, read once for the names of many items.
    private final class Names {
        var table: [KeychainIdentifier: KeychainDescription]?
    }

    private var table: [KeychainIdentifier: KeychainDescription] {
        if let table = names.table { return table }
        let members = ((try? foundTokens().found) ?? []) + ((try? foundFiles().found) ?? [])
        let table = Dictionary(members.map { ($0.identifier, $0) }) { first, _ in first }
        names.table = table
        return table
    }

    /// The name of an item's keychain: a file's name, or a card's label.
    func keychainName(of item: Item) -> String { table[item.keychain]?.name ?? item.keychain.rawValue }

    /// The keychain file that an item was found in; nil for one on a card.
    func file(of item: Item) -> KeychainDescription? {
        item.isOnToken ? nil : table[item.keychain].flatMap { $0.kind == .file ? $0 : nil }
    }

    /// The place of an item: the file, or the token's id.
    func location(of item: Item) -> String { file(of: item)?.location ?? item.keychain.rawValue }
}

extension KeychainDescription {
    /// Whether a name is the keychain's id or label.
    func isNamed(_ text: String) -> Bool { name == text || identifier.rawValue == text }

    /// The serial number that is printed on a card, else the end of its id.
    var numberOrInstance: String { token?.serialNumber ?? identifier.instance }
}

extension CardOptions {
    /// Checks that the named reader and modules exist.
    ///
    /// - Throws: for a reader that is not there, and a module that cannot be used.
    fileprivate func check(_ keychains: CommandKeychains) throws {
        guard reader != nil || !module.isEmpty else { return }
        let places = try keychains.host.places(.silent)
        let readers = places.found.filter { $0.kind == .card }
        if let reader, readers.isEmpty {
            let tokens = try keychains.foundModuleTokens()
            if tokens.found.isEmpty { throw try absence(of: reader, tokens.missing + places.missing) }
        }
        guard !module.isEmpty else { return }
        if let gap = try keychains.foundModuleTokens().missing.first(where: { $0.place == .module }) { throw gap.error }
    }

    private func absence(of reader: String, _ missing: [Missing]) throws -> any Error {
        if let gap = missing.first(where: { $0.place == .allCards }) { return gap.error }
        if let uri = try PKCS11URI(argument: reader) {
            return KeychainError(
                .noSuchKeychain, "no card or token that is in matches '\(uri.tokenPart)'",
                remedy: "'tokenctl list-smartcards --uri' lists them")
        }
        let others = try HostAccess().host.places(.silent).found.filter { $0.kind == .card }.map { "'\($0.location)'" }
        guard others.isEmpty else {
            return KeychainError(
                .noSuchKeychain, "no reader's name contains '\(reader)'",
                remedy: "there is \(LocalizedText.list(others))")
        }
        return KeychainError(.noSuchKeychain, "no reader's name contains '\(reader)'", remedy: "there is no reader")
    }
}

extension Directories {
    /// The folders of the command's user.
    static let own = Directories()

    /// The socket over which a virtual card takes its orders.
    var virtualCardSocket: String { runtime + "/tokenkit-virtual-card.sock" }
}
