internal import SecureBytes

/// The two status bytes that end every response APDU.
///
/// ISO/IEC 7816-4 §5.6; SP 800-73-5 part 2 table 1. A value without a name here keeps its number.
public struct StatusWord: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    public let rawValue: UInt16

    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    public init(integerLiteral value: UInt16) {
        self.init(rawValue: value)
    }

    public init(_ sw1: UInt8, _ sw2: UInt8) {
        rawValue = UInt16(sw1) << 8 | UInt16(sw2)
    }

    public var sw1: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 8) }
    public var sw2: UInt8 { UInt8(truncatingIfNeeded: rawValue) }

    public static let success: StatusWord = 0x9000
    public static let applicationDeactivated: StatusWord = 0x6282
    public static let verificationFailed: StatusWord = 0x6300
    public static let memoryFailure: StatusWord = 0x6581
    public static let wrongLength: StatusWord = 0x6700
    public static let secureMessagingNotSupported: StatusWord = 0x6882
    public static let lastCommandOfChainExpected: StatusWord = 0x6883
    public static let commandChainingNotSupported: StatusWord = 0x6884
    public static let securityStatusNotSatisfied: StatusWord = 0x6982
    public static let authenticationMethodBlocked: StatusWord = 0x6983
    public static let conditionsNotSatisfied: StatusWord = 0x6985
    public static let incorrectData: StatusWord = 0x6A80
    public static let functionNotSupported: StatusWord = 0x6A81
    public static let objectNotFound: StatusWord = 0x6A82
    public static let notEnoughMemory: StatusWord = 0x6A84
    public static let incorrectParameters: StatusWord = 0x6A86
    public static let referenceNotFound: StatusWord = 0x6A88
    public static let wrongParameters: StatusWord = 0x6B00
    public static let instructionNotSupported: StatusWord = 0x6D00
    public static let classNotSupported: StatusWord = 0x6E00
    public static let noPreciseDiagnosis: StatusWord = 0x6F00

    /// The number of bytes that GET RESPONSE still returns; 256 stands for "256 or more".
    public var remainingResponseLength: Int? {
        guard sw1 == 0x61 else { return nil }
        return sw2 == 0 ? 256 : Int(sw2)
    }

    /// The Le that the card wants instead of the one that was sent.
    public var correctExpectedLength: Int? {
        guard sw1 == 0x6C else { return nil }
        return sw2 == 0 ? 256 : Int(sw2)
    }
}

extension StatusWord: CustomStringConvertible {
    /// The four hexadecimal digits, and the meaning where ISO/IEC 7816-4 gives one.
    public var description: String {
        let digits = Hex.encode([sw1, sw2])
        return meaning.map { "\(digits), \($0)" } ?? digits
    }

    private var meaning: String? {
        switch self {
        case .success: "success"
        case .applicationDeactivated: "application deactivated"
        case .memoryFailure: "memory failure"
        case .wrongLength: "wrong length"
        case .secureMessagingNotSupported: "secure messaging not supported"
        case .lastCommandOfChainExpected: "last command of the chain expected"
        case .commandChainingNotSupported: "command chaining not supported"
        case .securityStatusNotSatisfied: "security status not satisfied"
        case .authenticationMethodBlocked: "authentication method blocked"
        case .conditionsNotSatisfied: "conditions of use not satisfied"
        case .incorrectData: "incorrect data"
        case .functionNotSupported: "function not supported"
        case .objectNotFound: "object not found"
        case .notEnoughMemory: "not enough memory"
        case .incorrectParameters, .wrongParameters: "incorrect parameters"
        case .referenceNotFound: "reference not found"
        case .instructionNotSupported: "instruction not supported"
        case .classNotSupported: "class not supported"
        case .noPreciseDiagnosis: "no precise diagnosis"
        default: sw1 == 0x63 ? "verification failed" : sw1 == 0x61 ? "more data available" : nil
        }
    }
}
