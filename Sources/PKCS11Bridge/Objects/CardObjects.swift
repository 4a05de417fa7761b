internal import CCryptoki
internal import SystemCrypto
internal import TokenKit

/// Makes objects of what is on a card: for each of its slots a certificate, a public key and a private key of one id.
struct CardObjects: Sendable {
    /// Whether programs are to see nothing of PINs.
    let hidesLogin: Bool

    /// What the objects' unique ids begin with.
    let identity: String

    /// Which token it is, once that is known.
    let token: TokenID?

    init(hidesLogin: Bool, identity: String, token: TokenID?) {
        (self.hidesLogin, self.identity, self.token) = (hidesLogin, identity, token)
    }

    init(_ identity: TokenIdentity, hidesLogin: Bool) {
        self.init(hidesLogin: hidesLogin, identity: identity.id.description, token: identity.id)
    }

    /// In the order that programs are to find them: of several that would do, they take the first.
    func all(of inventory: TokenInventory) -> [CryptokiObject] {
        // A key that only attests is of no use to a program, and ssh would offer it to servers.
        inventory.objects.filter { $0.key.map { !$0.usage.isEmpty } ?? true }.flatMap(objects(of:))
    }

    private func objects(of object: TokenObject) -> [CryptokiObject] {
        let certificate = object.certificate.flatMap { try? Certificate(der: $0) }
        let subject = certificate?.subject.der ?? []
        var made: [CryptokiObject] = []
        if let certificate {
            let attributes = ObjectAttributes.certificate(
                certificate, id: id(of: object), hasKey: object.key != nil)
            made.append(stored(CKO_CERTIFICATE, object, attributes, isPrivate: false))
        }
        guard let key = object.key, let publicKey = try? PublicKey(spki: key.publicKey) else { return made }
        let mechanisms = KeyMechanisms(key, publicKey.kind, certificate)
        made.append(
            stored(
                CKO_PUBLIC_KEY, object,
                ObjectAttributes.publicKey(
                    publicKey, id: id(of: object), subject: subject, isLocal: false, derives: mechanisms.canDerive),
                isPrivate: false, publicKey: publicKey, mechanisms: mechanisms))
        var attributes = ObjectAttributes.privateKey(publicKey, id: id(of: object), subject: subject, isLocal: false)
        attributes.merge(mechanisms.attributes) { $1 }
        attributes[CKA_ALWAYS_AUTHENTICATE] = Encoded.bool(!hidesLogin && key.pinPolicy.isAlways)
        made.append(
            stored(
                CKO_PRIVATE_KEY, object, attributes, isPrivate: !hidesLogin && key.pinPolicy != .never,
                sensitive: PrivateNumbers.all, publicKey: publicKey, mechanisms: mechanisms))
        return made
    }

    private func stored(
        _ objectClass: CK_OBJECT_CLASS, _ object: TokenObject, _ attributes: ObjectAttributes.Attributes,
        isPrivate: Bool,
        sensitive: Set<CK_ATTRIBUTE_TYPE> = [], publicKey: PublicKey? = nil, mechanisms: KeyMechanisms = KeyMechanisms()
    ) -> CryptokiObject {
        let common = ObjectAttributes.storage(
            objectClass, label: object.label, uniqueID: "\(object.id)/\(objectClass)", isPrivate: isPrivate,
            isModifiable: false)
        let content = publicKey?.keyHash ?? (object.certificate.flatMap { try? Digest.hash($0, using: .sha1) }) ?? []
        return CryptokiObject(
            .card(objectClass, object.id, content: content), common.merging(attributes) { $1 }, isPrivate: isPrivate,
            sensitive: sensitive, publicKey: publicKey, mechanisms: mechanisms)
    }

    private func id(of object: TokenObject) -> [UInt8] { object.cryptokiID ?? [] }

    /// What conforming to profiles promises: certificates are read without a login. PKCS #11 Profiles 3.0 §3.4.
    static let profile = CryptokiObject(
        .profile,
        [
            CKA_CLASS: Encoded.ulong(CKO_PROFILE), CKA_TOKEN: Encoded.bool(true), CKA_PRIVATE: Encoded.bool(false),
            CKA_MODIFIABLE: Encoded.bool(false), CKA_COPYABLE: Encoded.bool(false),
            CKA_DESTROYABLE: Encoded.bool(false), CKA_UNIQUE_ID: Encoded.text("profile"), CKA_LABEL: [],
            CKA_PROFILE_ID: Encoded.ulong(CKP_PUBLIC_CERTIFICATES_TOKEN),
        ])
}

extension PINPolicy {
    /// Whether each use wants the PIN right before it.
    var isAlways: Bool {
        switch self {
        case .always, .other: true
        case .never, .once: false
        }
    }
}
