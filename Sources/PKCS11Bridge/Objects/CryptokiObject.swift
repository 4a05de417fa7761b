internal import KeychainModel
internal import PKCS11Mechanisms
internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto

/// The internal name of an object: the same name means the same object, whenever it is found.
enum ObjectName: Hashable, Sendable {
    /// An item of a card or a keychain as an object of the class, with the digest of its content, which differs once other
    /// content takes its place.
    case item(CK_OBJECT_CLASS, PersistentReference, content: [UInt8] = [])
    /// The profile that the token conforms to.
    case profile
    /// An object that ends with the session of the program that made it.
    case session(Int)

    /// The item of the object; nil for an object that is no item.
    var reference: PersistentReference? {
        if case .item(_, let reference, _) = self { reference } else { nil }
    }
}

/// An object as programs see it. PKCS #11 §4.
final class CryptokiObject: Sendable {
    let name: ObjectName

    /// Whether only the logged-in user sees the object.
    let isPrivate: Bool

    /// Every attribute with a readable value, except the secret ones.
    let attributes: [CK_ATTRIBUTE_TYPE: [UInt8]]

    /// Further values of `CKA_ID` by which a search finds the object.
    private let ids: [[UInt8]]

    /// Attributes that the object has and does not reveal.
    let sensitive: Set<CK_ATTRIBUTE_TYPE>

    /// The secret attributes, whose values are read only on request.
    let secret: Set<CK_ATTRIBUTE_TYPE>

    /// The public half of a key.
    let publicKey: PublicKey?

    /// A private key that ends with its session, and is used in this process.
    let sessionKey: PrivateKey?

    /// The mechanisms of a private key.
    let mechanisms: KeyMechanisms

    init(
        _ name: ObjectName, _ attributes: [CK_ATTRIBUTE_TYPE: [UInt8]], ids: [[UInt8]] = [],
        isPrivate: Bool = false, sensitive: Set<CK_ATTRIBUTE_TYPE> = [], secret: Set<CK_ATTRIBUTE_TYPE> = [],
        publicKey: PublicKey? = nil, sessionKey: PrivateKey? = nil, mechanisms: KeyMechanisms = KeyMechanisms()
    ) {
        self.name = name
        self.ids = ids
        self.isPrivate = isPrivate
        self.sensitive = sensitive
        self.secret = secret
        self.publicKey = publicKey
        self.sessionKey = sessionKey
        self.mechanisms = mechanisms
        self.attributes = attributes
    }

    var objectClass: CK_OBJECT_CLASS { attributes[CKA_CLASS].flatMap { Encoded.ulong(in: $0) } ?? CK_ULONG.max }

    /// The hash of the key, or of that of the certificate.
    var publicKeyHash: [UInt8]? {
        attributes[CKA_PUBLIC_KEY_INFO].flatMap { try? PublicKey(spki: $0) }?.keyHash
    }

    func isTrue(_ type: CK_ATTRIBUTE_TYPE) -> Bool { attributes[type] == [1] }

    func matches(_ template: Template) -> Bool {
        template.hasSecrets(of: attributes)
            && template.attributes.allSatisfy {
                attributes[$0.type] == $0.value || $0.type == CKA_ID && ids.contains($0.value)
            }
    }

    func has(_ type: CK_ATTRIBUTE_TYPE) -> Bool {
        attributes[type] != nil || sensitive.contains(type) || secret.contains(type)
    }

    /// The return value for an attribute without a value.
    func refusal(_ type: CK_ATTRIBUTE_TYPE) -> CK_RV {
        sensitive.contains(type) ? CKR_ATTRIBUTE_SENSITIVE : CKR_ATTRIBUTE_TYPE_INVALID
    }

    /// Bytes that the object takes, roughly. PKCS #11 leaves the meaning to the token.
    var size: Int { attributes.values.reduce(0) { $0 + $1.count } }
}

extension CryptokiObject {
    /// The object that promises that certificates are read without a login. PKCS #11 Profiles 3.0 §3.4.
    static let profile = CryptokiObject(
        .profile,
        [
            CKA_CLASS: Encoded.ulong(CKO_PROFILE), CKA_TOKEN: Encoded.bool(true), CKA_PRIVATE: Encoded.bool(false),
            CKA_MODIFIABLE: Encoded.bool(false), CKA_COPYABLE: Encoded.bool(false),
            CKA_DESTROYABLE: Encoded.bool(false), CKA_UNIQUE_ID: Encoded.text("profile"), CKA_LABEL: [],
            CKA_PROFILE_ID: Encoded.ulong(CKP_PUBLIC_CERTIFICATES_TOKEN),
        ])
}

// MARK: - Attributes of each kind of object

/// Attributes that follow from an object's certificate or key.
enum ObjectAttributes {
    typealias Attributes = [CK_ATTRIBUTE_TYPE: [UInt8]]

    /// PKCS #11 §4.4, storage objects.
    static func storage(
        _ objectClass: CK_OBJECT_CLASS, label: String, uniqueID: String, isPrivate: Bool, isModifiable: Bool
    ) -> Attributes {
        [
            CKA_CLASS: Encoded.ulong(objectClass), CKA_TOKEN: Encoded.bool(true), CKA_PRIVATE: Encoded.bool(isPrivate),
            CKA_MODIFIABLE: Encoded.bool(isModifiable), CKA_COPYABLE: Encoded.bool(false),
            CKA_DESTROYABLE: Encoded.bool(isModifiable), CKA_LABEL: Encoded.text(label),
            CKA_UNIQUE_ID: Encoded.text(uniqueID),
        ]
    }

    /// PKCS #11 §4.6, certificates.
    static func certificate(_ certificate: Certificate, id: [UInt8], hasKey: Bool) -> Attributes {
        // 1 is for the token's user, 2 for an authority.
        let category: CK_ULONG = hasKey ? 1 : certificate.isCA ? 2 : 0
        let digest = try? certificate.fingerprint(.sha1)
        return [
            CKA_CERTIFICATE_TYPE: Encoded.ulong(CKC_X_509), CKA_TRUSTED: Encoded.bool(false),
            CKA_CERTIFICATE_CATEGORY: Encoded.ulong(category), CKA_CHECK_VALUE: Array((digest ?? []).prefix(3)),
            CKA_START_DATE: Encoded.date(certificate.notBefore), CKA_END_DATE: Encoded.date(certificate.notAfter),
            CKA_PUBLIC_KEY_INFO: certificate.spki, CKA_SUBJECT: certificate.subject.der, CKA_ID: id,
            CKA_ISSUER: certificate.issuer.der, CKA_SERIAL_NUMBER: Encoded.integer(certificate.serialNumber),
            CKA_VALUE: certificate.der, CKA_URL: [], CKA_HASH_OF_SUBJECT_PUBLIC_KEY: [],
            CKA_HASH_OF_ISSUER_PUBLIC_KEY: [], CKA_JAVA_MIDP_SECURITY_DOMAIN: Encoded.ulong(0),
        ]
    }

    /// PKCS #11 §4.7 and §4.8, and the attributes of the key's kind.
    ///
    /// - Parameter derives: whether the private half agrees on keys; nil where that is unknown.
    static func publicKey(
        _ key: PublicKey, id: [UInt8], subject: [UInt8], isLocal: Bool, derives: Bool? = nil
    ) -> Attributes {
        let isRSA = key.kind.isRSA
        let canVerify = key.kind != .x25519
        let own: Attributes = [
            CKA_SUBJECT: subject, CKA_ENCRYPT: Encoded.bool(isRSA), CKA_VERIFY: Encoded.bool(canVerify),
            CKA_VERIFY_RECOVER: Encoded.bool(false), CKA_WRAP: Encoded.bool(isRSA), CKA_TRUSTED: Encoded.bool(false),
            CKA_DERIVE: Encoded.bool(derives ?? key.kind.agrees),
        ]
        return own.merging(keyPair(key, id: id, isLocal: isLocal)) { $1 }
            .merging(numbers(of: key, withBits: true)) { $1 }
    }

    /// PKCS #11 §4.9, and the public attributes of the key's kind.
    static func privateKey(
        _ key: PublicKey, id: [UInt8], subject: [UInt8], isLocal: Bool, _ protection: KeyProtection = KeyProtection()
    ) -> Attributes {
        let own: Attributes = [
            CKA_SUBJECT: subject, CKA_SIGN_RECOVER: Encoded.bool(false), CKA_WRAP_WITH_TRUSTED: Encoded.bool(false),
        ]
        return own.merging(protection.attributes) { $1 }.merging(keyPair(key, id: id, isLocal: isLocal)) { $1 }
            .merging(numbers(of: key, withBits: false)) { $1 }
    }

    private static func keyPair(_ key: PublicKey, id: [UInt8], isLocal: Bool) -> Attributes {
        self.key(key.kind.keyType, generation: key.kind.generation, id: id, isLocal: isLocal)
            .merging([CKA_PUBLIC_KEY_INFO: key.spki]) { $1 }
    }

    /// PKCS #11 §4.7, keys of any class.
    static func key(
        _ type: CK_KEY_TYPE, generation: CK_MECHANISM_TYPE, id: [UInt8], isLocal: Bool
    ) -> Attributes {
        [
            CKA_KEY_TYPE: Encoded.ulong(type), CKA_ID: id, CKA_START_DATE: [], CKA_END_DATE: [],
            CKA_LOCAL: Encoded.bool(isLocal), CKA_KEY_GEN_MECHANISM: Encoded.ulong(isLocal ? generation : CK_ULONG.max),
        ]
    }

    private static func numbers(of key: PublicKey, withBits: Bool) -> Attributes {
        if let (modulus, exponent) = key.rsaComponents {
            var numbers: Attributes = [CKA_MODULUS: modulus, CKA_PUBLIC_EXPONENT: exponent]
            if withBits, let bits = key.kind.bits { numbers[CKA_MODULUS_BITS] = Encoded.ulong(CK_ULONG(bits)) }
            return numbers
        }
        guard let curve = key.kind.curveParameters else { return [:] }
        return [CKA_EC_PARAMS: curve, CKA_EC_POINT: Encoded.octetString(key.rawRepresentation)]
    }
}

extension KeyKind {
    var keyType: CK_KEY_TYPE {
        switch self {
        case .rsa: CKK_RSA
        case .ecP256, .ecP384, .ecP521: CKK_EC
        case .ed25519: CKK_EC_EDWARDS
        case .x25519: CKK_EC_MONTGOMERY
        case .other: 1 << 31
        }
    }

    /// The mechanism that generates such keys.
    var generation: CK_MECHANISM_TYPE { MechanismTable.type(of: .keyPair(keyType)) }

    /// The curve's object identifier in DER: SEC 2 §A.2, RFC 8410 §3.
    var curveParameters: [UInt8]? {
        switch self {
        case .ecP256: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        case .ecP384: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
        case .ecP521: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]
        case .ed25519: [0x06, 0x03, 0x2B, 0x65, 0x70]
        case .x25519: [0x06, 0x03, 0x2B, 0x65, 0x6E]
        case .rsa, .other: nil
        }
    }

    /// - Throws: `CKR_DOMAIN_PARAMS_INVALID` for parameters that name no curve, `CKR_CURVE_NOT_SUPPORTED`.
    static func named(by parameters: [UInt8]) throws(CryptokiError) -> KeyKind {
        if let kind = KeyKind(curveParameters: parameters) { return kind }
        var reader = TLVReader(parameters)
        guard let elements = try? reader.all(), elements.count == 1, [0x06, 0x13].contains(elements[0].tag) else {
            throw CryptokiError(CKR_DOMAIN_PARAMS_INVALID)
        }
        throw CryptokiError(CKR_CURVE_NOT_SUPPORTED)
    }

    /// The kind of key that is generated for parameters of a curve; 3.0 also allows its name as a PrintableString.
    init?(curveParameters: [UInt8]) {
        let names: [([UInt8], KeyKind)] = [(Array("edwards25519".utf8), .ed25519), (Array("curve25519".utf8), .x25519)]
        let kinds: [KeyKind] = [.ecP256, .ecP384, .ecP521, .ed25519, .x25519]
        guard
            let kind = kinds.first(where: { $0.curveParameters == curveParameters })
                ?? names.first(where: { TLV(0x13, $0.0).encoded() == curveParameters })?.1
        else { return nil }
        self = kind
    }
}
