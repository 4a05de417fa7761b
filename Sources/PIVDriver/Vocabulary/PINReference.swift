/// The key reference of a PIN. SP 800-73-5 part 1 table 4a.
enum PINReference: UInt8, Hashable, Sendable {
    /// The PIN of the whole card.
    case global = 0x00
    /// The PIN of the PIV application.
    case application = 0x80
    /// The PIN unblocking key.
    case unblocking = 0x81

    /// What people call it.
    var noun: String { self == .unblocking ? "PUK" : "PIN" }
}
