public import KeychainModel

/// A position in the events of a subscription.
public struct EventPosition: Sendable, Hashable {
    package let subscription: UInt64
    package let number: UInt64

    package init(subscription: UInt64, number: UInt64) {
        self.subscription = subscription
        self.number = number
    }
}

/// Events that happened after a position.
public struct EventPage: Sendable, Hashable {
    /// The events, oldest first.
    public let events: [KeychainEvent]
    /// The position after these events. A subscription without a request for a minute ends once the client begins another.
    public let next: EventPosition
    /// Whether events after the position are missing, since too many waited: what the client knows of the keychains may
    /// be out of date.
    public let isIncomplete: Bool

    public init(_ events: [KeychainEvent], next: EventPosition, isIncomplete: Bool = false) {
        self.events = events
        self.next = next
        self.isIncomplete = isIncomplete
    }
}
