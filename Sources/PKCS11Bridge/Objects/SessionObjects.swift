internal import CCryptoki
internal import KeychainHost
internal import SystemCrypto

// What programs make for as long as a session lasts: PKCS #11 §3.4, session objects.
extension CryptokiObject {
    /// A public key that was generated, copied or brought.
    static func sessionPublicKey(
        _ key: PublicKey, _ template: Template, isPrivate: Bool, isGenerated: Bool, number: Int
    ) -> CryptokiObject {
        var attributes = ObjectAttributes.publicKey(
            key, id: template[CKA_ID] ?? [], subject: [],
            isLocal: isGenerated || template[CKA_LOCAL] == Encoded.bool(true))
        // A program may renounce what the key could do.
        for (use, _) in KeyMechanisms.publicUses where template[use] == Encoded.bool(false) {
            attributes[use] = Encoded.bool(false)
        }
        attributes.merge(session(CKO_PUBLIC_KEY, template, isPrivate: isPrivate, number)) { $1 }
        return CryptokiObject(.session(number), attributes, isPrivate: isPrivate, publicKey: key)
    }

    /// A private key that was generated, copied or brought.
    ///
    /// - Parameter isGenerated: whether it was made just now; a copy's template has what its original was.
    static func sessionPrivateKey(
        _ key: PrivateKey, _ template: Template, _ wishes: KeychainHost.Attributes, isPrivate: Bool,
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

    /// A secret key that was agreed on, unwrapped or brought.
    static func sessionSecretKey(
        byteCount: Int, isReadable: Bool, _ template: Template, isPrivate: Bool, number: Int
    ) -> CryptokiObject {
        var attributes = session(CKO_SECRET_KEY, template, isPrivate: isPrivate, number)
        attributes.merge([
            CKA_KEY_TYPE: template[CKA_KEY_TYPE] ?? Encoded.ulong(CKK_GENERIC_SECRET),
            CKA_ID: template[CKA_ID] ?? [], CKA_VALUE_LEN: Encoded.ulong(CK_ULONG(byteCount)),
            CKA_SENSITIVE: Encoded.bool(!isReadable), CKA_EXTRACTABLE: Encoded.bool(isReadable),
            CKA_ALWAYS_SENSITIVE: Encoded.bool(false), CKA_NEVER_EXTRACTABLE: Encoded.bool(false),
            CKA_LOCAL: Encoded.bool(false), CKA_DERIVE: Encoded.bool(false),
        ]) { $1 }
        return CryptokiObject(
            .session(number), attributes, isPrivate: isPrivate, sensitive: isReadable ? [] : [CKA_VALUE],
            secret: isReadable ? [CKA_VALUE] : [])
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
