internal import SecureBytes
public import SystemCrypto
internal import TokenKit

/// What is done with a key, by the numbers of Apple's `SecKeyOperationType`.
public enum KeyOperation: Int, Sendable, Hashable, CaseIterable {
    case sign = 0
    case verify, encrypt, decrypt, keyExchange
}

/// How a key signs, encrypts or agrees, by the names of Apple's `SecKeyAlgorithm`; Apple has none for symmetric keys, and
/// theirs are made in the same manner.
///
/// Two algorithms are equal when they do the same. Keychain semantics 4.5.
public struct KeyAlgorithm: RawRepresentable, Sendable {
    /// Apple's name, `algid:sign:RSA:message-PKCS1v15:SHA256`.
    public let rawValue: String
    let scheme: Scheme

    /// The algorithm of one of the names; nil for any other.
    public init?(rawValue: String) {
        guard let scheme = KeyAlgorithm.schemes[rawValue] else { return nil }
        self.rawValue = rawValue
        self.scheme = scheme
    }

    init(_ scheme: Scheme) {
        rawValue = scheme.name
        self.scheme = scheme
    }

    /// Every algorithm there is a name for.
    public static let all = Scheme.all.map(KeyAlgorithm.init(_:))

    private static let schemes: [String: Scheme] = {
        var schemes = Dictionary(uniqueKeysWithValues: all.map { ($0.rawValue, $0.scheme) })
        // What `kSecKeyAlgorithmECDSASignatureRFC4754` was before there were hash functions in the names.
        schemes["algid:sign:ECDSA:RFC4754"] = .ecdsa(.digest, nil, .rfc4754)
        return schemes
    }()
}

extension KeyAlgorithm: Hashable, CustomStringConvertible {
    public static func == (left: KeyAlgorithm, right: KeyAlgorithm) -> Bool { left.scheme == right.scheme }

    public func hash(into hasher: inout Hasher) { hasher.combine(scheme) }

    /// Its name for people.
    public var description: String { scheme.title }
}

// MARK: - Names

extension KeyAlgorithm {
    /// The private-key primitive over as many bytes as the modulus has.
    public static let rsaSignatureRaw = KeyAlgorithm(.rsaSignatureRaw)
    /// PKCS#1 v1.5 around bytes as they are, at most eleven fewer than the modulus has.
    public static let rsaSignatureDigestPKCS1v15Raw = KeyAlgorithm(.rsaSignaturePKCS1(.digest, nil))

    public static func rsaSignatureDigestPKCS1v15(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.rsaSignaturePKCS1(.digest, digest))
    }

    public static func rsaSignatureMessagePKCS1v15(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.rsaSignaturePKCS1(.message, digest))
    }

    /// PSS, MGF1 with the same hash function and a salt as long as its digest.
    public static func rsaSignatureDigestPSS(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.rsaSignaturePSS(.digest, digest))
    }

    public static func rsaSignatureMessagePSS(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.rsaSignaturePSS(.message, digest))
    }

    /// ECDSA over a digest of any length; the signature is a DER SEQUENCE of r and s.
    public static let ecdsaSignatureDigestX962 = KeyAlgorithm(.ecdsa(.digest, nil, .x962))

    public static func ecdsaSignatureDigestX962(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.ecdsa(.digest, digest, .x962))
    }

    public static func ecdsaSignatureMessageX962(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.ecdsa(.message, digest, .x962))
    }

    /// ECDSA over a digest of any length; the signature is r‖s, each as long as a coordinate.
    public static let ecdsaSignatureDigestRFC4754 = KeyAlgorithm(.ecdsa(.digest, nil, .rfc4754))

    public static func ecdsaSignatureDigestRFC4754(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.ecdsa(.digest, digest, .rfc4754))
    }

    public static func ecdsaSignatureMessageRFC4754(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.ecdsa(.message, digest, .rfc4754))
    }

    /// Ed25519 over the message itself.
    public static let eddsaSignatureMessageCurve25519SHA512 = KeyAlgorithm(.ed25519)

    /// No padding: as many bytes as the modulus has.
    public static let rsaEncryptionRaw = KeyAlgorithm(.rsaEncryption(.raw))
    /// PKCS#1 v1.5. What was encrypted for another key decrypts to random bytes, not to an error.
    public static let rsaEncryptionPKCS1 = KeyAlgorithm(.rsaEncryption(.pkcs1))

    /// OAEP, MGF1 with the same hash function and no label.
    public static func rsaEncryptionOAEP(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.rsaEncryption(.oaep(digest)))
    }

    /// AES-GCM under a random key that goes along in OAEP.
    public static func rsaEncryptionOAEPAESGCM(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.rsaHybrid(digest))
    }

    /// The bare shared secret, also that of X25519.
    public static let ecdhKeyExchangeStandard = KeyAlgorithm(.keyExchange(.standard, nil))
    public static let ecdhKeyExchangeCofactor = KeyAlgorithm(.keyExchange(.cofactor, nil))

    /// The shared secret put through the key derivation function of X9.63.
    public static func ecdhKeyExchangeStandardX963(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.keyExchange(.standard, digest))
    }

    public static func ecdhKeyExchangeCofactorX963(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.keyExchange(.cofactor, digest))
    }

    /// AES-GCM under a key agreed with a key pair of this message; the initialisation vector is zero.
    public static func eciesEncryptionStandardX963AESGCM(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.ecies(.standard, digest, .zero))
    }

    public static func eciesEncryptionCofactorX963AESGCM(_ digest: DigestAlgorithm) -> KeyAlgorithm {
        KeyAlgorithm(.ecies(.cofactor, digest, .zero))
    }

    /// The same with a derived initialisation vector; nil for SHA-1, for which there is no name.
    public static func eciesEncryptionStandardVariableIVX963AESGCM(_ digest: DigestAlgorithm) -> KeyAlgorithm? {
        KeyAlgorithm(rawValue: Scheme.ecies(.standard, digest, .derived).name)
    }

    public static func eciesEncryptionCofactorVariableIVX963AESGCM(_ digest: DigestAlgorithm) -> KeyAlgorithm? {
        KeyAlgorithm(rawValue: Scheme.ecies(.cofactor, digest, .derived).name)
    }

    /// AES-GCM with a symmetric key, SP 800-38D: the initialisation vector of 96 bits, which is random and new for each
    /// message, then the ciphertext, then the tag of 128 bits. One key is good for 2³² messages (§8.3). Not Apple's.
    public static let aesGCM = KeyAlgorithm(.aesGCM)

    /// AES key wrap with a symmetric key, RFC 3394: encrypts keys, of whole 8 bytes and at least 16; the result is 8 bytes
    /// longer. The key has to be one that wraps and unwraps. Not Apple's.
    public static let aesKeyWrap = KeyAlgorithm(.aesKeyWrap)

    /// HMAC over the message with a symmetric key, FIPS 198-1; the code is as long as the digest. Not Apple's.
    public static func hmacSignatureMessage(_ digest: DigestAlgorithm) -> KeyAlgorithm { KeyAlgorithm(.hmac(digest)) }
}
