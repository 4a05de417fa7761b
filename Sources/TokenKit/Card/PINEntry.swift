/// How a reader with keys of its own asks for a PIN and puts it into a command: as ASCII digits, from the left of a block of
/// padding.
public struct PINEntry: Hashable, Sendable {
    /// How many digits it may have.
    public let digits: ClosedRange<UInt8>

    /// The command's data as it is before a digit is put in.
    public let block: [UInt8]

    public init(digits: ClosedRange<UInt8>, block: [UInt8]) {
        self.digits = digits
        self.block = block
    }
}

/// What a reader answers in a card's place, where it sent nothing. PC/SC part 10 §2.5.2.
extension StatusWord {
    /// Nobody typed a PIN in time.
    public static let pinEntryTimedOut: StatusWord = 0x6400
    /// Whoever was to type the PIN pressed the key that cancels.
    public static let pinEntryCancelled: StatusWord = 0x6401
    /// The PIN had too few or too many digits.
    public static let pinEntryWrongLength: StatusWord = 0x6403
}
