internal import SystemCrypto

/// An algorithm for signatures, encryption or key agreement. SecKey.h.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ algorithm: KeyAlgorithm) {
        rawValue = algorithm.rawValue
    }
}

/// The operation of a key.
public enum SecKeyOperationType: Int, Sendable {
    case sign = 0
    case verify, encrypt, decrypt, keyExchange
}

/// A parameter of a key exchange that both sides share beside their keys.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The number of bytes to derive.
    public static let requestedSize = SecKeyKeyExchangeParameter(rawValue: "requestedSize")
    /// The shared information of the key derivation.
    public static let sharedInfo = SecKeyKeyExchangeParameter(rawValue: "sharedInfo")
}

// The names of SecKey.h, one by one, as they have no parameters there.
extension SecKeyAlgorithm {
    public static let rsaSignatureRaw = SecKeyAlgorithm(.signature(.rsaRaw))
    public static let rsaSignatureDigestPKCS1v15Raw = SecKeyAlgorithm(.signature(.rsaPKCS1(nil)))
    public static let rsaSignatureDigestPKCS1v15SHA1 = SecKeyAlgorithm(.signature(.rsaPKCS1(.sha1)))
    public static let rsaSignatureDigestPKCS1v15SHA224 = SecKeyAlgorithm(.signature(.rsaPKCS1(.sha224)))
    public static let rsaSignatureDigestPKCS1v15SHA256 = SecKeyAlgorithm(.signature(.rsaPKCS1(.sha256)))
    public static let rsaSignatureDigestPKCS1v15SHA384 = SecKeyAlgorithm(.signature(.rsaPKCS1(.sha384)))
    public static let rsaSignatureDigestPKCS1v15SHA512 = SecKeyAlgorithm(.signature(.rsaPKCS1(.sha512)))
    public static let rsaSignatureDigestPSSSHA1 = SecKeyAlgorithm(.signature(.rsaPSS(.sha1)))
    public static let rsaSignatureDigestPSSSHA224 = SecKeyAlgorithm(.signature(.rsaPSS(.sha224)))
    public static let rsaSignatureDigestPSSSHA256 = SecKeyAlgorithm(.signature(.rsaPSS(.sha256)))
    public static let rsaSignatureDigestPSSSHA384 = SecKeyAlgorithm(.signature(.rsaPSS(.sha384)))
    public static let rsaSignatureDigestPSSSHA512 = SecKeyAlgorithm(.signature(.rsaPSS(.sha512)))
    public static let rsaSignatureMessagePKCS1v15SHA1 = SecKeyAlgorithm(.messageSignature(.rsaPKCS1(.sha1)))
    public static let rsaSignatureMessagePKCS1v15SHA224 = SecKeyAlgorithm(.messageSignature(.rsaPKCS1(.sha224)))
    public static let rsaSignatureMessagePKCS1v15SHA256 = SecKeyAlgorithm(.messageSignature(.rsaPKCS1(.sha256)))
    public static let rsaSignatureMessagePKCS1v15SHA384 = SecKeyAlgorithm(.messageSignature(.rsaPKCS1(.sha384)))
    public static let rsaSignatureMessagePKCS1v15SHA512 = SecKeyAlgorithm(.messageSignature(.rsaPKCS1(.sha512)))
    public static let rsaSignatureMessagePSSSHA1 = SecKeyAlgorithm(.messageSignature(.rsaPSS(.sha1)))
    public static let rsaSignatureMessagePSSSHA224 = SecKeyAlgorithm(.messageSignature(.rsaPSS(.sha224)))
    public static let rsaSignatureMessagePSSSHA256 = SecKeyAlgorithm(.messageSignature(.rsaPSS(.sha256)))
    public static let rsaSignatureMessagePSSSHA384 = SecKeyAlgorithm(.messageSignature(.rsaPSS(.sha384)))
    public static let rsaSignatureMessagePSSSHA512 = SecKeyAlgorithm(.messageSignature(.rsaPSS(.sha512)))
    public static let ecdsaSignatureRFC4754 = SecKeyAlgorithm(.signature(.ecdsa(nil, .rfc4754)))
    public static let ecdsaSignatureDigestX962 = SecKeyAlgorithm(.signature(.ecdsa(nil)))
    public static let ecdsaSignatureDigestRFC4754 = SecKeyAlgorithm(.signature(.ecdsa(nil, .rfc4754)))
    public static let ecdsaSignatureDigestX962SHA1 = SecKeyAlgorithm(.signature(.ecdsa(.sha1)))
    public static let ecdsaSignatureDigestX962SHA224 = SecKeyAlgorithm(.signature(.ecdsa(.sha224)))
    public static let ecdsaSignatureDigestX962SHA256 = SecKeyAlgorithm(.signature(.ecdsa(.sha256)))
    public static let ecdsaSignatureDigestX962SHA384 = SecKeyAlgorithm(.signature(.ecdsa(.sha384)))
    public static let ecdsaSignatureDigestX962SHA512 = SecKeyAlgorithm(.signature(.ecdsa(.sha512)))
    public static let ecdsaSignatureDigestRFC4754SHA1 = SecKeyAlgorithm(.signature(.ecdsa(.sha1, .rfc4754)))
    public static let ecdsaSignatureDigestRFC4754SHA224 = SecKeyAlgorithm(.signature(.ecdsa(.sha224, .rfc4754)))
    public static let ecdsaSignatureDigestRFC4754SHA256 = SecKeyAlgorithm(.signature(.ecdsa(.sha256, .rfc4754)))
    public static let ecdsaSignatureDigestRFC4754SHA384 = SecKeyAlgorithm(.signature(.ecdsa(.sha384, .rfc4754)))
    public static let ecdsaSignatureDigestRFC4754SHA512 = SecKeyAlgorithm(.signature(.ecdsa(.sha512, .rfc4754)))
    public static let ecdsaSignatureMessageX962SHA1 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha1)))
    public static let ecdsaSignatureMessageX962SHA224 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha224)))
    public static let ecdsaSignatureMessageX962SHA256 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha256)))
    public static let ecdsaSignatureMessageX962SHA384 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha384)))
    public static let ecdsaSignatureMessageX962SHA512 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha512)))
    public static let ecdsaSignatureMessageRFC4754SHA1 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha1, .rfc4754)))
    public static let ecdsaSignatureMessageRFC4754SHA224 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha224, .rfc4754)))
    public static let ecdsaSignatureMessageRFC4754SHA256 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha256, .rfc4754)))
    public static let ecdsaSignatureMessageRFC4754SHA384 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha384, .rfc4754)))
    public static let ecdsaSignatureMessageRFC4754SHA512 = SecKeyAlgorithm(.messageSignature(.ecdsa(.sha512, .rfc4754)))
    public static let rsaEncryptionRaw = SecKeyAlgorithm(.encryption(.raw))
    public static let rsaEncryptionPKCS1 = SecKeyAlgorithm(.encryption(.pkcs1))
    public static let rsaEncryptionOAEPSHA1 = SecKeyAlgorithm(.encryption(.oaep(.sha1)))
    public static let rsaEncryptionOAEPSHA224 = SecKeyAlgorithm(.encryption(.oaep(.sha224)))
    public static let rsaEncryptionOAEPSHA256 = SecKeyAlgorithm(.encryption(.oaep(.sha256)))
    public static let rsaEncryptionOAEPSHA384 = SecKeyAlgorithm(.encryption(.oaep(.sha384)))
    public static let rsaEncryptionOAEPSHA512 = SecKeyAlgorithm(.encryption(.oaep(.sha512)))
    public static let rsaEncryptionOAEPSHA1AESGCM = SecKeyAlgorithm(.rsaHybrid(.sha1))
    public static let rsaEncryptionOAEPSHA224AESGCM = SecKeyAlgorithm(.rsaHybrid(.sha224))
    public static let rsaEncryptionOAEPSHA256AESGCM = SecKeyAlgorithm(.rsaHybrid(.sha256))
    public static let rsaEncryptionOAEPSHA384AESGCM = SecKeyAlgorithm(.rsaHybrid(.sha384))
    public static let rsaEncryptionOAEPSHA512AESGCM = SecKeyAlgorithm(.rsaHybrid(.sha512))
    public static let ecdhKeyExchangeStandard = SecKeyAlgorithm(.keyExchange(.standard, nil))
    public static let ecdhKeyExchangeStandardX963SHA1 = SecKeyAlgorithm(.keyExchange(.standard, .sha1))
    public static let ecdhKeyExchangeStandardX963SHA224 = SecKeyAlgorithm(.keyExchange(.standard, .sha224))
    public static let ecdhKeyExchangeStandardX963SHA256 = SecKeyAlgorithm(.keyExchange(.standard, .sha256))
    public static let ecdhKeyExchangeStandardX963SHA384 = SecKeyAlgorithm(.keyExchange(.standard, .sha384))
    public static let ecdhKeyExchangeStandardX963SHA512 = SecKeyAlgorithm(.keyExchange(.standard, .sha512))
    public static let eciesEncryptionStandardX963SHA1AESGCM = SecKeyAlgorithm(.ecies(.standard, .sha1, .zero))
    public static let eciesEncryptionStandardX963SHA224AESGCM = SecKeyAlgorithm(
        .ecies(.standard, .sha224, .zero))
    public static let eciesEncryptionStandardX963SHA256AESGCM = SecKeyAlgorithm(
        .ecies(.standard, .sha256, .zero))
    public static let eciesEncryptionStandardX963SHA384AESGCM = SecKeyAlgorithm(
        .ecies(.standard, .sha384, .zero))
    public static let eciesEncryptionStandardX963SHA512AESGCM = SecKeyAlgorithm(
        .ecies(.standard, .sha512, .zero))
    public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM = SecKeyAlgorithm(
        .ecies(.standard, .sha224, .derived))
    public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM = SecKeyAlgorithm(
        .ecies(.standard, .sha256, .derived))
    public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM = SecKeyAlgorithm(
        .ecies(.standard, .sha384, .derived))
    public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM = SecKeyAlgorithm(
        .ecies(.standard, .sha512, .derived))
    public static let ecdhKeyExchangeCofactor = SecKeyAlgorithm(.keyExchange(.cofactor, nil))
    public static let ecdhKeyExchangeCofactorX963SHA1 = SecKeyAlgorithm(.keyExchange(.cofactor, .sha1))
    public static let ecdhKeyExchangeCofactorX963SHA224 = SecKeyAlgorithm(.keyExchange(.cofactor, .sha224))
    public static let ecdhKeyExchangeCofactorX963SHA256 = SecKeyAlgorithm(.keyExchange(.cofactor, .sha256))
    public static let ecdhKeyExchangeCofactorX963SHA384 = SecKeyAlgorithm(.keyExchange(.cofactor, .sha384))
    public static let ecdhKeyExchangeCofactorX963SHA512 = SecKeyAlgorithm(.keyExchange(.cofactor, .sha512))
    public static let eciesEncryptionCofactorX963SHA1AESGCM = SecKeyAlgorithm(.ecies(.cofactor, .sha1, .zero))
    public static let eciesEncryptionCofactorX963SHA224AESGCM = SecKeyAlgorithm(
        .ecies(.cofactor, .sha224, .zero))
    public static let eciesEncryptionCofactorX963SHA256AESGCM = SecKeyAlgorithm(
        .ecies(.cofactor, .sha256, .zero))
    public static let eciesEncryptionCofactorX963SHA384AESGCM = SecKeyAlgorithm(
        .ecies(.cofactor, .sha384, .zero))
    public static let eciesEncryptionCofactorX963SHA512AESGCM = SecKeyAlgorithm(
        .ecies(.cofactor, .sha512, .zero))
    public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM = SecKeyAlgorithm(
        .ecies(.cofactor, .sha224, .derived))
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM = SecKeyAlgorithm(
        .ecies(.cofactor, .sha256, .derived))
    public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM = SecKeyAlgorithm(
        .ecies(.cofactor, .sha384, .derived))
    public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM = SecKeyAlgorithm(
        .ecies(.cofactor, .sha512, .derived))
}

// Symmetric keys. Apple has no algorithms for them: these names are not in SecKey.h.
extension SecKeyAlgorithm {
    /// The initialisation vector of 12 bytes, random and new for each message, then the ciphertext, then the tag of 16 bytes.
    public static let aesGCM = SecKeyAlgorithm(.aesGCM)
    /// RFC 3394: encrypts keys of whole 8 bytes, at least 16, with a key that wraps and unwraps.
    public static let aesKeyWrap = SecKeyAlgorithm(.aesKeyWrap)
    public static let hmacSignatureMessageSHA1 = SecKeyAlgorithm(.hmac(.sha1))
    public static let hmacSignatureMessageSHA224 = SecKeyAlgorithm(.hmac(.sha224))
    public static let hmacSignatureMessageSHA256 = SecKeyAlgorithm(.hmac(.sha256))
    public static let hmacSignatureMessageSHA384 = SecKeyAlgorithm(.hmac(.sha384))
    public static let hmacSignatureMessageSHA512 = SecKeyAlgorithm(.hmac(.sha512))
}
