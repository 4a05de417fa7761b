internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto

/// The numbers that private keys are made of, as attributes. PKCS #11 §6.
enum PrivateNumbers {
    private static let ofRSA: Set<CK_ATTRIBUTE_TYPE> = [
        CKA_PRIVATE_EXPONENT, CKA_PRIME_1, CKA_PRIME_2, CKA_EXPONENT_1, CKA_EXPONENT_2, CKA_COEFFICIENT,
    ]

    /// The attributes of every private key.
    static let all = ofRSA.union([CKA_VALUE])

    static func types(of kind: KeyKind) -> Set<CK_ATTRIBUTE_TYPE> { kind.isRSA ? ofRSA : [CKA_VALUE] }

    /// The value of one of the key's ``types(of:)``: a big integer without leading zeros (PKCS #11 §3.3), or the bytes of a seed.
    static func value(_ type: CK_ATTRIBUTE_TYPE, of key: PrivateKey) throws(CryptokiError) -> Secret {
        let value = try padded(type, of: key)
        return key.kind.isRSA || key.kind.isEC ? bigInteger(value) : value
    }

    private static func bigInteger(_ number: borrowing Secret) -> Secret {
        let bytes = number.bytes
        return Secret(copying: bytes.extracting((bytes.indices.first { bytes[$0] != 0 } ?? bytes.count)...))
    }

    private static func padded(_ type: CK_ATTRIBUTE_TYPE, of key: PrivateKey) throws(CryptokiError) -> Secret {
        try CryptokiError.mapping { () throws(CryptoError) in
            switch type {
            case CKA_VALUE: return try key.scalar()
            case CKA_PRIVATE_EXPONENT: return try key.rsaPrivateExponent()
            default: break
            }
            let primes = try key.rsaPrimes()
            return switch type {
            case CKA_PRIME_1: primes.p.clone()
            case CKA_PRIME_2: primes.q.clone()
            case CKA_EXPONENT_1: primes.dP.clone()
            case CKA_EXPONENT_2: primes.dQ.clone()
            default: primes.qInv.clone()
            }
        }
    }
}

/// The protection of a private or secret key since its creation. PKCS #11 §4.9, §4.10.
struct KeyProtection {
    var isSensitive = true
    var isExtractable = false
    var wasAlwaysSensitive = true
    var wasNeverExtractable = true

    /// Whether the key's numbers or bytes can be read.
    var isReadable: Bool { !isSensitive && isExtractable }

    var attributes: ObjectAttributes.Attributes {
        [
            CKA_SENSITIVE: Encoded.bool(isSensitive), CKA_EXTRACTABLE: Encoded.bool(isExtractable),
            CKA_ALWAYS_SENSITIVE: Encoded.bool(wasAlwaysSensitive),
            CKA_NEVER_EXTRACTABLE: Encoded.bool(wasNeverExtractable),
        ]
    }
}
