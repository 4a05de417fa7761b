/// The form in which a reader with keys of its own puts a PIN into a command: as ASCII digits, from the left of a block of
/// padding.
public struct PINEntry: Hashable, Sendable {
    /// The number of digits that the PIN may have.
    public let digits: ClosedRange<UInt8>

    /// The command's data before any digit is filled in.
    public let block: [UInt8]

    public init(digits: ClosedRange<UInt8>, block: [UInt8]) {
        self.digits = digits
        self.block = block
    }
}

/// The status words with which a reader answers in the card's place when it has sent nothing. PC/SC part 10 §2.5.2.
extension StatusWord {
    /// No PIN was typed in time.
    public static let pinEntryTimedOut: StatusWord = 0x6400
    /// The person pressed the cancel key.
    public static let pinEntryCancelled: StatusWord = 0x6401
    /// The PIN had too few or too many digits.
    public static let pinEntryWrongLength: StatusWord = 0x6403
}
