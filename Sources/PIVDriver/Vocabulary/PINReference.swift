internal import TokenKit

/// The key reference of a PIN. SP 800-73-5 part 1 table 4a.
enum PINReference: UInt8, Hashable, Sendable {
    /// The PIN of the whole card.
    case global = 0x00
    /// The PIN of the PIV application.
    case application = 0x80
    /// The PIN unblocking key.
    case unblocking = 0x81

    /// The kind of the secret: a cardholder knows one PIN, that of the card or that of the application.
    var kind: PINKind { self == .unblocking ? .unblockingKey : .pin }
}
