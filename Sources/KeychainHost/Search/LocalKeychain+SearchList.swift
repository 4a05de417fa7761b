internal import KeychainStore
public import KeychainModel
internal import Platform
public import SecureBytes

extension LocalKeychain: Keychain {
    /// The file's name without folder and ending.
    public var name: String { Directories.keychainName(ofFile: path) }

    public var writableIdentifier: KeychainIdentifier? { isReadOnly ? nil : identifier }

    public func missing(_ error: KeychainError) -> Missing { Missing(inFile: name, error) }

    public func reasonToSkip(_ query: Query) -> String? {
        if !query.includes(identifier) { return "the query is about other keychains" }
        if let token = query.reference?.tokenID { return "the reference is to an item on \(token)" }
        if let token = query.attributes[.tokenID], !token.isDefault { return "the query is about a token" }
        return nil
    }

    public func isIdentified(by identifier: KeychainIdentifier) -> Bool { self.identifier == identifier }

    public func secret(
        of item: Item, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret? {
        try secret(of: item, for: nil, use: use, authentication: authentication)
    }

    public func prepared(
        _ item: NewItem, authentication: AuthenticationContext
    ) throws(KeychainError) -> NewItem {
        try prepared(item, authentication: authentication, cost: .standard)
    }

    public func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
        let query =
            switch selector {
            case .any: try LocalKeychain.privateKeys([:])
            case .name(let label), .signer(let label), .label(let label):
                try LocalKeychain.privateKeys([.label: .string(label)])
            case .publicKeyHash(let hash): try LocalKeychain.privateKeys([.applicationLabel: .data(hash)])
            case .cryptokiID: Query?.none
            case .reference(let reference): Query(reference)
            }
        guard let query else { return [] }
        let result = try items(matching: query)
        let keys = result.found.filter(\.isPrivateKey).compactMap { item in
            item.der.map { LocalKeychainKey(keychain: self, found: item, publicKey: $0) }
        }
        // A keychain with a damaged key cannot be said to have none.
        if keys.isEmpty { _ = try result.complete(besides: []) }
        return keys
    }

    private static func privateKeys(_ attributes: Attributes) throws(KeychainError) -> Query {
        let fixed: Attributes = [.keyClass: KeyClass.private.value, .synchronizable: Query.anySynchronizable]
        return try Query(.key, fixed.merging(attributes) { $1 }, limit: .all)
    }
}
