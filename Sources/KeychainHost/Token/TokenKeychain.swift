public import KeychainModel
public import TokenKit

/// A card in a reader as a read-only keychain.
///
/// Its items are made of what the driver reads, and only what a query needs is read. Its PIN takes the place of the
/// unlock password.
public struct TokenKeychain: CardKeychain {
    /// The owner of the reader.
    public let slot: TokenSlot

    public init(_ slot: TokenSlot) {
        self.slot = slot
    }

    /// The reader's name, which costs no command to the card.
    public var name: String { slot.name }

    /// Which card is in the reader.
    ///
    /// - Returns: nil where the reader is empty or holds a card that no driver knows.
    public func identity() throws(KeychainError) -> TokenIdentity? {
        try reading { (token, card, _) throws(TokenError) in try token.identity(&card) }
    }

    /// Whether there is a card that a driver knows.
    var isRecognized: Bool { (try? identity()) ?? nil != nil }

    public func items(matching resolved: ResolvedQuery) throws(KeychainError) -> Outcome<[Item]> {
        let query = resolved.query
        guard query.itemClass != .identity, reasonToSkip(query) == nil else { return Outcome() }
        let content = try reading { (token, card, _) throws(TokenError) -> (TokenIdentity, TokenInventory)? in
            let identity = try token.identity(&card)
            guard let selection = query.selection(on: identity.id) else { return nil }
            return (identity, try token.inventory(selection, &card))
        }
        guard case let (identity, inventory)?? = content else { return Outcome() }
        return TokenItems(identity: identity, name: name).result(of: resolved, in: inventory)
    }

    public func missing(_ error: KeychainError) -> Missing {
        let isHeld = error.code == .notAvailable && slot.isHeldElsewhere
        return Missing(isHeld ? .heldCard : .unreadableKeychain, in: .card, of: name, error)
    }

    /// The part of the card to read for objects with a `CKA_ID`; nil where no object can have it. Sends no command.
    package func selection(ofCryptokiID id: [UInt8]) throws(KeychainError) -> TokenSelection? {
        try reading { (token, _, _) throws(TokenError) in token.selection(ofCryptokiID: id) } ?? nil
    }

    /// The key to which a keychain is bound where nobody names another. No command is sent for it.
    package func bindingKey() throws(KeychainError) -> TokenObjectID? {
        try reading { (token, _, _) throws(TokenError) in token.bindingKey } ?? nil
    }

    /// Reads a data object of the card; nil where there is none.
    ///
    /// - Throws: `errSecNotLoggedIn` for one that wants the PIN first.
    public func content(of data: TokenObjectID) throws(KeychainError) -> [UInt8]? {
        try reading { (token, card, _) throws(TokenError) in try token.content(of: data, &card) } ?? nil
    }

    public func triesLeft() -> Int? { (try? status(of: .pin))?.triesLeft }

    public func isIdentified(by identifier: KeychainIdentifier) -> Bool {
        !identifier.isLocal && (try? identity())?.id.description == identifier.rawValue
    }

    public func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
        guard selector.mayNameTokenKey else { return [] }
        let found = try reading { (token, card, insertion) throws(TokenError) in
            try TokenKeychain.objects(selector, &token, &card).compactMap { object in
                object.key.map { TokenKeychainKey(slot: slot, insertion: insertion, object: object, key: $0) }
            }
        }
        return found ?? []
    }

    /// Runs `body`, or returns nil where there is no card that a driver knows.
    func reading<Result: Sendable>(
        _ body: (inout any Token, inout CardTransaction, TokenSlot.Insertion) throws(TokenError) -> Result
    ) throws(KeychainError) -> Result? {
        var hasBegun = false
        do throws(TokenError) {
            return try slot.read { (token, card, insertion) throws(TokenError) in
                hasBegun = true
                return try body(&token, &card, insertion)
            }
        } catch  where error.code == .card(.noCard) && hasBegun {
            throw KeychainError(
                .deviceReset, "the card was taken out of '\(name)' while it was read",
                remedy: "put it back and ask again")
        } catch  where error.code == .card(.noCard) || error.code == .unrecognized {
            return nil
        } catch {
            throw KeychainError(error)
        }
    }

    private static func objects(
        _ selection: TokenSelection, _ token: inout any Token, _ card: inout CardTransaction
    ) throws(TokenError) -> [TokenObject] {
        do {
            return try token.inventory(selection, &card).objects
        } catch  where error.code == .notFound {
            return []
        }
    }

    private static func objects(
        _ selector: KeySelector, _ token: inout any Token, _ card: inout CardTransaction
    ) throws(TokenError) -> [TokenObject] {
        switch selector {
        case .name(let name): return try objects(.object(TokenObjectID(name)), &token, &card)
        case .signer(let name):
            // Only of a card that is known by its name is anything remembered.
            _ = try token.identity(&card)
            return try objects(.privateKey(TokenObjectID(name)), &token, &card)
        case .label(let label): return try token.inventory(.all, &card).objects.filter { $0.keyLabel == label }
        case .publicKeyHash(let hash):
            return try token.inventory(.all, &card).objects.filter { TokenItems.publicKeyHash(of: $0) == hash }
        case .reference(let reference):
            guard case .token(let id, let name) = reference.target else { return [] }
            guard try token.identity(&card).id.description == id else { return [] }
            // What has another key by now is another object.
            return try token.inventory(.object(TokenItems.objectID(of: name)), &card).objects
                .filter { TokenItems.name(of: $0.id, TokenItems.publicKeyHash(of: $0)) == name }
        }
    }
}

// MARK: What a query is about

extension Query {
    /// What there is to read on a token for the answer; nil for nothing, since the query is about other tokens.
    fileprivate func selection(on token: TokenID) -> TokenSelection? {
        let id = token.description
        guard includes(KeychainIdentifier(rawValue: id)) else { return nil }
        if let wanted = attributes[.tokenID], !wanted.matches(.string(id)) { return nil }
        guard let reference else { return .all }
        guard case .token(id, let object) = reference.target else { return nil }
        return .object(TokenItems.objectID(of: object))
    }
}

extension KeySelector {
    fileprivate var mayNameTokenKey: Bool {
        guard case .reference(let reference) = self else { return true }
        return reference.itemClass == .key && reference.tokenID != nil
    }
}
