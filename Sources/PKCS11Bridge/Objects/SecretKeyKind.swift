internal import KeychainModel
internal import PKCS11Mechanisms
internal import CCryptoki
internal import SystemCrypto

/// The kind of a secret key, and its uses.
enum SecretKeyKind: Equatable {
    case aes
    /// A key for HMAC with any hash function.
    case generic
    /// A key that only sessions have: for HMAC with one hash function, or without a use here.
    case other(CK_KEY_TYPE)

    init(_ type: CK_KEY_TYPE) {
        switch type {
        case CKK_AES: self = .aes
        case CKK_GENERIC_SECRET: self = .generic
        default: self = .other(type)
        }
    }

    /// The kind of a keychain's key; nil for an unknown type.
    init?(_ type: KeyType) {
        switch type {
        case .aes: self = .aes
        case .hmac: self = .generic
        default: return nil
        }
    }

    var keyType: CK_KEY_TYPE {
        switch self {
        case .aes: CKK_AES
        case .generic: CKK_GENERIC_SECRET
        case .other(let type): type
        }
    }

    /// The mechanism that generates such keys.
    var generation: CK_MECHANISM_TYPE { MechanismTable.type(of: .secretKey(keyType)) }

    /// The type in a keychain; nil for a kind that keychains do not keep.
    var itemType: KeyType? {
        switch self {
        case .aes: .aes
        case .generic: .hmac
        case .other: nil
        }
    }

    /// The bytes that generated keys may have.
    var lengths: ClosedRange<Int> { self == .aes ? 16...32 : 1...KeyType.maximumGeneratedHMACBits / 8 }

    /// Whether a key, generated or not, may have `count` bytes.
    func hasKeys(of count: Int) -> Bool { self == .aes ? [16, 24, 32].contains(count) : count > 0 }

    /// The uses of such a key, and the item attributes that allow them.
    var uses: [(type: CK_ATTRIBUTE_TYPE, attribute: Attribute)] {
        switch self {
        case .aes:
            [
                (CKA_ENCRYPT, .canEncrypt), (CKA_DECRYPT, .canDecrypt), (CKA_WRAP, .canWrap),
                (CKA_UNWRAP, .canUnwrap),
            ]
        case .generic: [(CKA_SIGN, .canSign), (CKA_VERIFY, .canVerify)]
        case .other(let type):
            DigestAlgorithm(type, as: \.hmacKey) != nil ? [(CKA_SIGN, .canSign), (CKA_VERIFY, .canVerify)] : []
        }
    }
}

extension ObjectAttributes {
    /// PKCS #11 §4.10.
    ///
    /// - Parameter mayDo: whether the key permits a use of its kind.
    static func secretKey(
        _ kind: SecretKeyKind, byteCount: Int, id: [UInt8], isLocal: Bool, _ protection: KeyProtection,
        mayDo: (CK_ATTRIBUTE_TYPE, Attribute) -> Bool
    ) -> Attributes {
        let uses = kind.uses.filter { mayDo($0.type, $0.attribute) }.map(\.type)
        var attributes: Attributes = [
            CKA_DERIVE: Encoded.bool(false), CKA_TRUSTED: Encoded.bool(false),
            CKA_WRAP_WITH_TRUSTED: Encoded.bool(false), CKA_VALUE_LEN: Encoded.ulong(CK_ULONG(byteCount)),
        ]
        for use in [CKA_ENCRYPT, CKA_DECRYPT, CKA_SIGN, CKA_VERIFY, CKA_WRAP, CKA_UNWRAP] {
            attributes[use] = Encoded.bool(uses.contains(use))
        }
        return attributes.merging(protection.attributes) { $1 }
            .merging(key(kind.keyType, generation: kind.generation, id: id, isLocal: isLocal)) { $1 }
    }
}

extension CryptokiObject {
    var keyType: CK_KEY_TYPE? { attributes[CKA_KEY_TYPE].flatMap { Encoded.ulong(in: $0) } }
}

extension KeyProtection {
    /// The protection in a secret key's template. Its bytes can be read by default (PKCS #11 §4.10), as a program that
    /// agreed on a key or unwrapped one needs.
    ///
    /// - Parameter isGenerated: whether the key was just generated. A copy's template has the history of its original.
    init(ofSecretKey template: Template, isGenerated: Bool) throws(CryptokiError) {
        isSensitive = try template.bool(CKA_SENSITIVE) ?? false
        isExtractable = try template.bool(CKA_EXTRACTABLE) ?? true
        wasAlwaysSensitive = isGenerated ? isSensitive : try template.bool(CKA_ALWAYS_SENSITIVE) ?? false
        wasNeverExtractable = isGenerated ? !isExtractable : try template.bool(CKA_NEVER_EXTRACTABLE) ?? false
    }
}
