internal import KeychainHost
internal import SystemCrypto
internal import TokenKit

/// How a key signs, encrypts or agrees. SecKey.h.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ algorithm: KeyAlgorithm) {
        rawValue = algorithm.rawValue
    }
}

/// What is done with a key.
public enum SecKeyOperationType: Int, Sendable {
    case sign = 0
    case verify, encrypt, decrypt, keyExchange
}

/// What both sides of a key exchange agree on beside their keys.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Bytes that the derivation is to give.
    public static let requestedSize = SecKeyKeyExchangeParameter(rawValue: "requestedSize")
    /// What goes into the derivation beside the secret.
    public static let sharedInfo = SecKeyKeyExchangeParameter(rawValue: "sharedInfo")
}

// The names of SecKey.h, one by one, as they have no parameters there.
extension SecKeyAlgorithm {
    public static let rsaSignatureRaw = SecKeyAlgorithm(.rsaSignatureRaw)
    public static let rsaSignatureDigestPKCS1v15Raw = SecKeyAlgorithm(.rsaSignatureDigestPKCS1v15Raw)
    public static let rsaSignatureDigestPKCS1v15SHA1 = SecKeyAlgorithm(.rsaSignatureDigestPKCS1v15(.sha1))
    public static let rsaSignatureDigestPKCS1v15SHA224 = SecKeyAlgorithm(.rsaSignatureDigestPKCS1v15(.sha224))
    public static let rsaSignatureDigestPKCS1v15SHA256 = SecKeyAlgorithm(.rsaSignatureDigestPKCS1v15(.sha256))
    public static let rsaSignatureDigestPKCS1v15SHA384 = SecKeyAlgorithm(.rsaSignatureDigestPKCS1v15(.sha384))
    public static let rsaSignatureDigestPKCS1v15SHA512 = SecKeyAlgorithm(.rsaSignatureDigestPKCS1v15(.sha512))
    public static let rsaSignatureDigestPSSSHA1 = SecKeyAlgorithm(.rsaSignatureDigestPSS(.sha1))
    public static let rsaSignatureDigestPSSSHA224 = SecKeyAlgorithm(.rsaSignatureDigestPSS(.sha224))
    public static let rsaSignatureDigestPSSSHA256 = SecKeyAlgorithm(.rsaSignatureDigestPSS(.sha256))
    public static let rsaSignatureDigestPSSSHA384 = SecKeyAlgorithm(.rsaSignatureDigestPSS(.sha384))
    public static let rsaSignatureDigestPSSSHA512 = SecKeyAlgorithm(.rsaSignatureDigestPSS(.sha512))
    public static let rsaSignatureMessagePKCS1v15SHA1 = SecKeyAlgorithm(.rsaSignatureMessagePKCS1v15(.sha1))
    public static let rsaSignatureMessagePKCS1v15SHA224 = SecKeyAlgorithm(.rsaSignatureMessagePKCS1v15(.sha224))
    public static let rsaSignatureMessagePKCS1v15SHA256 = SecKeyAlgorithm(.rsaSignatureMessagePKCS1v15(.sha256))
    public static let rsaSignatureMessagePKCS1v15SHA384 = SecKeyAlgorithm(.rsaSignatureMessagePKCS1v15(.sha384))
    public static let rsaSignatureMessagePKCS1v15SHA512 = SecKeyAlgorithm(.rsaSignatureMessagePKCS1v15(.sha512))
    public static let rsaSignatureMessagePSSSHA1 = SecKeyAlgorithm(.rsaSignatureMessagePSS(.sha1))
    public static let rsaSignatureMessagePSSSHA224 = SecKeyAlgorithm(.rsaSignatureMessagePSS(.sha224))
    public static let rsaSignatureMessagePSSSHA256 = SecKeyAlgorithm(.rsaSignatureMessagePSS(.sha256))
    public static let rsaSignatureMessagePSSSHA384 = SecKeyAlgorithm(.rsaSignatureMessagePSS(.sha384))
    public static let rsaSignatureMessagePSSSHA512 = SecKeyAlgorithm(.rsaSignatureMessagePSS(.sha512))
    public static let ecdsaSignatureRFC4754 = SecKeyAlgorithm(.ecdsaSignatureDigestRFC4754)
    public static let ecdsaSignatureDigestX962 = SecKeyAlgorithm(.ecdsaSignatureDigestX962)
    public static let ecdsaSignatureDigestRFC4754 = SecKeyAlgorithm(.ecdsaSignatureDigestRFC4754)
    public static let ecdsaSignatureDigestX962SHA1 = SecKeyAlgorithm(.ecdsaSignatureDigestX962(.sha1))
    public static let ecdsaSignatureDigestX962SHA224 = SecKeyAlgorithm(.ecdsaSignatureDigestX962(.sha224))
    public static let ecdsaSignatureDigestX962SHA256 = SecKeyAlgorithm(.ecdsaSignatureDigestX962(.sha256))
    public static let ecdsaSignatureDigestX962SHA384 = SecKeyAlgorithm(.ecdsaSignatureDigestX962(.sha384))
    public static let ecdsaSignatureDigestX962SHA512 = SecKeyAlgorithm(.ecdsaSignatureDigestX962(.sha512))
    public static let ecdsaSignatureDigestRFC4754SHA1 = SecKeyAlgorithm(.ecdsaSignatureDigestRFC4754(.sha1))
    public static let ecdsaSignatureDigestRFC4754SHA224 = SecKeyAlgorithm(.ecdsaSignatureDigestRFC4754(.sha224))
    public static let ecdsaSignatureDigestRFC4754SHA256 = SecKeyAlgorithm(.ecdsaSignatureDigestRFC4754(.sha256))
    public static let ecdsaSignatureDigestRFC4754SHA384 = SecKeyAlgorithm(.ecdsaSignatureDigestRFC4754(.sha384))
    public static let ecdsaSignatureDigestRFC4754SHA512 = SecKeyAlgorithm(.ecdsaSignatureDigestRFC4754(.sha512))
    public static let ecdsaSignatureMessageX962SHA1 = SecKeyAlgorithm(.ecdsaSignatureMessageX962(.sha1))
    public static let ecdsaSignatureMessageX962SHA224 = SecKeyAlgorithm(.ecdsaSignatureMessageX962(.sha224))
    public static let ecdsaSignatureMessageX962SHA256 = SecKeyAlgorithm(.ecdsaSignatureMessageX962(.sha256))
    public static let ecdsaSignatureMessageX962SHA384 = SecKeyAlgorithm(.ecdsaSignatureMessageX962(.sha384))
    public static let ecdsaSignatureMessageX962SHA512 = SecKeyAlgorithm(.ecdsaSignatureMessageX962(.sha512))
    public static let ecdsaSignatureMessageRFC4754SHA1 = SecKeyAlgorithm(.ecdsaSignatureMessageRFC4754(.sha1))
    public static let ecdsaSignatureMessageRFC4754SHA224 = SecKeyAlgorithm(.ecdsaSignatureMessageRFC4754(.sha224))
    public static let ecdsaSignatureMessageRFC4754SHA256 = SecKeyAlgorithm(.ecdsaSignatureMessageRFC4754(.sha256))
    public static let ecdsaSignatureMessageRFC4754SHA384 = SecKeyAlgorithm(.ecdsaSignatureMessageRFC4754(.sha384))
    public static let ecdsaSignatureMessageRFC4754SHA512 = SecKeyAlgorithm(.ecdsaSignatureMessageRFC4754(.sha512))
    public static let rsaEncryptionRaw = SecKeyAlgorithm(.rsaEncryptionRaw)
    public static let rsaEncryptionPKCS1 = SecKeyAlgorithm(.rsaEncryptionPKCS1)
    public static let rsaEncryptionOAEPSHA1 = SecKeyAlgorithm(.rsaEncryptionOAEP(.sha1))
    public static let rsaEncryptionOAEPSHA224 = SecKeyAlgorithm(.rsaEncryptionOAEP(.sha224))
    public static let rsaEncryptionOAEPSHA256 = SecKeyAlgorithm(.rsaEncryptionOAEP(.sha256))
    public static let rsaEncryptionOAEPSHA384 = SecKeyAlgorithm(.rsaEncryptionOAEP(.sha384))
    public static let rsaEncryptionOAEPSHA512 = SecKeyAlgorithm(.rsaEncryptionOAEP(.sha512))
    public static let rsaEncryptionOAEPSHA1AESGCM = SecKeyAlgorithm(.rsaEncryptionOAEPAESGCM(.sha1))
    public static let rsaEncryptionOAEPSHA224AESGCM = SecKeyAlgorithm(.rsaEncryptionOAEPAESGCM(.sha224))
    public static let rsaEncryptionOAEPSHA256AESGCM = SecKeyAlgorithm(.rsaEncryptionOAEPAESGCM(.sha256))
    public static let rsaEncryptionOAEPSHA384AESGCM = SecKeyAlgorithm(.rsaEncryptionOAEPAESGCM(.sha384))
    public static let rsaEncryptionOAEPSHA512AESGCM = SecKeyAlgorithm(.rsaEncryptionOAEPAESGCM(.sha512))
    public static let ecdhKeyExchangeStandard = SecKeyAlgorithm(.ecdhKeyExchangeStandard)
    public static let ecdhKeyExchangeStandardX963SHA1 = SecKeyAlgorithm(.ecdhKeyExchangeStandardX963(.sha1))
    public static let ecdhKeyExchangeStandardX963SHA224 = SecKeyAlgorithm(.ecdhKeyExchangeStandardX963(.sha224))
    public static let ecdhKeyExchangeStandardX963SHA256 = SecKeyAlgorithm(.ecdhKeyExchangeStandardX963(.sha256))
    public static let ecdhKeyExchangeStandardX963SHA384 = SecKeyAlgorithm(.ecdhKeyExchangeStandardX963(.sha384))
    public static let ecdhKeyExchangeStandardX963SHA512 = SecKeyAlgorithm(.ecdhKeyExchangeStandardX963(.sha512))
    public static let eciesEncryptionStandardX963SHA1AESGCM = SecKeyAlgorithm(.eciesEncryptionStandardX963AESGCM(.sha1))
    public static let eciesEncryptionStandardX963SHA224AESGCM = SecKeyAlgorithm(
        .eciesEncryptionStandardX963AESGCM(.sha224))
    public static let eciesEncryptionStandardX963SHA256AESGCM = SecKeyAlgorithm(
        .eciesEncryptionStandardX963AESGCM(.sha256))
    public static let eciesEncryptionStandardX963SHA384AESGCM = SecKeyAlgorithm(
        .eciesEncryptionStandardX963AESGCM(.sha384))
    public static let eciesEncryptionStandardX963SHA512AESGCM = SecKeyAlgorithm(
        .eciesEncryptionStandardX963AESGCM(.sha512))
    public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM = SecKeyAlgorithm(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV")
    public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM = SecKeyAlgorithm(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")
    public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM = SecKeyAlgorithm(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV")
    public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM = SecKeyAlgorithm(
        rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV")
    public static let ecdhKeyExchangeCofactor = SecKeyAlgorithm(.ecdhKeyExchangeCofactor)
    public static let ecdhKeyExchangeCofactorX963SHA1 = SecKeyAlgorithm(.ecdhKeyExchangeCofactorX963(.sha1))
    public static let ecdhKeyExchangeCofactorX963SHA224 = SecKeyAlgorithm(.ecdhKeyExchangeCofactorX963(.sha224))
    public static let ecdhKeyExchangeCofactorX963SHA256 = SecKeyAlgorithm(.ecdhKeyExchangeCofactorX963(.sha256))
    public static let ecdhKeyExchangeCofactorX963SHA384 = SecKeyAlgorithm(.ecdhKeyExchangeCofactorX963(.sha384))
    public static let ecdhKeyExchangeCofactorX963SHA512 = SecKeyAlgorithm(.ecdhKeyExchangeCofactorX963(.sha512))
    public static let eciesEncryptionCofactorX963SHA1AESGCM = SecKeyAlgorithm(.eciesEncryptionCofactorX963AESGCM(.sha1))
    public static let eciesEncryptionCofactorX963SHA224AESGCM = SecKeyAlgorithm(
        .eciesEncryptionCofactorX963AESGCM(.sha224))
    public static let eciesEncryptionCofactorX963SHA256AESGCM = SecKeyAlgorithm(
        .eciesEncryptionCofactorX963AESGCM(.sha256))
    public static let eciesEncryptionCofactorX963SHA384AESGCM = SecKeyAlgorithm(
        .eciesEncryptionCofactorX963AESGCM(.sha384))
    public static let eciesEncryptionCofactorX963SHA512AESGCM = SecKeyAlgorithm(
        .eciesEncryptionCofactorX963AESGCM(.sha512))
    public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM = SecKeyAlgorithm(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM-KDFIV")
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM = SecKeyAlgorithm(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")
    public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM = SecKeyAlgorithm(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV")
    public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM = SecKeyAlgorithm(
        rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
}

// Symmetric keys. Apple has no algorithms for them: these names are not in SecKey.h.
extension SecKeyAlgorithm {
    /// The initialisation vector of 12 bytes, random and new for each message, then the ciphertext, then the tag of 16 bytes.
    public static let aesGCM = SecKeyAlgorithm(.aesGCM)
    /// RFC 3394: encrypts keys of whole 8 bytes, at least 16, with a key that wraps and unwraps.
    public static let aesKeyWrap = SecKeyAlgorithm(.aesKeyWrap)
    public static let hmacSignatureMessageSHA1 = SecKeyAlgorithm(.hmacSignatureMessage(.sha1))
    public static let hmacSignatureMessageSHA224 = SecKeyAlgorithm(.hmacSignatureMessage(.sha224))
    public static let hmacSignatureMessageSHA256 = SecKeyAlgorithm(.hmacSignatureMessage(.sha256))
    public static let hmacSignatureMessageSHA384 = SecKeyAlgorithm(.hmacSignatureMessage(.sha384))
    public static let hmacSignatureMessageSHA512 = SecKeyAlgorithm(.hmacSignatureMessage(.sha512))
}
