public import KeychainModel
public import Localization
public import SecureBytes

/// The content and the state of a card or of a module's token, as far as they were wanted.
public struct CardOverview: Sendable, Equatable {
    /// The parts of an overview that a request wants. What the card is called, and where it is, is told always.
    public struct Parts: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        public static let facts = Parts(rawValue: 1)
        public static let slots = Parts(rawValue: 2)
        /// The state of the PIN. Costs no try.
        public static let pin = Parts(rawValue: 4)
        /// The state of the unblocking key. Costs no try.
        public static let unblockingKey = Parts(rawValue: 8)
        static let all = Parts(rawValue: 15)
    }

    public let card: KeychainDescription
    /// Facts of the card for people, in reading order.
    public var facts: [CardFact] = []
    /// The slots with a key or a certificate, in the order that the card's kind prescribes.
    public var slots: [CardSlot] = []
    /// The errors of the slots that cannot be read, one for each reason.
    public var failures: [KeychainError] = []
    /// The state of the PIN, or the error of a card that does not tell it; nil where it was not wanted.
    public var pin: Result<CardPIN, KeychainError>?
    /// The state of the unblocking key, or the error of a card that does not tell it; nil where it was not wanted.
    public var unblockingKey: Result<CardPIN, KeychainError>?

    public init(_ card: KeychainDescription) {
        self.card = card
    }
}

/// A fact about a card, or in one of its data objects.
public struct CardFact: Sendable, Hashable {
    /// A value for programs, which no language changes.
    public enum Plain: Sendable, Hashable, Encodable {
        case text(String)
        case number(Int)
        case list([String])

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            case .list(let words): try container.encode(words)
            }
        }
    }

    /// The name in English.
    public let name: String
    /// The fact for people.
    public let value: String
    /// The fact for programs, by keys that stay.
    public let parts: [String: Plain]

    public init(_ name: LocalizedKey, _ value: String, parts: [String: Plain] = [:]) {
        self.name = name
        self.value = value
        self.parts = parts
    }
}

/// The state of a PIN or an unblocking key.
public struct CardPIN: Sendable, Hashable {
    /// The number of times that it may still be tried; nil where the card does not tell.
    public let triesLeft: Int?
    /// The tries after a right value; nil where the card does not tell.
    public let maximumTries: Int?
    /// Whether it is still the one that the card was delivered with; nil where the card does not tell.
    public let isDefault: Bool?

    public init(triesLeft: Int?, maximumTries: Int? = nil, isDefault: Bool? = nil) {
        self.triesLeft = triesLeft
        self.maximumTries = maximumTries
        self.isDefault = isDefault
    }

    /// Whether no try is left; nil where the card does not tell.
    public var isBlocked: Bool? { triesLeft.map { $0 == 0 } }
}

/// A slot of a card, with a key, a certificate, or both.
public struct CardSlot: Sendable, Hashable {
    public struct Key: Sendable, Hashable {
        /// The public half, a SubjectPublicKeyInfo in DER (RFC 5280 §4.1).
        public let publicKey: [UInt8]
        public let pinPolicy: PINPolicy
        public let touchPolicy: TouchPolicy

        public init(publicKey: [UInt8], pinPolicy: PINPolicy, touchPolicy: TouchPolicy) {
            self.publicKey = publicKey
            self.pinPolicy = pinPolicy
            self.touchPolicy = touchPolicy
        }
    }

    /// The name in the card's own terms, such as `9A`.
    public let name: String
    /// The name in the specification of the card, such as `PIV Authentication`.
    public let label: String
    public let key: Key?
    /// The certificate in DER.
    public let certificate: [UInt8]?

    public init(_ name: String, label: String, key: Key? = nil, certificate: [UInt8]? = nil) {
        self.name = name
        self.label = label
        self.key = key
        self.certificate = certificate
    }
}
