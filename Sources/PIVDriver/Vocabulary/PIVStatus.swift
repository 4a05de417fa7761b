internal import SecureBytes
internal import TokenKit

/// The meanings of status words for PIV, in one place. SP 800-73-5 part 2 table 1.
extension StatusWord {
    /// Whether the command succeeded.
    var isSuccess: Bool { self == .success || self == .applicationDeactivated }

    /// The number of tries in the status word: `63CX`, and `630X` as some cards write it. `6300` alone has none.
    var triesLeft: Int? {
        switch (sw1, sw2) {
        case (0x63, 0xC0...0xCF): Int(sw2 & 0x0F)
        case (0x63, 0x01...0x0F): Int(sw2)
        case (0x69, 0x83): 0
        default: nil
        }
    }

    /// Whether the card looked at a PIN and refused it.
    var isWrongPIN: Bool { sw1 == 0x63 }

    /// Whether another application may have given this answer, because another program selected it since.
    var mayComeFromAnotherApplication: Bool {
        switch self {
        case .instructionNotSupported, .classNotSupported, .functionNotSupported, .incorrectParameters,
            .referenceNotFound, .objectNotFound, .wrongParameters, .applicationNotSelected:
            true
        default: false
        }
    }

    /// Whether the card does not have the instruction, or this form of it.
    var isUnknownFunction: Bool {
        switch self {
        case .instructionNotSupported, .classNotSupported, .functionNotSupported, .incorrectParameters,
            .wrongParameters, .wrongLength:
            true
        default: false
        }
    }

    private static let applicationNotSelected: StatusWord = 0x6999
}

extension TokenError {
    /// The error of a status word other than success.
    ///
    /// - Parameter what: the operation, as it follows "cannot": `read the Key History Object`.
    init(_ status: StatusWord, _ what: LocalizedText) {
        let (code, why) = TokenError.meaning(of: status)
        self.init(code, "cannot \(what): \(why)", triesLeft: status.triesLeft, status: status)
    }

    /// The error of a reader on which a PIN was to be typed; nil for a card's own answer.
    init?(ofPINEntry status: StatusWord) {
        switch status {
        case .pinEntryTimedOut:
            self.init(
                .card(.cancelled), "no PIN was typed on the reader's keypad in time (ask again)", status: status)
        case .pinEntryCancelled:
            self.init(.card(.cancelled), "the PIN entry was canceled on the reader's keypad", status: status)
        case .pinEntryWrongLength:
            self.init(.pinFormat, "a PIN has six to eight digits; nothing was sent to the card", status: status)
        case _ where status.sw1 == 0x64 || status.sw1 == 0x6B:
            self.init(.pinPadFailed, TokenError.pinPadFailure, status: status)
        default: return nil
        }
    }

    private static func meaning(of status: StatusWord) -> (Code, LocalizedText) {
        switch status {
        case .securityStatusNotSatisfied: (.pinRequired, "the card needs the PIN first")
        case .authenticationMethodBlocked: (.pinBlocked, "no try is left")
        case .conditionsNotSatisfied: (.conditionsNotSatisfied, "a touch or another condition of the card is missing")
        case .objectNotFound, .referenceNotFound: (.notFound, "the card does not have it")
        case .notEnoughMemory, .memoryFailure: (.storage, "the card's memory is full or failed")
        case .incorrectData: (.unsupported, "the card does not take this data")
        case .secureMessagingNotSupported, 0x6987, 0x6988: (.unsupported, "the card needs secure messaging")
        case _ where status.isUnknownFunction: (.unsupported, "the card does not support that")
        default: (.malformed, "the card answered with an error")
        }
    }

    /// The error of a PIN or unblocking key that the card has found wrong.
    static func incorrect(_ status: StatusWord, _ kind: PINKind) -> TokenError {
        let left = PINKind.remark(triesLeft: status.triesLeft)
        return TokenError(.pinIncorrect, "wrong \(kind.name)\(left)", triesLeft: status.triesLeft, status: status)
    }
}
