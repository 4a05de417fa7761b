internal import SystemCrypto
internal import TokenKit

/// Turns what a driver read from a card into keychain items.
struct TokenItems {
    let identity: TokenIdentity

    private var keychain: KeychainIdentifier { KeychainIdentifier(rawValue: identity.id.description) }

    /// The objects' items that the query finds, and an error for each object that could not be read.
    func result(of query: Query, in inventory: TokenInventory) -> SearchResult {
        var result = SearchResult()
        result.items = inventory.objects.compactMap { item(query.itemClass, $0) }.filter(query.matches)
        if let count = query.limit.count { result.items = Array(result.items.prefix(count)) }
        result.damaged = inventory.failures.sorted { $0.key.rawValue < $1.key.rawValue }.map { id, error in
            let reason = "cannot read \(id): \(error)"
            return KeychainError(KeychainError(error).code, reason)
        }
        return result
    }

    private func item(_ itemClass: ItemClass, _ object: TokenObject) -> Item? {
        switch itemClass {
        case .certificate: object.certificate.flatMap { certificate($0, of: object) }
        case .key: object.key.flatMap { key($0, of: object) }
        case .genericPassword, .identity: nil
        }
    }

    private func certificate(_ der: [UInt8], of object: TokenObject) -> Item? {
        guard let certificate = try? Certificate(der: der) else { return nil }
        let attributes = InferredAttributes.certificate(certificate).merging(common(object)) { _, new in new }
        return Item(
            .certificate, attributes: attributes, keychain: keychain,
            reference: reference(.certificate, object, certificate.keyHash), der: der)
    }

    /// A key on a card never leaves it, and what it can do its driver says (keychain semantics 1.10, "token key").
    private func key(_ key: TokenKey, of object: TokenObject) -> Item? {
        guard let publicKey = try? PublicKey(spki: key.publicKey) else { return nil }
        var attributes = InferredAttributes.key(publicKey, .private).merging(common(object)) { _, new in new }
        let changes: Attributes = [
            .isModifiable: false, .isExtractable: false, .isSensitive: true, .wasAlwaysSensitive: true,
            .wasNeverExtractable: true, .canSign: .bool(key.usage.contains(.sign)),
            .canDecrypt: .bool(key.usage.contains(.decrypt)), .canUnwrap: .bool(key.usage.contains(.decrypt)),
            .canDerive: .bool(key.usage.contains(.agree)),
        ]
        attributes.merge(changes) { _, new in new }
        return Item(
            .key, attributes: attributes, keychain: keychain, reference: reference(.key, object, publicKey.keyHash),
            der: key.publicKey)
    }

    private func common(_ object: TokenObject) -> Attributes {
        [
            .label: .string(object.label), .tokenID: .string(identity.id.description),
            .accessGroup: .string(AccessGroup.token), .accessible: Accessibility.always, .synchronizable: 0,
        ]
    }

    // MARK: References

    /// The object's name, a zero byte, and the public-key hash: a slot that was given another key is another item.
    private func reference(_ itemClass: ItemClass, _ object: TokenObject, _ hash: [UInt8]) -> PersistentReference {
        let name = Array(object.id.rawValue.utf8) + [0] + hash
        return PersistentReference(itemClass, .token(id: identity.id.description, object: name))
    }

    /// The object that a reference names.
    static func objectID(of name: [UInt8]) -> TokenObjectID {
        TokenObjectID(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
    }

    /// The hash that pairs the object's key with certificates.
    static func publicKeyHash(of object: TokenObject) -> [UInt8]? {
        object.key.flatMap { try? PublicKey(spki: $0.publicKey) }?.keyHash
    }
}
