internal import KeychainModel
internal import KeychainHost
internal import TokenKit

extension CommandKeychains {
    /// The keychain file that an item was found in; nil for one on a card.
    func local(of item: Item) -> LocalKeychain? {
        self.locals.first { $0.identifier == item.keychain }
    }

    /// The place of an item: the file, or the token's id.
    func location(of item: Item) -> String {
        local(of: item)?.path ?? item.keychain.rawValue
    }

    /// The results of `body` for each card, and then for each token of a module, with a gap for each that cannot be read.
    func eachToken<Element>(
        _ body: (TokenKeychain, TokenIdentity) -> Element
    ) -> Outcome<[Element]> {
        let modules = tokensOfModules()
        let tokens = identified(self.tokens + modules.found, body)
        return Outcome(tokens.found, missing: modules.missing + tokens.missing)
    }

    /// The identifiers of the keychains, cards first.
    ///
    /// - Throws: the error of the first gap, if there is no identifier.
    func identifiers(cards: Bool = true) throws(KeychainError) -> Outcome<[KeychainIdentifier]> {
        var identifiers = cards ? eachToken { KeychainIdentifier($1.id) } : Outcome([])
        identifiers.found += self.locals.map(\.identifier)
        if identifiers.found.isEmpty, let gap = identifiers.missing.first { throw gap.error }
        return identifiers
    }

    /// The results of `body` for those of the tokens that can be identified.
    func identified<Element>(
        _ tokens: [TokenKeychain], _ body: (TokenKeychain, TokenIdentity) -> Element
    ) -> Outcome<[Element]> {
        var result = Outcome<[Element]>()
        for token in tokens {
            do throws(KeychainError) {
                if let identity = try token.identity() { result.found.append(body(token, identity)) }
            } catch {
                result.missing.append(token.missing(error))
            }
        }
        return result
    }

    /// The tokens of all modules.
    func tokensOfModules() -> Outcome<[TokenKeychain]> {
        var result = Outcome<[TokenKeychain]>()
        for module in self.modules {
            do throws(KeychainError) { result.found += try module.tokens() } catch {
                result.missing.append(module.missing(error))
            }
        }
        return result
    }

    /// The names of the modules that show the card as well.
    func namesOfModules(thatShow token: TokenKeychain) -> [String] {
        self.modules.filter { module in
            ((try? module.sharedReaders()) ?? []).contains { ModuleSlot.isReader($0, token.name) }
        }.map(\.name)
    }

    /// The only inserted card; without any, the only token of a module.
    func onlyCard() throws -> TokenKeychain {
        var present = try self.tokens.filter { try $0.identity() != nil }
        if present.isEmpty { present = try self.modules.flatMap { try $0.tokens() } }
        guard let first = present.first else {
            if let gap = self.missing.first { throw gap.error }
            throw KeychainError(.noSuchKeychain, "no card that can be used is inserted", remedy: "insert one")
        }
        guard present.count == 1 else {
            let names = present.map { "'\($0.name)'" }.joined(separator: ", ")
            throw CommandError("more than one card is inserted", "in \(names)", advice: "choose one with --reader")
        }
        return first
    }
}

extension TokenKeychain {
    /// The identifier of the inserted card.
    var identifier: KeychainIdentifier {
        get throws(KeychainError) {
            guard let identity = try identity() else { throw .cardNotInserted(name) }
            return KeychainIdentifier(identity.id)
        }
    }
}

/// The names of a listing's keychains: a file's name, a card's label.
struct KeychainNames {
    private var names: [String: String] = [:]

    init(_ session: CommandKeychains) {
        for keychain in session.locals { names[keychain.identifier.rawValue] = keychain.name }
        for identity in session.eachToken({ $1 }).found { names[identity.id.description] = identity.label }
    }

    subscript(item: Item) -> String { names[item.keychain.rawValue] ?? item.keychain.rawValue }
}

extension Item {
    /// The name for people: ``objectName``, or else the service or server and the account.
    var anyName: String {
        guard objectName.isEmpty else { return objectName }
        return [Attribute.service, .server, .account].compactMap { self[$0]?.string }.joined(separator: " ")
    }

    /// The object's name on its card with its label, or the label alone.
    var objectName: String {
        guard case .token(_, let object) = reference.target else { return label ?? "" }
        let name = String(decoding: object.prefix { $0 != 0 }, as: UTF8.self)
        return label.map { "\(name) \($0)" } ?? name
    }
}
