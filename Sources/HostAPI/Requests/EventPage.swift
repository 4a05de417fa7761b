public import KeychainModel

/// The events that a subscription is about.
public enum EventTopic: UInt8, Sendable, CaseIterable {
    /// Keychains in files, the settings that choose them, and cards.
    case keychains = 1
    /// Readers, the cards in them, and the card service. The first events report the readers that are there, and their cards.
    case readers = 2
}

extension KeychainService {
    /// The events of keychains after a position.
    public func events(
        after position: EventPosition?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> EventPage {
        try events(of: .keychains, after: position, waiting: patience, context)
    }
}

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
