internal import CCryptoki
internal import SystemCrypto

/// The attributes of each class of objects. PKCS #11 §4.4 to §4.10, and for each kind of key §6.
enum TemplateRules {
    /// - Throws: `CKR_ATTRIBUTE_TYPE_INVALID` for an attribute that objects of the class do not have, `CKR_ATTRIBUTE_READ_ONLY`
    ///   for an attribute that only the token sets, `CKR_TEMPLATE_INCONSISTENT` for an attribute with two values, or one that
    ///   would have no effect.
    static func check(_ template: Template, for objectClass: CK_OBJECT_CLASS) throws(CryptokiError) {
        try requireOneValueEach(template)
        guard let own = attributes[objectClass] else { return }
        for type in template.types {
            let name = "attribute 0x\(String(type, radix: 16))"
            if givenByToken.contains(type) { throw CryptokiError(CKR_ATTRIBUTE_READ_ONLY, name) }
            // Programs add vendor-defined attributes of other makers.
            guard type >= vendorDefined || storage.contains(type) || own.contains(type) else {
                throw CryptokiError(CKR_ATTRIBUTE_TYPE_INVALID, name)
            }
        }
        try requireNothingInVain(template, objectClass)
    }

    /// Refuses a template that asks for a protection which the object cannot have.
    private static func requireNothingInVain(
        _ template: Template, _ objectClass: CK_OBJECT_CLASS
    ) throws(CryptokiError) {
        guard try template.bool(CKA_TRUSTED) != true else {
            throw CryptokiError(CKR_ATTRIBUTE_READ_ONLY, "nobody here says what is trusted")
        }
        _ = try template.bool(CKA_COPYABLE)
        var unknown: [(CK_ATTRIBUTE_TYPE, Bool)] = [(CKA_DESTROYABLE, false), (CKA_WRAP_WITH_TRUSTED, true)]
        if try template.bool(CKA_TOKEN) == true {
            unknown.append((CKA_MODIFIABLE, false))
            if [CKO_CERTIFICATE, CKO_PUBLIC_KEY].contains(objectClass) { unknown.append((CKA_PRIVATE, true)) }
            if objectClass == CKO_DATA { unknown.append((CKA_COPYABLE, false)) }
        }
        for (type, value) in unknown where try template.bool(type) == value { throw inVain(type) }
        var lists: [CK_ATTRIBUTE_TYPE] = [CKA_WRAP_TEMPLATE, CKA_UNWRAP_TEMPLATE]
        // A private key's list is checked later, when its kind is known.
        if objectClass != CKO_PRIVATE_KEY { lists.append(CKA_ALLOWED_MECHANISMS) }
        for type in lists where template[type]?.isEmpty == false { throw inVain(type) }
    }

    static func inVain(_ type: CK_ATTRIBUTE_TYPE) -> CryptokiError {
        CryptokiError(
            CKR_TEMPLATE_INCONSISTENT,
            "attribute 0x\(String(type, radix: 16)) asks for protection that there is none of here")
    }

    /// Checks the template of a key to be made: the mechanism determines its type, and the template must not have its numbers.
    static func checkGenerated(
        _ template: Template, _ objectClass: CK_OBJECT_CLASS, _ keyType: CK_KEY_TYPE
    ) throws(CryptokiError) {
        for (type, value) in [(CKA_CLASS, objectClass), (CKA_KEY_TYPE, keyType)] {
            guard try template.ulong(type) ?? value == value else { throw contradiction(type) }
        }
        let numbers = PrivateNumbers.all.union([CKA_MODULUS, CKA_EC_POINT])
        if let type = template.types.first(where: numbers.contains) { throw contradiction(type) }
    }

    static func contradiction(_ type: CK_ATTRIBUTE_TYPE) -> CryptokiError {
        CryptokiError(
            CKR_TEMPLATE_INCONSISTENT, "attribute 0x\(String(type, radix: 16)) contradicts what makes the key")
    }

    static func requireOneValueEach(_ template: Template) throws(CryptokiError) {
        guard let type = template.ambiguousType else { return }
        throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "attribute 0x\(String(type, radix: 16)) has two values")
    }

    /// `CKA_VENDOR_DEFINED`.
    private static let vendorDefined: CK_ATTRIBUTE_TYPE = 1 << 31

    private static let givenByToken: Set<CK_ATTRIBUTE_TYPE> = [
        CKA_UNIQUE_ID, CKA_LOCAL, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE, CKA_KEY_GEN_MECHANISM,
    ]

    private static let storage: Set<CK_ATTRIBUTE_TYPE> = [
        CKA_CLASS, CKA_TOKEN, CKA_PRIVATE, CKA_MODIFIABLE, CKA_LABEL, CKA_COPYABLE, CKA_DESTROYABLE,
    ]

    private static let key: Set<CK_ATTRIBUTE_TYPE> = [
        CKA_KEY_TYPE, CKA_ID, CKA_START_DATE, CKA_END_DATE, CKA_DERIVE, CKA_ALLOWED_MECHANISMS,
    ]

    private static let numbers: Set<CK_ATTRIBUTE_TYPE> = [
        CKA_SUBJECT, CKA_PUBLIC_KEY_INFO, CKA_MODULUS, CKA_MODULUS_BITS, CKA_PUBLIC_EXPONENT, CKA_EC_PARAMS,
        CKA_EC_POINT,
    ]

    private static let protection: Set<CK_ATTRIBUTE_TYPE> = [
        CKA_SENSITIVE, CKA_EXTRACTABLE, CKA_WRAP_WITH_TRUSTED, CKA_DECRYPT, CKA_SIGN, CKA_UNWRAP, CKA_UNWRAP_TEMPLATE,
        CKA_VALUE,
    ]

    private static let attributes: [CK_OBJECT_CLASS: Set<CK_ATTRIBUTE_TYPE>] = [
        CKO_DATA: [CKA_APPLICATION, CKA_OBJECT_ID, CKA_VALUE],
        CKO_CERTIFICATE: [
            CKA_CERTIFICATE_TYPE, CKA_TRUSTED, CKA_CERTIFICATE_CATEGORY, CKA_CHECK_VALUE, CKA_START_DATE, CKA_END_DATE,
            CKA_PUBLIC_KEY_INFO, CKA_SUBJECT, CKA_ID, CKA_ISSUER, CKA_SERIAL_NUMBER, CKA_VALUE, CKA_URL,
            CKA_HASH_OF_SUBJECT_PUBLIC_KEY, CKA_HASH_OF_ISSUER_PUBLIC_KEY, CKA_NAME_HASH_ALGORITHM,
            CKA_JAVA_MIDP_SECURITY_DOMAIN,
        ],
        CKO_PUBLIC_KEY: key.union(numbers).union([
            CKA_ENCRYPT, CKA_VERIFY, CKA_VERIFY_RECOVER, CKA_WRAP, CKA_TRUSTED, CKA_WRAP_TEMPLATE,
        ]),
        CKO_PRIVATE_KEY: key.union(numbers).union(protection).union([
            CKA_SIGN_RECOVER, CKA_ALWAYS_AUTHENTICATE, CKA_PRIVATE_EXPONENT, CKA_PRIME_1, CKA_PRIME_2, CKA_EXPONENT_1,
            CKA_EXPONENT_2, CKA_COEFFICIENT,
        ]),
        CKO_SECRET_KEY: key.union(protection).union([
            CKA_ENCRYPT, CKA_VERIFY, CKA_WRAP, CKA_WRAP_TEMPLATE, CKA_CHECK_VALUE, CKA_TRUSTED, CKA_VALUE_LEN,
        ]),
    ]
}
