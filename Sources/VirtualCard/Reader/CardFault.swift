public import TokenKit

/// A fault between a client and a virtual card.
public enum CardFault: Sendable, Hashable {
    /// The card's answer takes that much longer.
    case delay(Duration)
    /// The card executes the command; its answer is lost.
    case drop
    /// Another client resets the card before the command reaches it.
    case reset
    /// The card is taken out before the command reaches it.
    case remove
    /// The card answers with this status and does nothing.
    case status(StatusWord)
    /// Only the first bytes of the answer arrive, status word included.
    case truncate(to: Int)
    /// The answer is filled up with zeros to that many bytes, before the status word.
    case oversize(to: Int)
}

/// The outcome of one command to the card.
enum CardExchange: Equatable {
    case answer([UInt8])
    case noAnswer
    case reset
    case removed
}
