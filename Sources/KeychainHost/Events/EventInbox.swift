internal import KeychainModel
internal import Synchronization

/// Events that other threads of the process bring to a watch.
final class EventInbox: Sendable {
    /// Wakes the thread that waits for events.
    let signal = Signal()
    private let events = Mutex<[KeychainEvent]>([])

    func put(_ event: KeychainEvent) {
        events.withLock { $0.append(event) }
        signal.send()
    }

    func take() -> [KeychainEvent] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    // MARK: Every watch of the process

    private static let inboxes = Mutex<[ObjectIdentifier: EventInbox]>([:])

    func open() { Self.inboxes.withLock { $0[ObjectIdentifier(self)] = self } }

    func close() { Self.inboxes.withLock { $0[ObjectIdentifier(self)] = nil } }

    /// Gives every watch of this process an event that no file shows.
    static func post(_ event: KeychainEvent) {
        for inbox in inboxes.withLock({ Array($0.values) }) { inbox.put(event) }
    }
}
