internal import KeychainModel
internal import KeychainHost
internal import StandardDrivers
internal import PKCS11Driver
internal import TokenKit

/// What a run of the command works with.
typealias Session = PresentKeychains

extension PresentKeychains {
    /// - Parameters:
    ///   - names: files or names of local keychains, ids or labels of cards, and URIs of either, to use instead of all.
    ///   - cards: whether cards are used.
    ///   - locals: whether local keychains are used.
    init(
        _ options: CardOptions? = nil, keychains names: [String] = [], cards: Bool = true, locals: Bool = true
    ) throws {
        if !cards, let card = names.first(where: { NamedKeychain.tokenID($0) != nil }) {
            throw KeychainError(
                .noSuchKeychain, "'\(card)' is a card, and this is for keychains in files",
                remedy: "name one of those, or leave it out")
        }
        let process = try ProcessKeychains(options)
        let uris = try PKCS11URI.all(in: names)
        let ofCards = cards ? try process.namesOfCards(among: names) : []
        let files = names.filter { !PKCS11URI.isURI($0) && !ofCards.contains($0) }
        let isAll = names.isEmpty
        let paths = files.map(KeychainName.path)
        let visitsCards = cards && (isAll || files.count < names.count)
        self = try process.present(paths, cards: visitsCards, locals: locals && (isAll || !files.isEmpty))
        if visitsCards {
            try options?.check(self)
        } else if cards, options?.reader != nil {
            try options?.check(process.present(locals: false))
        }
        guard files.count < names.count else { return }
        var others = self
        others.locals = locals && !uris.isEmpty ? try process.present(cards: false).locals : []
        let named = try others.limited(to: uris, orCards: ofCards)
        let own = self.locals
        self.locals += named.locals.filter { keychain in !own.contains { $0.identifier == keychain.identifier } }
        (tokens, modules, failures) = (named.tokens, named.modules, named.failures)
        try checkInserted(ofCards)
    }

    /// - Throws: for the id or label of a card that is not in, unless it may be in a reader that failed.
    private func checkInserted(_ names: Set<String>) throws(KeychainError) {
        guard !names.isEmpty, failures.isEmpty else { return }
        let inserted = eachToken { $1 }
        let absent = names.filter { name in !inserted.found.contains { $0.isNamed(name) } }
        guard inserted.failures.isEmpty, let first = absent.min() else { return }
        throw NamedKeychain.notInserted(first)
    }

    /// What is wrong with an item of a local keychain that is missing in a result, and may be what was looked for.
    func damage<Element>(in result: SearchList.Result<Element>) -> KeychainError? {
        let names = Set(locals.map(\.name))
        return result.failures.first { $0.error.code == .decode && names.contains($0.keychain) }?.error
    }

    /// What a deletion is about. Damage counts where it is of what matches by what it has now, and else not: programs delete
    /// before they add.
    func itemsToDelete(matching query: Query) throws(KeychainError) -> SearchList.Result<Item> {
        var result = try searchList.items(matching: query)
        var damage: Set<SearchList.Failure> = []
        for keychain in locals {
            for error in try keychain.damage(matching: ResolvedQuery(query)) {
                damage.insert(SearchList.Failure(keychain: keychain.name, error: error))
            }
        }
        result.failures.removeAll { $0.error.code == .decode && !damage.contains($0) }
        result.damagedOthers = []
        return result
    }

    /// Whether it is the card in a reader that could not be read.
    func isOfReader(_ failure: SearchList.Failure) -> Bool { tokens.contains { $0.name == failure.keychain } }

    /// The items or keys of a search, its failures told as warnings.
    func reporting<Element>(_ result: SearchList.Result<Element>) -> [Element] {
        let failures = failures.filter { !result.failures.contains($0) } + result.failures
        for failure in failures + result.damagedOthers where ToldFailures.isNew(failure.text) {
            lasts(failure) ? Warnings.showDaily(failure.text) : Warnings.show(failure.text)
        }
        let names = Set(locals.map(\.name))
        ToldFailures.note(damage: failures.filter { names.contains($0.keychain) }.map(\.error))
        ToldFailures.note(ofCards: result.failures.filter(isOfReader).map(\.error))
        return result.found
    }

    /// Whether a failure is there until somebody mends it: a keychain of the search list that is missing, a module that fails.
    private func lasts(_ failure: SearchList.Failure) -> Bool {
        failure.error.code == .noSuchKeychain && failure.keychain.contains("/")
            || modules.contains { $0.name == failure.keychain }
    }
}

extension SearchList.Failure {
    /// Whose failure it is, and what it is. A path stands once where the reason has it too.
    var text: String {
        keychain.contains("/") && error.reason.contains(keychain) ? error.description : "\(keychain): \(error)"
    }
}

extension CardOptions {
    /// Sees to it that there is what they name.
    ///
    /// - Throws: for a reader that is not there, and a module that cannot be used.
    fileprivate func check(_ session: Session) throws {
        if let reader, session.tokens.isEmpty, session.tokensOfModules().found.isEmpty {
            if let failure = session.failures.first(where: \.isOfCards) { throw failure.error }
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
    /// The names that are ids of cards, or labels of those that are in or were read before.
    fileprivate func namesOfCards(among names: [String]) throws -> Set<String> {
        let candidates = names.filter(NamedKeychain.mayBeCard)
        let ids = candidates.filter { NamedKeychain.tokenID($0) != nil }
        guard ids.count < candidates.count else { return Set(ids) }
        let labels = try present(locals: false).eachToken { $1.label }.found + knownTokens().map(\.identity.label)
        return Set(ids).union(Set(labels).intersection(candidates))
    }

    /// Those of whoever runs the command, without the cards that the options leave out.
    ///
    /// Whoever chooses a reader wants no other tokens: modules are started where no reader of this program is that one.
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
            includesToken: { choice?.includes($0) ?? true },
            readers: { () throws(CardError) in
                guard let choice else { return try PCSCReader.all(answerLimit: ReaderChoice.answerLimit) }
                return try choice.readers()
            },
            tellingOfWaits: CardWaitNotice.begin)
    }
}

/// The reader that is meant: one whose name contains a text, or whose card a URI names.
private struct ReaderChoice {
    /// For a person who waits. A card waits for a touch for a quarter of this.
    static let answerLimit: Duration = .seconds(60)

    private let text: String
    private let uri: PKCS11URI?

    init(_ text: String) throws {
        self.text = text
        uri = try PKCS11URI(argument: text)
    }

    /// - Throws: where the card that a URI names may be in a reader that fails.
    func readers() throws(CardError) -> [PCSCReader] {
        let all = try PCSCReader.all(answerLimit: ReaderChoice.answerLimit)
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

    /// Whether a module's token is in such a one.
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

    /// Whether a name is one that every card of a kind has for a key, as PIV's slots are.
    static func isKeyName(_ name: String) -> Bool {
        all.contains { $0.keyNames.contains(TokenObjectID(name.uppercased())) }
    }

    /// Whether the card in a reader is one that a URI names. It is let go again.
    ///
    /// - Throws: where another program holds it.
    static func card(in reader: PCSCReader, is uri: PKCS11URI) throws(CardError) -> Bool {
        let slot = TokenSlot(reader: reader, drivers: all)
        defer { slot.disconnect(resetting: false) }
        do throws(TokenError) {
            let identity = try slot.read { (token, card, _) throws(TokenError) in try token.identity(&card) }
            return uri.matches(PKCS11URI.Place(identity, in: slot))
        } catch {
            if error.code == .card(.inUse) { throw CardError(.inUse, error.reason) }
            return false
        }
    }
}

extension Directories {
    /// Those of whoever runs the command.
    static var own: Directories { KeychainPreferences.own.directories }

    /// The socket over which a virtual card takes its orders.
    var virtualCardSocket: String { runtime + "/tokenkit-virtual-card.sock" }
}

extension KeychainPreferences {
    /// Those of whoever runs the command.
    static let own = KeychainPreferences()
}
