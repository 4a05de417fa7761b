package import KeychainModel
internal import SystemCrypto
package import TokenKit

/// Turns what a driver read from a card into keychain items.
struct TokenItems {
    let identity: TokenIdentity
    /// The name of the keychain that has them.
    let name: String

    private var keychain: KeychainIdentifier { KeychainIdentifier(rawValue: identity.id.description) }

    /// The objects' items that the query finds, and the objects that could not be read.
    func result(of resolved: ResolvedQuery, in inventory: TokenInventory) -> Outcome<[Item]> {
        var result = Outcome<[Item]>()
        for object in inventory.objects {
            do throws(CryptoError) {
                guard let item = try item(resolved.query.itemClass, object), resolved.matches(item) else { continue }
                result.found.append(item)
            } catch {
                result.missing.append(missing(KeychainError(.decode, "cannot read \(object.id): \(error)")))
            }
        }
        if let count = resolved.query.limit.count { result.found = Array(result.found.prefix(count)) }
        result.missing += inventory.errors.map(missing)
        return result
    }

    private func missing(_ error: KeychainError) -> Missing {
        Missing(error.code == .decode ? .damagedItem : .unreadableKeychain, in: .card, of: name, error)
    }

    private func item(_ itemClass: ItemClass, _ object: TokenObject) throws(CryptoError) -> Item? {
        switch itemClass {
        case .certificate: try object.certificate.map { (der) throws(CryptoError) in try certificate(der, of: object) }
        case .key: object.key.map { key($0, of: object) }
        case .genericPassword, .internetPassword, .identity: nil
        }
    }

    private func certificate(_ der: [UInt8], of object: TokenObject) throws(CryptoError) -> Item {
        let certificate = try Certificate(der: der)
        let attributes = InferredAttributes.certificate(certificate).merging(common(object.label)) { _, new in new }
        var item = Item(
            certificate, attributes: attributes, keychain: keychain,
            reference: reference(.certificate, object, certificate.keyHash))
        item.cryptokiID = object.cryptokiID
        return item
    }

    /// A key on a card never leaves it, and what it can do its driver says (keychain semantics 1.10, "token key").
    ///
    /// One of a kind that nobody here knows is listed all the same.
    private func key(_ key: TokenKey, of object: TokenObject) -> Item {
        let hash = TokenItems.publicKeyHash(of: object)
        let inferred: Attributes =
            (try? PublicKey(spki: key.publicKey)).map { InferredAttributes.key($0, .private) }
            ?? [.keyClass: KeyClass.private.value, .isPrivate: true, .isPermanent: true]
        var attributes = inferred.merging(common(object.keyLabel)) { _, new in new }
        if let hash { attributes[.applicationLabel] = .data(hash) }
        let changes: Attributes = [
            .isModifiable: false, .isExtractable: false, .isSensitive: true, .wasAlwaysSensitive: true,
            .wasNeverExtractable: true, .canSign: .bool(key.usage.contains(.sign)),
            .canDecrypt: .bool(key.usage.contains(.decrypt)), .canUnwrap: .bool(key.usage.contains(.decrypt)),
            .canDerive: .bool(key.usage.contains(.agree)),
        ]
        attributes.merge(changes) { _, new in new }
        var item = Item(
            .key, attributes: attributes, keychain: keychain, reference: reference(.key, object, hash),
            der: key.publicKey.isEmpty ? nil : key.publicKey)
        item.cryptokiID = object.cryptokiID
        return item
    }

    private func common(_ label: String) -> Attributes {
        [
            .label: .string(label), .tokenID: .string(identity.id.description),
            .accessGroup: .string(AccessGroup.token), .accessible: Accessibility.always, .synchronizable: 0,
        ]
    }

    // MARK: References

    private func reference(_ itemClass: ItemClass, _ object: TokenObject, _ hash: [UInt8]?) -> PersistentReference {
        TokenItems.reference(itemClass, object, hash, on: identity)
    }

    /// The reference of an object of a token.
    static func reference(
        _ itemClass: ItemClass, to object: TokenObject, on identity: TokenIdentity
    ) -> PersistentReference {
        reference(itemClass, object, publicKeyHash(of: object), on: identity)
    }

    private static func reference(
        _ itemClass: ItemClass, _ object: TokenObject, _ hash: [UInt8]?, on identity: TokenIdentity
    ) -> PersistentReference {
        let name = TokenItems.name(of: object.id, hash)
        return PersistentReference(itemClass, .token(id: identity.id.description, object: name))
    }

    /// The object's name, a zero byte, and the public-key hash: a slot that was given another key is another item.
    static func name(of object: TokenObjectID, _ hash: [UInt8]?) -> [UInt8] {
        Array(object.rawValue.utf8) + [0] + (hash ?? [])
    }

    /// The object that a reference names.
    static func objectID(of name: [UInt8]) -> TokenObjectID {
        TokenObjectID(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
    }

    /// The hash that pairs the object's key with certificates; nil where nobody can tell.
    static func publicKeyHash(of object: TokenObject) -> [UInt8]? {
        guard let key = object.key else { return nil }
        if let publicKey = try? PublicKey(spki: key.publicKey) { return publicKey.keyHash }
        // A certificate tells the hash of its key whatever kind that is.
        guard let certificate = object.certificate.flatMap({ try? Certificate(der: $0) }) else { return nil }
        return certificate.spki == key.publicKey ? certificate.keyHash : nil
    }
}

extension TokenInventory {
    /// The objects that could not be read, once for each reason: a contactless reader refuses most objects of a card.
    package var errors: [KeychainError] {
        let objects = Dictionary(grouping: failures.keys) { failures[$0]?.description ?? "" }
        return objects.map { reason, objects in
            (names: objects.map(\.rawValue).sorted().joined(separator: ", "), reason, error: failures[objects[0]])
        }.sorted { $0.names < $1.names }.compactMap { names, reason, error in
            error.map { KeychainError(KeychainError($0).code, "cannot read \(names): \(reason)") }
        }
    }
}
