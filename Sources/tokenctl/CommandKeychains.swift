internal import Platform
internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import KeychainHost
internal import StandardDrivers
internal import PKCS11Driver
internal import TokenKit

/// The keychains of a run of the command, and the gaps of its searches.
@dynamicMemberLookup
struct CommandKeychains {
    private var present: PresentKeychains
    /// Whether they are all that a search visits.
    private var areAll: Bool
    let gaps: Gaps

    /// All keychains of the process, without the cards or the local keychains if they are not wanted.
    init(_ process: ProcessKeychains, cards: Bool = true, locals: Bool = true, _ gaps: Gaps = Gaps())
        throws(KeychainError)
    {
        present = try process.present(cards: cards, locals: locals)
        areAll = cards && locals
        self.gaps = gaps
    }

    /// - Parameters:
    ///   - names: files or names of local keychains, ids or labels of cards, and URIs of either, to use instead of all.
    ///   - cards: whether cards are used.
    ///   - locals: whether local keychains are used.
    ///   - process: the process of the command's other session; nil for a new one.
    ///   - gaps: the gaps of the command's other session.
    init(
        _ options: CardOptions? = nil, keychains names: [String] = [], cards: Bool = true, locals: Bool = true,
        of process: ProcessKeychains? = nil, _ gaps: Gaps = Gaps()
    ) throws {
        if !cards, let card = names.first(where: { NamedKeychain.tokenID($0) != nil }) {
            throw KeychainError(
                .noSuchKeychain, "'\(card)' is a card, and this is for keychains in files",
                remedy: "name one of those, or leave it out")
        }
        let process = try process ?? ProcessKeychains(options)
        let uris = try PKCS11URI.all(in: names)
        let ofCards = cards ? try process.namesOfCards(among: names) : []
        let files = names.filter { !PKCS11URI.isURI($0) && !ofCards.contains($0) }
        let isAll = names.isEmpty
        let paths = files.map(KeychainName.path)
        let visitsCards = cards && (isAll || files.count < names.count)
        present = try process.present(paths, cards: visitsCards, locals: locals && (isAll || !files.isEmpty))
        areAll = isAll && cards && locals
        self.gaps = gaps
        if visitsCards {
            try options?.check(self)
        } else if cards, options?.reader != nil {
            try options?.check(CommandKeychains(process, locals: false))
        }
        guard files.count < names.count else { return }
        var others = self
        others.locals = locals && !uris.isEmpty ? try process.present(cards: false).locals : []
        let named = try others.limited(to: uris, orCards: ofCards)
        let own = self.locals
        self.locals += named.locals.filter { keychain in !own.contains { $0.identifier == keychain.identifier } }
        (self.tokens, self.modules, self.missing) = (named.tokens, named.modules, named.missing)
        try checkInserted(ofCards)
    }

    subscript<Value>(dynamicMember path: KeyPath<PresentKeychains, Value>) -> Value { present[keyPath: path] }

    subscript<Value>(dynamicMember path: WritableKeyPath<PresentKeychains, Value>) -> Value {
        get { present[keyPath: path] }
        set {
            present[keyPath: path] = newValue
            areAll = false
        }
    }

    /// The host of searches. All access groups are open to the command's user.
    var host: any KeychainService { KeychainHost.Host(present.process, accessGroups: .all) }

    /// The items of one class that a query finds in these keychains.
    func items(matching query: Query) throws(KeychainError) -> Outcome<[Item]> {
        try search(query) { (query) throws(KeychainError) in try host.items(matching: query, .silent) }
    }

    /// The identities that a query finds in these keychains.
    func identities(matching query: Query) throws(KeychainError) -> Outcome<[Identity]> {
        try search(query) { (query) throws(KeychainError) in try host.identities(matching: query, .silent) }
    }

    /// The private keys that a selector names in these keychains.
    func keys(_ selector: KeySelector) throws(KeychainError) -> Outcome<[KeyDescription]> {
        guard !areAll else { return try host.keys(matching: KeyQuery(selector), .silent) }
        let members = try identifiers()
        var outcome = try host.keys(matching: KeyQuery(selector, in: .keychains(members.found)), .silent)
        outcome.add(missing: members.missing)
        return outcome
    }

    /// The private keys that a selector names on known cards that are in no reader.
    func absentKeys(_ selector: KeySelector) throws(KeychainError) -> [KeyDescription] {
        try host.keys(matching: KeyQuery(selector, in: .absentTokens), .silent).found
    }

    /// The error of the use of a key whose card is in no reader.
    func absence(of key: KeyDescription) -> KeychainError {
        let known = self.process.knownTokens().first { KeychainIdentifier($0.identity.id) == key.item.keychain }
        return KeychainError(
            .interactionRequired, "the key \(key.name) is on '\(key.keychainName)', which is in no reader",
            remedy: known.map { "insert card \($0.identity.serialNumber ?? $0.identity.id.instance)" } ?? "insert it")
    }

    private func search<Found>(
        _ query: Query, _ body: (Query) throws(KeychainError) -> Outcome<[Found]>
    ) throws(KeychainError) -> Outcome<[Found]> {
        // No password is on a card: cards are not looked at.
        guard !areAll, query.keychains == nil else { return try body(query) }
        let members = try identifiers(cards: !query.itemClass.isPassword)
        var limited = query
        limited.keychains = members.found
        var outcome = try body(limited)
        outcome.add(missing: members.missing)
        return outcome
    }

    /// Deletes items that were found in keychain files: all of them, or none.
    func delete(_ items: [Item]) throws(KeychainError) {
        _ = try host.change(items.map { .delete(Query($0.reference, in: [$0.keychain])) }, .silent)
    }

    /// - Throws: for the id or label of a card that is not inserted; the error of a card that could not be read, and may be it.
    private func checkInserted(_ names: Set<String>) throws(KeychainError) {
        guard !names.isEmpty else { return }
        let inserted = eachToken { $1 }
        let absent = names.filter { name in !inserted.found.contains { $0.isNamed(name) } }
        guard let first = absent.min() else { return }
        let gaps = self.missing + inserted.missing
        if let unread = gaps.unreadCard { throw unread }
        // The token may be one of a module that failed.
        guard gaps.isEmpty else { return }
        throw KeychainError.cardNotInserted(first)
    }

    /// The items to be deleted. A damaged item is a gap only if its readable values match, since programs delete an item
    /// before they add it anew.
    func itemsToDelete(matching query: Query) throws(KeychainError) -> Outcome<[Item]> {
        var outcome = try self.items(matching: query)
        var damage: [Missing] = []
        for keychain in self.locals { damage += try keychain.damage(matching: ResolvedQuery(query)) }
        outcome.missing.removeAll { gap in
            gap.kind == .unrelatedDamagedItem || gap.kind == .damagedItem && !damage.contains(gap)
        }
        return outcome
    }

    /// The items or keys of a search, after its gaps were printed as warnings.
    func reporting<Found>(_ outcome: Outcome<Found>) -> Found {
        gaps.tell(self.missing + outcome.missing)
        return outcome.found
    }
}

extension CardOptions {
    /// Checks that the named reader and modules exist.
    ///
    /// - Throws: for a reader that is not there, and a module that cannot be used.
    fileprivate func check(_ session: CommandKeychains) throws {
        if let reader, session.tokens.isEmpty, session.tokensOfModules().found.isEmpty {
            if let gap = session.missing.first(where: { $0.place == .allCards }) { throw gap.error }
            if let uri = try PKCS11URI(argument: reader) {
                throw KeychainError(
                    .noSuchKeychain, "no card or token that is in matches '\(uri.tokenPart)'",
                    remedy: "'tokenctl list-smartcards --uri' lists them")
            }
            let names = ((try? PCSCReader.all()) ?? []).map(\.name)
            guard names.contains(where: { $0.contains(reader) }) else {
                let others = names.map { "'\($0)'" }.joined(separator: " and ")
                throw KeychainError(
                    .noSuchKeychain, "no reader's name contains '\(reader)'",
                    remedy: "there is \(others.isEmpty ? "no reader" : others)")
            }
        }
        if !module.isEmpty { for module in session.modules { _ = try module.tokens() } }
    }
}

extension ProcessKeychains {
    /// The names that are ids of cards, or labels of cards that are inserted or were read before.
    fileprivate func namesOfCards(among names: [String]) throws -> Set<String> {
        let candidates = names.filter(NamedKeychain.mayBeCard)
        let ids = candidates.filter { NamedKeychain.tokenID($0) != nil }
        guard ids.count < candidates.count else { return Set(ids) }
        let labels =
            try CommandKeychains(self, locals: false).eachToken { $1.label }.found + knownTokens().map(\.identity.label)
        return Set(ids).union(Set(labels).intersection(candidates))
    }

    /// The keychains of the command's user, without the cards that the options leave out.
    ///
    /// If a reader is chosen and found, only modules that the options name are started.
    convenience init(_ options: CardOptions? = nil) throws {
        let choice = try options?.reader.map { try ReaderChoice($0) }
        let modules = try Modules.inUse(options)
        self.init(
            .own, recalls: options?.rescan != true, trace: try options?.trace.map { try TraceFile(path: $0) },
            waitsOnce: true,
            drivers: StandardDrivers.all,
            modules: {
                let isFound = choice.map { (try? !$0.readers().isEmpty) ?? false } ?? false
                return isFound && options?.module.isEmpty ?? true ? [] : modules()
            },
            leftOutModules: Modules.leftOut(options), includesToken: { choice?.includes($0) ?? true },
            readers: { () throws(CardError) in
                guard let choice else { return try PCSCReader.all() }
                return try choice.readers()
            },
            tellingOfWaits: CardWaitNotice.begin)
    }
}

/// The chosen reader: one whose name contains a text, or whose card a URI names.
private struct ReaderChoice {
    private let text: String
    private let uri: PKCS11URI?

    init(_ text: String) throws {
        self.text = text
        uri = try PKCS11URI(argument: text)
    }

    /// - Throws: where the card that a URI names may be in a reader that fails.
    func readers() throws(CardError) -> [PCSCReader] {
        let all = try PCSCReader.all()
        guard let uri else { return all.filter { $0.name.contains(text) } }
        var (found, failure): ([PCSCReader], CardError?) = ([], nil)
        for reader in all {
            do throws(CardError) {
                if try CardDrivers.card(in: reader, is: uri) { found.append(reader) }
            } catch {
                failure = failure ?? error
            }
        }
        if found.isEmpty, let failure { throw failure }
        return found
    }

    /// Whether a module's token is the chosen one, by its slot's name or by the URI.
    func includes(_ token: TokenKeychain) -> Bool {
        guard let uri else { return token.name.contains(text) }
        guard let identity = (try? token.identity()) ?? nil else { return false }
        return uri.matches(PKCS11URI.Place(identity, in: token.slot))
    }
}

/// The drivers of cards that this program has.
enum CardDrivers {
    static let all = StandardDrivers.all(TokenCaches(in: .own))

    static let names = all.map(\.name)

    /// Whether a name is one of a driver's fixed names of keys, such as a PIV slot.
    static func isKeyName(_ name: String) -> Bool {
        all.contains { $0.keyNames.contains(TokenObjectID(name.uppercased())) }
    }

    /// Whether the card in a reader is one that a URI names. The card is released again.
    ///
    /// - Throws: where another program holds it.
    static func card(in reader: PCSCReader, is uri: PKCS11URI) throws(CardError) -> Bool {
        let slot = TokenSlot(reader: reader, drivers: all)
        defer { slot.disconnect(resetting: false) }
        do throws(TokenError) {
            return uri.matches(PKCS11URI.Place(try slot.identity(), in: slot))
        } catch {
            if error.code == .card(.inUse) { throw CardError(.inUse, error.reason) }
            return false
        }
    }
}

extension Directories {
    /// The folders of the command's user.
    static var own: Directories { KeychainPreferences.own.directories }

    /// The socket over which a virtual card takes its orders.
    var virtualCardSocket: String { runtime + "/tokenkit-virtual-card.sock" }
}

extension KeychainPreferences {
    /// The settings of the command's user.
    static let own = KeychainPreferences()
}
