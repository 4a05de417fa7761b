public import KeychainModel
public import TokenKit

/// A card in a reader as a read-only keychain.
///
/// Its items are made of what the driver reads, and only what a query needs is read. Its PIN takes the place of the
/// unlock password.
public struct TokenKeychain: CardKeychain {
    /// The place of the card.
    public let slot: any TokenBackend

    public init(_ slot: any TokenBackend) {
        self.slot = slot
    }

    /// The reader's name, which costs no command to the card.
    public var name: String { slot.name }

    /// The identity of the card in the reader.
    ///
    /// - Returns: nil where the reader is empty or holds a card that no driver knows.
    public func identity() throws(KeychainError) -> TokenIdentity? {
        try ifPresent { () throws(TokenError) in try slot.identity() }
    }

    /// Whether there is a card that a driver knows.
    var isRecognized: Bool { (try? identity()) ?? nil != nil }

    public func items(matching resolved: ResolvedQuery) throws(KeychainError) -> Outcome<[Item]> {
        let query = resolved.query
        guard query.itemClass != .identity, reasonToSkip(query) == nil else { return Outcome() }
        let contents = try ifPresent { () throws(TokenError) in
            try slot.contents { query.selection(on: $0.id) }
        }
        guard let contents = contents ?? nil, let identity = contents.identity else { return Outcome() }
        return TokenItems(identity: identity, name: name).result(of: resolved, in: contents.inventory)
    }

    public func missing(_ error: KeychainError) -> Missing {
        let isHeld = error.code == .notAvailable && slot.isHeldElsewhere
        return Missing(isHeld ? .heldCard : .unreadableKeychain, in: .card, of: name, error)
    }

    /// The key that binds a keychain by default. No command is sent for it.
    func bindingKey() throws(KeychainError) -> TokenObjectID? {
        try ifPresent { () throws(TokenError) in try slot.bindingKey() } ?? nil
    }

    /// Reads a data object of the card; nil for an absent one.
    ///
    /// - Throws: `errSecNotLoggedIn` for one that wants the PIN first.
    func content(of data: TokenObjectID) throws(KeychainError) -> [UInt8]? {
        try ifPresent { () throws(TokenError) in try slot.content(of: data) } ?? nil
    }

    func triesLeft() -> Int? { (try? status(of: .pin))?.triesLeft }

    public func isIdentified(by identifier: KeychainIdentifier) -> Bool {
        !identifier.isLocal && (try? identity())?.id.description == identifier.rawValue
    }

    public func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
        guard selector.mayNameTokenKey else { return [] }
        let contents = try ifPresent { () throws(TokenError) in try self.contents(selector) }
        guard let contents = contents ?? nil, let identity = contents.identity else { return [] }
        // A named key that cannot be read is told apart from one that is not there.
        if contents.inventory.objects.isEmpty, selector.namesTokenKey, let error = contents.inventory.errors.first {
            throw error
        }
        return contents.inventory.objects.filter { selector.isFor($0) }.compactMap { object in
            object.key.map {
                TokenKeychainKey(
                    slot: slot, insertion: contents.insertion, identity: identity, object: object, key: $0)
            }
        }
    }

    private func contents(_ selector: KeySelector) throws(TokenError) -> TokenContents? {
        do throws(TokenError) {
            // The card is identified first: what is remembered of a card is found by its identity.
            guard case .cryptokiID(let id) = selector else {
                return try slot.contents { selector.selection(on: $0.id) }
            }
            _ = try slot.identity()
            let selection = try slot.selection(ofCryptokiID: id, at: slot.insertion())
            return try slot.contents { _ in selection }
        } catch {
            guard error.code == .notFound, selector.namesTokenKey else { throw error }
            return nil
        }
    }

    /// Returns the result of `body`, or nil where there is no card that a driver knows.
    func ifPresent<Result>(_ body: () throws(TokenError) -> Result) throws(KeychainError) -> Result? {
        do throws(TokenError) {
            return try body()
        } catch  where error.code == .card(.noCard) || error.code == .unrecognized {
            return nil
        } catch {
            throw KeychainError(error)
        }
    }
}

// MARK: What a query is about

extension Query {
    /// The objects that must be read for the answer; nil if the query is about other tokens.
    fileprivate func selection(on token: TokenID) -> TokenSelection? {
        let id = token.description
        guard includes(KeychainIdentifier(rawValue: id)) else { return nil }
        if let wanted = attributes[.tokenID], !wanted.matches(.string(id)) { return nil }
        guard let reference else { return .all }
        guard let object = reference.tokenObject, reference.tokenID == id else { return nil }
        return .object(object)
    }
}

extension KeySelector {
    /// The objects to be read; nil where the selector means none of the token's.
    fileprivate func selection(on token: TokenID) -> TokenSelection? {
        switch self {
        case .name(let name): .object(TokenObjectID(name))
        case .signer(let name): .privateKey(TokenObjectID(name))
        case .any, .label, .publicKeyHash, .cryptokiID: .all
        case .reference(let reference):
            reference.tokenID == token.description ? reference.tokenObject.map { .privateKey($0) } : nil
        }
    }

    /// Whether the selector means an object.
    fileprivate func isFor(_ object: TokenObject) -> Bool {
        switch self {
        case .any, .name, .signer: true
        case .label(let label): object.keyLabel == label
        case .publicKeyHash(let hash): TokenItems.publicKeyHash(of: object) == hash
        case .cryptokiID(let id): object.cryptokiID == id
        case .reference(let reference):
            // The name of an object includes the hash of its key: once the key has been replaced, the reference finds nothing.
            if case .token(_, let name) = reference.target {
                TokenItems.name(of: object.id, TokenItems.publicKeyHash(of: object)) == name
            } else {
                false
            }
        }
    }

    /// Whether the selector names one key of a token, so that nothing else is read.
    fileprivate var namesTokenKey: Bool {
        switch self {
        case .name, .signer, .cryptokiID: true
        case .any, .label, .publicKeyHash, .reference: false
        }
    }

    fileprivate var mayNameTokenKey: Bool {
        guard case .reference(let reference) = self else { return true }
        return reference.itemClass == .key && reference.tokenID != nil
    }
}
