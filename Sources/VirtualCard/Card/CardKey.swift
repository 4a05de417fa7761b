internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The reference of a key on a PIV card. SP 800-73-5 part 1 table 6; `F9` is Yubico's attestation key.
public struct CardKeyReference: RawRepresentable, Hashable, Sendable, Comparable, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public init(integerLiteral value: UInt8) {
        self.init(rawValue: value)
    }

    public static let secureMessaging: CardKeyReference = 0x04
    public static let authentication: CardKeyReference = 0x9A
    public static let management: CardKeyReference = 0x9B
    public static let signature: CardKeyReference = 0x9C
    public static let keyManagement: CardKeyReference = 0x9D
    public static let cardAuthentication: CardKeyReference = 0x9E
    public static let attestation: CardKeyReference = 0xF9

    /// The twenty retired key management keys, `82` to `95`.
    public static let retired: [CardKeyReference] = (0x82...0x95).map { CardKeyReference(rawValue: $0) }

    /// Every reference that can hold a key pair.
    public static let keyPairs: [CardKeyReference] =
        [.authentication, .signature, .keyManagement, .cardAuthentication] + retired + [.attestation, .secureMessaging]

    /// Whether this is one of ``retired``.
    public var isRetired: Bool { (0x82...0x95).contains(rawValue) }

    public static func < (left: CardKeyReference, right: CardKeyReference) -> Bool { left.rawValue < right.rawValue }

    public var description: String { String(rawValue, radix: 16, uppercase: true) }
}

/// A key pair on the card, with the rules for its use.
public struct CardKey: Equatable, Sendable {
    /// The PIN policy of a key. The numbers are Yubico's.
    public enum PINPolicy: UInt8, Sendable, Hashable {
        case never = 1, once = 2, always = 3

        /// The policy of a slot in SP 800-73-5 part 1 table 5.
        public static func standard(for reference: CardKeyReference) -> PINPolicy {
            switch reference {
            case .signature: .always
            case .cardAuthentication, .secureMessaging: .never
            default: .once
            }
        }
    }

    /// The touch policy of a key. The numbers are Yubico's.
    public enum TouchPolicy: UInt8, Sendable, Hashable {
        case never = 1, always = 2, cached = 3
    }

    public enum Origin: UInt8, Sendable, Hashable {
        case generated = 1, imported = 2
    }

    public let algorithm: CardAlgorithm
    public let pinPolicy: PINPolicy
    public let touchPolicy: TouchPolicy
    public let origin: Origin
    let privateKey: PrivateKey

    init(
        _ privateKey: PrivateKey, algorithm: CardAlgorithm, pinPolicy: PINPolicy, touchPolicy: TouchPolicy,
        origin: Origin
    ) {
        self.privateKey = privateKey
        self.algorithm = algorithm
        self.pinPolicy = pinPolicy
        self.touchPolicy = touchPolicy
        self.origin = origin
    }

    /// The public key as GENERATE answers it, without the enclosing `7F49`. SP 800-73-5 part 2 table 11.
    var publicTemplate: [UInt8] {
        if let (modulus, exponent) = privateKey.publicKey.rsaComponents {
            return TLV(0x81, modulus).encoded() + TLV(0x82, exponent).encoded()
        }
        return TLV(0x86, privateKey.publicKey.rawRepresentation).encoded()
    }

    public static func == (left: CardKey, right: CardKey) -> Bool {
        left.privateKey.publicKey == right.privateKey.publicKey && left.algorithm == right.algorithm
            && left.pinPolicy == right.pinPolicy && left.touchPolicy == right.touchPolicy && left.origin == right.origin
    }
}
