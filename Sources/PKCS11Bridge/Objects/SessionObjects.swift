internal import KeychainModel
internal import CCryptoki
internal import SystemCrypto

// Session objects, which end with their session. PKCS #11 §3.4.
extension CryptokiObject {
    /// A public key that was generated, copied or brought.
    static func sessionPublicKey(
        _ key: PublicKey, _ template: Template, isPrivate: Bool, isGenerated: Bool, number: Int
    ) -> CryptokiObject {
        var attributes = ObjectAttributes.publicKey(
            key, id: template[CKA_ID] ?? [], subject: [],
            isLocal: isGenerated || template[CKA_LOCAL] == Encoded.bool(true))
        // A template may deny uses that the key could have.
        for (use, _) in KeyMechanisms.publicUses where template[use] == Encoded.bool(false) {
            attributes[use] = Encoded.bool(false)
        }
        attributes.merge(session(CKO_PUBLIC_KEY, template, isPrivate: isPrivate, number)) { $1 }
        return CryptokiObject(.session(number), attributes, isPrivate: isPrivate, publicKey: key)
    }

    /// A private key that was generated, copied or brought.
    ///
    /// - Parameter isGenerated: whether the key was just generated. A copy's template has the history of its original.
    static func sessionPrivateKey(
        _ key: PrivateKey, _ template: Template, _ wishes: KeychainModel.Attributes, isPrivate: Bool,
        isGenerated: Bool, number: Int
    ) -> CryptokiObject {
        let mechanisms = KeyMechanisms(key.kind) { wishes[$0] }
        func wasTrue(_ type: CK_ATTRIBUTE_TYPE) -> Bool { template[type] == Encoded.bool(true) }
        var protection = KeyProtection(
            isSensitive: wishes[.isSensitive]?.isTrue ?? true, isExtractable: wishes[.isExtractable]?.isTrue ?? false)
        protection.wasAlwaysSensitive = isGenerated ? protection.isSensitive : wasTrue(CKA_ALWAYS_SENSITIVE)
        protection.wasNeverExtractable = isGenerated ? !protection.isExtractable : wasTrue(CKA_NEVER_EXTRACTABLE)
        var attributes = ObjectAttributes.privateKey(
            key.publicKey, id: template[CKA_ID] ?? [], subject: template[CKA_SUBJECT] ?? [],
            isLocal: isGenerated || wasTrue(CKA_LOCAL), protection)
        attributes.merge(mechanisms.attributes) { $1 }
        attributes[CKA_ALWAYS_AUTHENTICATE] = Encoded.bool(false)
        attributes.merge(session(CKO_PRIVATE_KEY, template, isPrivate: isPrivate, number)) { $1 }
        return CryptokiObject(
            .session(number), attributes, isPrivate: isPrivate,
            sensitive: protection.isReadable ? [] : PrivateNumbers.all,
            secret: protection.isReadable ? PrivateNumbers.types(of: key.kind) : [],
            publicKey: key.publicKey, sessionKey: key, mechanisms: mechanisms)
    }

    /// A secret key that was generated, agreed on, unwrapped, copied or brought.
    static func sessionSecretKey(
        _ kind: SecretKeyKind, byteCount: Int, _ protection: KeyProtection, _ template: Template, isPrivate: Bool,
        isGenerated: Bool, number: Int
    ) -> CryptokiObject {
        var attributes = ObjectAttributes.secretKey(
            kind, byteCount: byteCount, id: template[CKA_ID] ?? [],
            isLocal: isGenerated || template[CKA_LOCAL] == Encoded.bool(true), protection
        ) { use, _ in template[use] != Encoded.bool(false) }
        attributes.merge(session(CKO_SECRET_KEY, template, isPrivate: isPrivate, number)) { $1 }
        return CryptokiObject(
            .session(number), attributes, isPrivate: isPrivate, sensitive: protection.isReadable ? [] : [CKA_VALUE],
            secret: protection.isReadable ? [CKA_VALUE] : [])
    }

    /// A data object, the only kind of session object that can be changed.
    static func sessionData(_ template: Template, isPrivate: Bool, number: Int) -> CryptokiObject {
        var attributes = session(CKO_DATA, template, isPrivate: isPrivate, number)
        attributes[CKA_MODIFIABLE] = template[CKA_MODIFIABLE] ?? Encoded.bool(true)
        attributes[CKA_APPLICATION] = template[CKA_APPLICATION] ?? []
        attributes[CKA_OBJECT_ID] = template[CKA_OBJECT_ID] ?? []
        return CryptokiObject(.session(number), attributes, isPrivate: isPrivate, secret: [CKA_VALUE])
    }

    /// The object with other values of some attributes.
    func changed(to template: Template) -> CryptokiObject {
        CryptokiObject(
            name, attributes.merging(template.attributes.map { ($0.type, $0.value) }) { $1 }, isPrivate: isPrivate,
            sensitive: sensitive, secret: secret)
    }

    private static func session(
        _ objectClass: CK_OBJECT_CLASS, _ template: Template, isPrivate: Bool, _ number: Int
    ) -> ObjectAttributes.Attributes {
        var attributes = ObjectAttributes.storage(
            objectClass, label: "", uniqueID: "session/\(number)", isPrivate: isPrivate, isModifiable: true)
        attributes[CKA_TOKEN] = Encoded.bool(false)
        attributes[CKA_MODIFIABLE] = Encoded.bool(false)
        attributes[CKA_COPYABLE] = template[CKA_COPYABLE] ?? Encoded.bool(true)
        attributes[CKA_LABEL] = template[CKA_LABEL] ?? []
        return attributes
    }
}
