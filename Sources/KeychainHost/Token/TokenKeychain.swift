public import TokenKit

/// A card in a reader as a read-only keychain.
///
/// Its items are made of what the driver reads, and only what a query needs is read. Its PIN takes the place of the
/// unlock password.
public struct TokenKeychain: Keychain {
    /// The owner of the reader.
    public let slot: TokenSlot

    public init(_ slot: TokenSlot) {
        self.slot = slot
    }

    /// The reader's name, which costs no command to the card.
    public var name: String { slot.name }

    public var isReadOnly: Bool { true }

    /// Which card is in the reader.
    ///
    /// - Returns: nil where the reader is empty or holds a card that no driver knows.
    public func identity() throws(KeychainError) -> TokenIdentity? {
        try reading { (token, card, _) throws(TokenError) in try token.identity(&card) }
    }

    public func items(matching query: Query) throws(KeychainError) -> SearchResult {
        guard query.itemClass == .certificate || query.itemClass == .key else { return SearchResult() }
        let selection = TokenKeychain.selection(of: query)
        let content = try reading { (token, card, _) throws(TokenError) in
            let identity = try token.identity(&card)
            return (identity, try token.inventory(selection, &card))
        }
        guard let (identity, inventory) = content else { return SearchResult() }
        return TokenItems(identity: identity).result(of: query, in: inventory)
    }

    public func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
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
        do throws(TokenError) {
            return try slot.read(body)
        } catch  where error.code == .card(.noCard) || error.code == .unrecognized {
            return nil
        } catch {
            throw KeychainError(error)
        }
    }

    private static func selection(of query: Query) -> TokenSelection {
        guard case .token(_, let object)? = query.reference?.target else { return .all }
        return .object(TokenItems.objectID(of: object))
    }

    private static func objects(
        _ selector: KeySelector, _ token: inout any Token, _ card: inout CardTransaction
    ) throws(TokenError) -> [TokenObject] {
        switch selector {
        case .name(let name):
            do {
                return try token.inventory(.object(TokenObjectID(name)), &card).objects
            } catch  where error.code == .notFound {
                return []
            }
        case .publicKeyHash(let hash):
            return try token.inventory(.all, &card).objects.filter { TokenItems.publicKeyHash(of: $0) == hash }
        case .reference(let reference):
            guard case .token(let id, let name) = reference.target else { return [] }
            guard try token.identity(&card).id.description == id else { return [] }
            return try token.inventory(.object(TokenItems.objectID(of: name)), &card).objects
        }
    }
}
