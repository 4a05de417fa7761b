internal import KeychainModel
internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto

/// Makes objects of items of a card or of a keychain in a file.
///
/// Objects of one id belong together: a certificate and the halves of its key.
struct ItemObjects {
    private let items: [Item]
    private let names: CryptokiItemNames
    /// Whether PINs are hidden from programs.
    private let hidesLogin: Bool
    private let keys: [[UInt8]: [Item]]

    /// - Parameter items: all items of the keychain, or those of the card's objects that were asked for.
    init(_ items: [Item], hidesLogin: Bool) {
        let keys = items.filter { $0.itemClass == .key }
        let names = CryptokiItemNames(keys: keys, certificates: items.filter { $0.itemClass == .certificate })
        self.items = items
        self.hidesLogin = hidesLogin
        self.names = names
        self.keys = Dictionary(grouping: keys.filter { !$0.isSymmetricKey }) { names.ids(of: $0).first ?? [] }
    }

    /// The objects of the classes that a template allows, in the order of the items, since programs take the first match.
    func objects(allowedBy template: Template = Template()) -> [CryptokiObject] {
        let hasKeys = template.allows(CKO_PUBLIC_KEY) || template.allows(CKO_PRIVATE_KEY)
        let certificates = hasKeys ? certificatesOfKeys : [:]
        return items.flatMap { item in
            classes(of: item).filter(template.allows).compactMap { objectClass in
                let ids = names.ids(of: item)
                return switch objectClass {
                case CKO_CERTIFICATE: certificate(item, ids)
                case CKO_PUBLIC_KEY: publicKey(item, ids, certificates[ids.first ?? []])
                case CKO_PRIVATE_KEY: privateKey(item, ids, certificates[ids.first ?? []])
                case CKO_SECRET_KEY: secretKey(item, ids)
                default: data(item, ids)
                }
            }
        }
    }

    /// The classes of an item's objects. Every private key shows a public half too, even where that is not an item of its own.
    private func classes(of item: Item) -> [CK_OBJECT_CLASS] {
        switch item.itemClass {
        case .certificate: [CKO_CERTIFICATE]
        case .key where item.isSymmetricKey: [CKO_SECRET_KEY]
        case .key where item.isPrivateKey:
            keysOf(names.ids(of: item)).allSatisfy(\.isPrivateKey)
                ? [CKO_PUBLIC_KEY, CKO_PRIVATE_KEY] : [CKO_PRIVATE_KEY]
        case .key: [CKO_PUBLIC_KEY]
        case .genericPassword, .internetPassword: [CKO_DATA]
        case .identity: []
        }
    }

    private func keysOf(_ ids: [[UInt8]]) -> [Item] { keys[ids.first ?? []] ?? [] }

    /// Certificates without a key here are not parsed: programs ask for the key of each of them.
    private var certificatesOfKeys: [[UInt8]: Certificate] {
        Dictionary(
            items.filter { $0.itemClass == .certificate }.compactMap { item in
                guard let id = names.ids(of: item).first, keys[id] != nil, let certificate = item.certificate
                else { return nil }
                return (id, certificate)
            }
        ) { first, _ in first }
    }

    private func certificate(_ item: Item, _ ids: [[UInt8]]) -> CryptokiObject? {
        guard let certificate = item.certificate else { return nil }
        let hasKey = keysOf(ids).contains(where: \.isPrivateKey)
        return object(
            CKO_CERTIFICATE, item, ids,
            ObjectAttributes.certificate(certificate, id: ids.first ?? [], hasKey: hasKey),
            // A token may get another certificate of the same key under the same name.
            content: item.isOnToken ? (try? certificate.fingerprint(.sha1)) ?? [] : [])
    }

    private func publicKey(_ item: Item, _ ids: [[UInt8]], _ certificate: Certificate?) -> CryptokiObject? {
        guard let key = item.der.flatMap({ try? PublicKey(spki: $0) }) else { return nil }
        let halves = keysOf(ids)
        let derives = halves.filter(\.isPrivateKey).map { half in KeyMechanisms(key.kind) { half[$0] }.canDerive }
        var attributes = ObjectAttributes.publicKey(
            key, id: ids.first ?? [], subject: certificate?.subject.der ?? [], isLocal: halves.contains(where: isLocal),
            derives: derives.isEmpty ? nil : derives.allSatisfy { $0 })
        if !item.isPrivateKey {
            for (use, attribute) in KeyMechanisms.publicUses where item[attribute]?.isTrue == false {
                attributes[use] = Encoded.bool(false)
            }
        }
        return object(CKO_PUBLIC_KEY, item, ids, attributes, publicKey: key)
    }

    private func privateKey(_ item: Item, _ ids: [[UInt8]], _ certificate: Certificate?) -> CryptokiObject? {
        guard let key = item.der.flatMap({ try? PublicKey(spki: $0) }) else { return nil }
        let protection = KeyProtection(of: item)
        var attributes = ObjectAttributes.privateKey(
            key, id: ids.first ?? [], subject: certificate?.subject.der ?? [], isLocal: isLocal(item), protection)
        let mechanisms = KeyMechanisms(key.kind) { item[$0] }
        attributes.merge(mechanisms.attributes) { $1 }
        attributes[CKA_ALWAYS_AUTHENTICATE] = Encoded.bool(!hidesLogin && item.tokenTraits?.pinUse == .always)
        return object(
            CKO_PRIVATE_KEY, item, ids, attributes, isPrivate: !hidesLogin && item.tokenTraits?.pinUse != .never,
            sensitive: protection.isReadable ? [] : PrivateNumbers.all,
            secret: protection.isReadable ? PrivateNumbers.types(of: key.kind) : [], publicKey: key,
            mechanisms: mechanisms)
    }

    /// A secret key.
    private func secretKey(_ item: Item, _ ids: [[UInt8]]) -> CryptokiObject? {
        guard let type = item[.keyType]?.integer, let kind = SecretKeyKind(KeyType(rawValue: type)),
            let bits = item[.keySizeInBits]?.integer, bits > 0
        else { return nil }
        let protection = KeyProtection(of: item)
        var attributes = ObjectAttributes.secretKey(
            kind, byteCount: Int(clamping: bits / 8), id: ids.first ?? [], isLocal: isLocal(item), protection
        ) { _, attribute in item[attribute]?.isTrue != false }
        attributes[CKA_COPYABLE] = Encoded.bool(true)
        return object(
            CKO_SECRET_KEY, item, ids, attributes, isPrivate: !hidesLogin,
            sensitive: protection.isReadable ? [] : [CKA_VALUE], secret: protection.isReadable ? [CKA_VALUE] : [])
    }

    /// A password, whose service or server is the application; or a data object of a card.
    private func data(_ item: Item, _ ids: [[UInt8]]) -> CryptokiObject {
        let place = item.itemClass == .genericPassword ? item[.service] : item[.server]
        let attributes: ObjectAttributes.Attributes = [
            CKA_APPLICATION: place?.bytes ?? [], CKA_OBJECT_ID: item.tokenTraits?.objectIdentifier ?? [],
            // An internet password has more attributes than a data object, so that a copy would lose some.
            CKA_COPYABLE: Encoded.bool(!item.isOnToken && item.itemClass == .genericPassword),
        ]
        let isPrivate = item.tokenTraits.map { $0.pinUse != .never } ?? !hidesLogin
        return object(CKO_DATA, item, ids, attributes, isPrivate: isPrivate, secret: [CKA_VALUE])
    }

    /// Whether a key is known to have been generated here: an imported one was not, and for a card's it is unknown.
    private func isLocal(_ item: Item) -> Bool {
        !item.isOnToken && (item[.wasNeverExtractable]?.isTrue == true || item[.wasAlwaysSensitive]?.isTrue == true)
    }

    private func object(
        _ objectClass: CK_OBJECT_CLASS, _ item: Item, _ ids: [[UInt8]], _ attributes: ObjectAttributes.Attributes,
        content: [UInt8] = [], isPrivate: Bool = false, sensitive: Set<CK_ATTRIBUTE_TYPE> = [],
        secret: Set<CK_ATTRIBUTE_TYPE> = [], publicKey: PublicKey? = nil, mechanisms: KeyMechanisms = KeyMechanisms()
    ) -> CryptokiObject {
        let name = item.reference.objectName ?? item.reference.hexText
        let common = ObjectAttributes.storage(
            objectClass, label: names.label(of: item), uniqueID: "\(name)/\(objectClass)", isPrivate: isPrivate,
            isModifiable: !item.isOnToken)
        return CryptokiObject(
            .item(objectClass, item.reference, content: content), common.merging(attributes) { $1 }, ids: ids,
            isPrivate: isPrivate, sensitive: sensitive, secret: secret, publicKey: publicKey, mechanisms: mechanisms)
    }
}

extension KeyProtection {
    fileprivate init(of item: Item) {
        self.init(
            isSensitive: item[.isSensitive]?.isTrue ?? true, isExtractable: item[.isExtractable]?.isTrue ?? false,
            wasAlwaysSensitive: item[.wasAlwaysSensitive]?.isTrue ?? false,
            wasNeverExtractable: item[.wasNeverExtractable]?.isTrue ?? false)
    }
}
