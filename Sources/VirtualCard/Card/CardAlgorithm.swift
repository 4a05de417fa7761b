/// A cryptographic algorithm of a PIV card, by its identifier on the wire.
///
/// SP 800-78-5 table 9; the last four are extensions of card makers.
public enum CardAlgorithm: UInt8, Sendable, Hashable, CaseIterable {
    case tripleDES = 0x03
    case rsa3072 = 0x05
    case rsa1024 = 0x06
    case rsa2048 = 0x07
    case aes128 = 0x08
    case aes192 = 0x0A
    case aes256 = 0x0C
    case p256 = 0x11
    case p384 = 0x14
    case rsa4096 = 0x16
    case ed25519 = 0xE0
    case x25519 = 0xE1

    /// The modulus length in bytes, for RSA.
    public var modulusLength: Int? {
        switch self {
        case .rsa1024: 128
        case .rsa2048: 256
        case .rsa3072: 384
        case .rsa4096: 512
        default: nil
        }
    }

    /// The length of a coordinate in bytes, for the NIST curves.
    public var fieldLength: Int? {
        switch self {
        case .p256: 32
        case .p384: 48
        default: nil
        }
    }

    /// The key length in bytes, for the block ciphers that a management key is for.
    public var cipherKeyLength: Int? {
        switch self {
        case .tripleDES, .aes192: 24
        case .aes128: 16
        case .aes256: 32
        default: nil
        }
    }

    /// The block length in bytes, for the block ciphers.
    public var blockLength: Int? {
        cipherKeyLength == nil ? nil : self == .tripleDES ? 8 : 16
    }

    /// Whether the algorithm has a key pair.
    public var isAsymmetric: Bool { cipherKeyLength == nil }
}
