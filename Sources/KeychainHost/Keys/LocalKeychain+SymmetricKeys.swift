public import KeychainModel
internal import Localization

extension LocalKeychain {
    /// The symmetric keys that the selector names; none for other selectors than labels and references.
    public func symmetricKeys(_ selector: KeySelector) throws(KeychainError) -> [SymmetricKey] {
        let query: Query
        switch selector {
        case .name(let label), .signer(let label), .label(let label):
            let fixed: Attributes = [.keyClass: KeyClass.symmetric.value, .synchronizable: Query.anySynchronizable]
            query = try Query(.key, fixed.merging([.label: .string(label)]) { $1 }, limit: .all)
        case .reference(let reference): query = Query(reference)
        case .any, .publicKeyHash, .cryptokiID: return []
        }
        let result = try items(matching: query)
        let keys = result.found.filter(\.isSymmetricKey).map { SymmetricKey($0, in: self) }
        if keys.isEmpty { _ = try result.complete(besides: []) }
        return keys
    }
}

extension KeychainSession {
    /// The symmetric key of an item that was found.
    ///
    /// - Throws: `errSecItemNotFound` where it is no longer there.
    func symmetricKey(of item: Item) throws(KeychainError) -> SymmetricKey {
        let keychain = (try? keychain(of: item)) as? LocalKeychain
        guard let key = try keychain?.symmetricKeys(.reference(item.reference)).first else {
            throw KeychainError(.itemNotFound, "the key is no longer where it was found")
        }
        return key
    }
}
