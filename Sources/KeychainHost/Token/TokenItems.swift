internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

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

    /// The items of every object, each certificate before its key; without those that cannot be read.
    func all(of inventory: TokenInventory) -> [Item] {
        inventory.objects.flatMap { object in
            [ItemClass.certificate, .key].compactMap { (try? item($0, object)) ?? nil }
        }
    }

    /// The item of a data object, as PKCS #11 shows it. Searches of keychains do not find it.
    func item(of data: TokenDataObject) -> Item {
        // PKCS #11 §4.5: the service is the application, which OpenSC's module names so as well.
        var item = Item(
            .genericPassword, attributes: common(data.label).merging([.service: .string(data.label)]) { $1 },
            keychain: keychain,
            reference: TokenItems.reference(.genericPassword, to: data.id, nil, on: identity))
        item.tokenTraits = TokenTraits(
            pinUse: data.needsPIN ? .once : .never, objectIdentifier: data.objectIdentifier)
        return item
    }

    /// The item of a private key; nil for an object without one.
    func key(of object: TokenObject) -> Item? { object.key.map { key($0, of: object) } }

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
            reference: TokenItems.reference(.certificate, to: object.id, certificate.keyHash, on: identity))
        item.tokenTraits = TokenTraits(cryptokiID: object.cryptokiID)
        return item
    }

    /// A key item. The key never leaves its card, and its driver tells its operations (keychain semantics 1.10, "token
    /// key").
    ///
    /// A key of an unknown kind is listed as well.
    private func key(_ key: TokenKey, of object: TokenObject) -> Item {
        let hash = TokenItems.publicKeyHash(of: object)
        let uses = key.uses(with: object.certificate)
        let inferred: Attributes =
            (try? PublicKey(spki: key.publicKey)).map { InferredAttributes.key($0, .private) }
            ?? [.keyClass: KeyClass.private.value, .isPrivate: true, .isPermanent: true]
        var attributes = inferred.merging(common(object.keyLabel)) { _, new in new }
        if let hash { attributes[.applicationLabel] = .data(hash) }
        let changes: Attributes = [
            .isModifiable: false, .isExtractable: false, .isSensitive: true, .wasAlwaysSensitive: true,
            .wasNeverExtractable: true, .canSign: .bool(uses.contains(.sign)),
            .canDecrypt: .bool(uses.contains(.decrypt)), .canUnwrap: .bool(uses.contains(.decrypt)),
            .canDerive: .bool(uses.contains(.agree)),
        ]
        attributes.merge(changes) { _, new in new }
        var item = Item(
            .key, attributes: attributes, keychain: keychain,
            reference: TokenItems.reference(.key, to: object.id, hash, on: identity),
            der: key.publicKey.isEmpty ? nil : key.publicKey)
        item.tokenTraits = TokenTraits(
            cryptokiID: object.cryptokiID, pinUse: TokenTraits.PINUse(key.pinPolicy),
            touchUse: TokenTraits.TouchUse(key.touchPolicy), publicLabel: key.publicLabel)
        return item
    }

    private func common(_ label: String) -> Attributes {
        [
            .label: .string(label), .tokenID: .string(identity.id.description),
            .accessGroup: .string(AccessGroup.token), .accessible: Accessibility.always, .synchronizable: 0,
        ]
    }

    // MARK: References

    /// The reference of an object of a token.
    static func reference(
        _ itemClass: ItemClass, to object: TokenObject, on identity: TokenIdentity
    ) -> PersistentReference {
        reference(itemClass, to: object.id, publicKeyHash(of: object), on: identity)
    }

    private static func reference(
        _ itemClass: ItemClass, to object: TokenObjectID, _ hash: [UInt8]?, on identity: TokenIdentity
    ) -> PersistentReference {
        PersistentReference(itemClass, .token(id: identity.id.description, object: name(of: object, hash)))
    }

    /// The object's name, a zero byte, and the public-key hash: a slot that was given another key is another item.
    static func name(of object: TokenObjectID, _ hash: [UInt8]?) -> [UInt8] {
        Array(object.rawValue.utf8) + [0] + (hash ?? [])
    }

    /// The hash that pairs the object's key with certificates; nil where it is unknown.
    static func publicKeyHash(of object: TokenObject) -> [UInt8]? {
        guard let key = object.key else { return nil }
        if let publicKey = try? PublicKey(spki: key.publicKey) { return publicKey.keyHash }
        // A certificate gives the hash of its key for any kind of key.
        guard let certificate = object.certificate.flatMap({ try? Certificate(der: $0) }) else { return nil }
        return certificate.spki == key.publicKey ? certificate.keyHash : nil
    }
}

extension TokenInventory {
    /// The objects that could not be read, once for each reason: a contactless reader refuses most objects of a card.
    var errors: [KeychainError] {
        let objects = Dictionary(grouping: failures.keys) { failures[$0]?.description ?? "" }
        return objects.map { reason, objects in
            (names: objects.map(\.rawValue).sorted().joined(separator: ", "), reason, error: failures[objects[0]])
        }.sorted { $0.names < $1.names }.compactMap { names, reason, error in
            error.map { KeychainError(KeychainError($0).code, "cannot read \(names): \(reason)") }
        }
    }
}

extension PersistentReference {
    /// The name of the object on its token; nil for a local item.
    var tokenObject: TokenObjectID? { objectName.map { TokenObjectID($0) } }
}

extension TokenTraits.PINUse {
    fileprivate init(_ policy: PINPolicy) {
        self =
            switch policy {
            case .never: .never
            case .once: .once
            case .always, .other: .always
            }
    }
}

extension TokenTraits.TouchUse {
    init(_ policy: TouchPolicy) {
        self =
            switch policy {
            case .never: .never
            case .unknown: .unknown
            case .always, .cached, .other: .expected
            }
    }
}
