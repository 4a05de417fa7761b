internal import Localization
package import SecureBytes
package import SystemCrypto

/// The half of a key pair, or a symmetric key: the values of `kcls`.
public enum KeyClass: Int64, Sendable, Hashable {
    case `public` = 0
    case `private` = 1
    case symmetric = 2

    /// The key class as a value of `kcls`.
    public var value: AttributeValue { .number(rawValue) }
}

/// The values of a key's `type`.
public struct KeyType: RawRepresentable, Sendable, Hashable {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    public static let rsa = KeyType(rawValue: 42)
    /// A key on one of the NIST prime curves.
    public static let ecPrime = KeyType(rawValue: 73)
    public static let ed25519 = KeyType(rawValue: 105)
    public static let x25519 = KeyType(rawValue: 106)
    public static let ed448 = KeyType(rawValue: 107)
    public static let x448 = KeyType(rawValue: 108)

    /// The key type as a value of `type`.
    public var value: AttributeValue { .number(rawValue) }
}

extension KeyType {
    /// AES; Apple's number for it is that of CDSA.
    public static let aes = KeyType(rawValue: 0x8000_0001)
    /// HMAC, whatever the hash function; Apple has no number for it, and CDSA has this one (`CSSM_ALGID_SHA1HMAC`).
    public static let hmac = KeyType(rawValue: 91)

    /// The bits of RSA keys that are generated.
    public static let generatedRSABits = 2048...4096

    /// The fewest bits of an HMAC key, SP 800-131A §10.
    public static let minimumHMACBits = 112
    /// The most bits of a generated HMAC key. A key longer than a block of the hash function, at most 1024 bits, is no
    /// stronger (FIPS 198-1 §3).
    public static let maximumGeneratedHMACBits = 65_536

    /// The bytes of a new symmetric key.
    ///
    /// - Throws: `errSecKeySizeNotAllowed`; `errSecParam` for another type than ``aes`` and ``hmac``.
    package func randomKey(bits: Int) throws(KeychainError) -> Secret {
        try checkSize(ofGeneratedKey: bits)
        return try KeychainError.mapping { () throws(CryptoError) in try RandomBytes.makeSecret(count: bits / 8) }
    }

    /// - Throws: as for a key that is given, and for one that is longer than it has any use.
    package func checkSize(ofGeneratedKey bits: Int) throws(KeychainError) {
        let isAllowed = Self.minimumHMACBits...Self.maximumGeneratedHMACBits ~= bits && bits.isMultiple(of: 8)
        guard self != .hmac || isAllowed else {
            throw KeychainError(
                .keySizeNotAllowed, "\(bits) bits are not a size of new HMAC keys",
                remedy: "use whole bytes, \(Self.minimumHMACBits) to \(Self.maximumGeneratedHMACBits) bits",
                key: Attribute.keySizeInBits.rawValue)
        }
        try checkSize(ofSymmetricKey: bits)
    }

    /// - Throws: `errSecKeySizeNotAllowed`; `errSecParam` for a type whose keys have no operation.
    package func checkSize(ofSymmetricKey bits: Int) throws(KeychainError) {
        let size = Attribute.keySizeInBits.rawValue
        switch self {
        case .aes where [128, 192, 256].contains(bits): return
        case .aes:
            throw KeychainError(
                .keySizeNotAllowed, "AES has no keys of \(bits) bits", remedy: "use 128, 192 or 256", key: size)
        case .hmac where bits >= Self.minimumHMACBits && bits.isMultiple(of: 8): return
        case .hmac:
            throw KeychainError(
                .keySizeNotAllowed, "\(bits) bits are not a size of HMAC keys",
                remedy: "use whole bytes, at least \(Self.minimumHMACBits) bits", key: size)
        default:
            throw KeychainError(
                .param, "symmetric keys of type \(rawValue) are not supported", remedy: "AES and HMAC can be used",
                key: Attribute.keyType.rawValue)
        }
    }

    /// The name of a type of symmetric keys, for people.
    package var symmetricName: String {
        switch self {
        case .aes: "AES"
        case .hmac: "HMAC"
        default: "\(rawValue)"
        }
    }
}

extension KeyFamily {
    /// The family of a key type; nil for one that has no external form here.
    package init?(_ type: KeyType) {
        switch type {
        case .rsa: self = .rsa
        case .ecPrime: self = .ec
        case .ed25519: self = .ed25519
        case .x25519: self = .x25519
        default: return nil
        }
    }
}
