/// The settings of cards.
public struct CardSettings: Sendable, Hashable {
    /// The settings that a request wants. The files of others are not read.
    public struct Parts: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// ``CardSettings/pinTimeout`` and ``CardSettings/provesBeforePIN``.
        public static let pins = Parts(rawValue: 1)
        /// ``CardSettings/disabledDrivers``.
        public static let drivers = Parts(rawValue: 2)
        static let all = Parts(rawValue: 3)
    }

    /// The seconds for which a PIN counts in the program that it was given to; nil for as long as the card counts it.
    public var pinTimeout: UInt32?
    /// Whether a card proves its key before it is given a PIN; nil for a domain without the setting.
    public var provesBeforePIN: Bool?
    /// The names of the drivers whose cards are left alone, in their order.
    public var disabledDrivers: [String]

    public init(pinTimeout: UInt32? = nil, provesBeforePIN: Bool? = nil, disabledDrivers: [String] = []) {
        self.pinTimeout = pinTimeout
        self.provesBeforePIN = provesBeforePIN
        self.disabledDrivers = disabledDrivers
    }

    /// A change of one setting.
    public enum Change: Sendable, Hashable {
        /// In seconds, at least 1. Nil clears the setting.
        case pinTimeout(UInt32?)
        /// Nil clears the setting.
        case provesBeforePIN(Bool?)
        /// Has the cards of a driver left alone, or used again.
        case driver(String, isDisabled: Bool)
    }
}
