internal import KeychainModel
internal import CCryptoki
internal import KeychainHost
internal import SecureBytes
internal import SystemCrypto

/// Makes objects of a keychain's items.
struct KeychainObjects {
    private let keys: [Item]
    private let certificates: [Item]
    private let names: CryptokiItemNames
    private let hidesLogin: Bool

    init(keys: [Item], certificates: [Item], hidesLogin: Bool) {
        self.keys = keys
        self.certificates = certificates
        self.hidesLogin = hidesLogin
        names = CryptokiItemNames(keys: keys, certificates: certificates)
    }

    /// Subjects of certificates by the hash of their keys. Certificates without a key here are not parsed: programs ask for the key of
    /// each of them.
    private var subjects: [[UInt8]: [UInt8]] {
        let hashes = Set(keys.compactMap(\.publicKeyHash))
        return Dictionary(
            certificates.compactMap { item in
                guard let hash = item.publicKeyHash, hashes.contains(hash),
                    let certificate = item.certificate
                else { return nil }
                return (hash, certificate.subject.der)
            }
        ) { first, _ in first }
    }

    var certificateObjects: [CryptokiObject] {
        let hashes = Set(keys.filter(\.isPrivateKey).compactMap(\.publicKeyHash))
        return certificates.compactMap { item in
            guard let certificate = item.certificate else { return nil }
            let hasKey = hashes.contains(certificate.keyHash)
            let attributes = ObjectAttributes.certificate(
                certificate, id: names.id(ofKeyWithHash: certificate.keyHash), hasKey: hasKey)
            return object(CKO_CERTIFICATE, item, attributes, ids: names.ids(ofKeyWithHash: certificate.keyHash))
        }
    }

    /// A public half for every private key, whether it is an item of its own or not.
    var publicKeyObjects: [CryptokiObject] {
        let stored = keys.filter { $0[.keyClass]?.integer == KeyClass.public.rawValue }
        let hashes = Set(stored.compactMap(\.publicKeyHash))
        let local = Set(keys.filter(isLocal).compactMap(\.publicKeyHash))
        let implied = keys.filter { $0.isPrivateKey && !($0.publicKeyHash.map(hashes.contains) ?? false) }
        let kept = Set(
            keys.filter { $0.isPrivateKey && $0[.canDerive]?.isTrue == false }.compactMap(\.publicKeyHash))
        let subjects = subjects
        return (stored + implied).compactMap { item in
            guard let key = item.der.flatMap({ try? PublicKey(spki: $0) }) else { return nil }
            var attributes = ObjectAttributes.publicKey(
                key, id: names.id(ofKeyWithHash: key.keyHash), subject: subjects[key.keyHash] ?? [],
                isLocal: local.contains(key.keyHash), derives: kept.contains(key.keyHash) ? false : nil)
            if !item.isPrivateKey {
                for (use, attribute) in KeyMechanisms.publicUses where item[attribute]?.isTrue == false {
                    attributes[use] = Encoded.bool(false)
                }
            }
            return object(
                CKO_PUBLIC_KEY, item, attributes, ids: names.ids(ofKeyWithHash: key.keyHash), publicKey: key)
        }
    }

    var privateKeyObjects: [CryptokiObject] {
        let subjects = subjects
        return keys.filter(\.isPrivateKey).compactMap { item in
            guard let key = item.der.flatMap({ try? PublicKey(spki: $0) }) else { return nil }
            let protection = KeyProtection(of: item)
            var attributes = ObjectAttributes.privateKey(
                key, id: names.id(ofKeyWithHash: key.keyHash), subject: subjects[key.keyHash] ?? [],
                isLocal: isLocal(item), protection)
            let mechanisms = KeyMechanisms(key.kind) { item[$0] }
            attributes.merge(mechanisms.attributes) { $1 }
            attributes[CKA_ALWAYS_AUTHENTICATE] = Encoded.bool(false)
            return object(
                CKO_PRIVATE_KEY, item, attributes, ids: names.ids(ofKeyWithHash: key.keyHash), isPrivate: !hidesLogin,
                sensitive: protection.isReadable ? [] : PrivateNumbers.all,
                secret: protection.isReadable ? PrivateNumbers.types(of: key.kind) : [], publicKey: key,
                mechanisms: mechanisms)
        }
    }

    /// The keys that have one half alone.
    var secretKeyObjects: [CryptokiObject] {
        keys.filter(\.isSymmetricKey).compactMap { item in
            guard let type = item[.keyType]?.integer, let kind = SecretKeyKind(KeyType(rawValue: type)),
                let bits = item[.keySizeInBits]?.integer, bits > 0
            else { return nil }
            let (protection, ids) = (KeyProtection(of: item), names.ids(of: item))
            let attributes = ObjectAttributes.secretKey(
                kind, byteCount: Int(clamping: bits / 8), id: ids.first ?? [], isLocal: isLocal(item), protection
            ) { _, attribute in item[attribute]?.isTrue != false }
            return object(
                CKO_SECRET_KEY, item, attributes.merging([CKA_COPYABLE: Encoded.bool(true)]) { $1 }, ids: ids,
                isPrivate: !hidesLogin, sensitive: protection.isReadable ? [] : [CKA_VALUE],
                secret: protection.isReadable ? [CKA_VALUE] : [])
        }
    }

    /// A password: where it is for is the application, who it is of the label.
    func dataObject(_ item: Item) -> CryptokiObject {
        let place = item.itemClass == .genericPassword ? item[.service] : item[.server]
        let attributes: ObjectAttributes.Attributes = [
            CKA_APPLICATION: place?.bytes ?? [], CKA_OBJECT_ID: [],
            // An internet password has more to it than a data object: a copy would be another thing.
            CKA_COPYABLE: Encoded.bool(item.itemClass == .genericPassword),
        ]
        return object(CKO_DATA, item, attributes, ids: names.ids(of: item), isPrivate: !hidesLogin, secret: [CKA_VALUE])
    }

    /// Whether a key is known to have been generated here: what is brought was something else before.
    private func isLocal(_ item: Item) -> Bool {
        item[.wasNeverExtractable]?.isTrue == true || item[.wasAlwaysSensitive]?.isTrue == true
    }

    private func object(
        _ objectClass: CK_OBJECT_CLASS, _ item: Item, _ attributes: ObjectAttributes.Attributes,
        ids: [[UInt8]], isPrivate: Bool = false, sensitive: Set<CK_ATTRIBUTE_TYPE> = [],
        secret: Set<CK_ATTRIBUTE_TYPE> = [],
        publicKey: PublicKey? = nil, mechanisms: KeyMechanisms = KeyMechanisms()
    ) -> CryptokiObject {
        let common = ObjectAttributes.storage(
            objectClass, label: names.label(of: item),
            uniqueID: "\(Hex.encode(item.reference.encoded()))/\(objectClass)", isPrivate: isPrivate,
            isModifiable: true)
        return CryptokiObject(
            .item(objectClass, item.reference), common.merging(attributes) { $1 }, ids: ids,
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
