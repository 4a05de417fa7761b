internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import TokenKit

/// A card that was read before and is in no reader now, as a keychain: its certificates, and keys that say which card to
/// insert. Keychain semantics 7.4.
///
/// Such cards are in a search list only if a query asks for them, and are never shown in place of one that is inserted.
struct AbsentTokenKeychain: CardKeychain {
    private let token: KnownToken

    init(_ token: KnownToken) {
        self.token = token
    }

    /// The known cards that are in none of the readers, by name. The card in a failing reader may be among them, and a
    /// search of that reader says so.
    static func all(of known: [KnownToken], besides present: [TokenKeychain]) -> [AbsentTokenKeychain] {
        let inserted = Set(present.compactMap { (try? $0.identity())?.id })
        return known.filter { !inserted.contains($0.identity.id) }
            .sorted {
                ($0.identity.label, $0.identity.id.description) < ($1.identity.label, $1.identity.id.description)
            }
            .map { AbsentTokenKeychain($0) }
    }

    var identity: TokenIdentity { token.identity }

    public var name: String { token.identity.label }

    public func isIdentified(by identifier: KeychainIdentifier) -> Bool {
        identifier.rawValue == token.identity.id.description
    }

    public func items(matching query: ResolvedQuery) throws(KeychainError) -> Outcome<[Item]> {
        TokenItems(identity: token.identity, name: name).result(of: query, in: token.inventory)
    }

    public func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
        token.inventory.objects.filter { object in
            switch selector {
            case .any: true
            case .name(let name), .signer(let name): object.id == TokenObjectID(name.uppercased())
            case .label(let label): object.keyLabel == label
            case .publicKeyHash(let hash): TokenItems.publicKeyHash(of: object) == hash
            case .cryptokiID(let id): object.cryptokiID == id
            case .reference(let reference):
                reference == TokenItems.reference(.key, to: object, on: token.identity)
            }
        }.compactMap { object in
            object.key.map { AbsentTokenKey(identity: token.identity, object: object, key: $0) }
        }
    }
}

/// A private key on a card that is not inserted: operations of its public half are done, and others ask for the card.
struct AbsentTokenKey: TokenObjectKey {
    let identity: TokenIdentity
    let object: TokenObject
    let key: TokenKey

    var keychainName: String { identity.label }

    /// - Throws: `errSecInteractionRequired`, always.
    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        throw KeychainError(
            .interactionRequired, "the key \(name) is on '\(identity.label)', which is in no reader",
            remedy: "insert card \(identity.serialNumber ?? identity.id.instance)")
    }
}
