internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The number by which the card knows an algorithm. SP 800-78-5 table 9; from `E0` on, `16` and `22` are vendors'.
public struct PIVAlgorithm: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    private init(_ rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let tripleDES = PIVAlgorithm(0x03)
    public static let rsa3072 = PIVAlgorithm(0x05)
    public static let rsa1024 = PIVAlgorithm(0x06)
    public static let rsa2048 = PIVAlgorithm(0x07)
    public static let aes128 = PIVAlgorithm(0x08)
    public static let aes192 = PIVAlgorithm(0x0A)
    public static let aes256 = PIVAlgorithm(0x0C)
    public static let p256 = PIVAlgorithm(0x11)
    public static let p384 = PIVAlgorithm(0x14)
    /// Yubico's and Nitrokey's.
    public static let rsa4096 = PIVAlgorithm(0x16)
    /// SoloKeys'.
    public static let soloEd25519 = PIVAlgorithm(0x22)
    /// The cipher suites of secure messaging.
    public static let cipherSuite2 = PIVAlgorithm(0x27)
    public static let cipherSuite7 = PIVAlgorithm(0x2E)
    /// Yubico's.
    public static let ed25519 = PIVAlgorithm(0xE0)
    public static let x25519 = PIVAlgorithm(0xE1)
    /// PivApplet's ECDSA that hashes on the card.
    public static let p256WithSHA1 = PIVAlgorithm(0xF0)

    /// The kind of key pair; nil for symmetric algorithms, secure messaging and unknown ones.
    var keyKind: KeyKind? {
        switch self {
        case .rsa1024: .rsa(bits: 1024)
        case .rsa2048: .rsa(bits: 2048)
        case .rsa3072: .rsa(bits: 3072)
        case .rsa4096: .rsa(bits: 4096)
        case .p256, .p256WithSHA1: .ecP256
        case .p384: .ecP384
        case .ed25519, .soloEd25519: .ed25519
        case .x25519: .x25519
        default: nil
        }
    }

    public var description: String {
        switch self {
        case .tripleDES: "3DES"
        case .rsa1024: "RSA-1024"
        case .rsa2048: "RSA-2048"
        case .rsa3072: "RSA-3072"
        case .rsa4096: "RSA-4096"
        case .aes128: "AES-128"
        case .aes192: "AES-192"
        case .aes256: "AES-256"
        case .p256: "P-256"
        case .p384: "P-384"
        case .ed25519, .soloEd25519: "Ed25519"
        case .x25519: "X25519"
        case .cipherSuite2: "secure messaging CS2"
        case .cipherSuite7: "secure messaging CS7"
        default: Hex.encode([rawValue])
        }
    }
}
