package import HostAPI
package import KeychainModel
internal import Localization
internal import Platform
internal import Synchronization

/// A subscription to the host's events, which are reported one after the other on a thread of its own.
package final class EventListener: Sendable {
    private let host: any KeychainService
    private let first: EventPage
    /// The place in the subscription; nil once the listener is cancelled.
    private let position: Mutex<EventPosition?>

    /// The longest wait of one request.
    private static let patience = Duration.seconds(600)

    /// Subscribes to events. Those that happen from now on are reported once the listener is started.
    ///
    /// - Throws: `errSecAllocate` where the host has too many subscriptions.
    package init(_ host: any KeychainService) throws(KeychainError) {
        self.host = host
        first = try host.events(after: nil, waiting: .zero, RequestContext(questions: .never))
        position = Mutex(first.next)
    }

    /// Starts to report events. The cards that are inserted already come first.
    ///
    /// - Parameter catchUp: called after events were lost, since too many waited.
    /// - Throws: `errSecAllocate` where there is no thread to report them on.
    package func start(
        catchingUp catchUp: @escaping @Sendable () -> Void = {}, _ report: @escaping @Sendable (KeychainEvent) -> Void
    ) throws(KeychainError) {
        guard BlockingThread.start({ self.run(catchUp, report) }) else {
            cancel()
            throw KeychainError(.allocate, "there is no thread to report events on")
        }
    }

    /// Ends the reports. One that is under way may still finish.
    package func cancel() {
        let last = position.withLock { position in
            defer { position = nil }
            return position
        }
        if let last { end(at: last) }
    }

    private func end(at position: EventPosition) {
        try? host.endEvents(at: position, RequestContext(questions: .never))
    }

    private func run(_ catchUp: () -> Void, _ report: (KeychainEvent) -> Void) {
        var page = first
        while true {
            for event in page.events where position.withLock({ $0 != nil }) { report(event) }
            guard let next = next(after: page) else { return }
            page = next
            guard move(to: page.next) else { return end(at: page.next) }
            if page.isIncomplete { catchUp() }
        }
    }

    /// - Returns: nil where the listener is cancelled, or the host no longer answers.
    private func next(after page: EventPage) -> EventPage? {
        let context = RequestContext(questions: .never)
        if let next = try? host.events(after: page.next, waiting: EventListener.patience, context) { return next }
        guard position.withLock({ $0 != nil }) else { return nil }
        // Another subscription of the process ended this one while an event was reported for a minute.
        return (try? host.events(after: nil, waiting: .zero, context)).map { renewed in
            EventPage(renewed.events, next: renewed.next, isIncomplete: true)
        }
    }

    /// - Returns: false where the listener is cancelled.
    private func move(to next: EventPosition) -> Bool {
        position.withLock { position in
            guard position != nil else { return false }
            position = next
            return true
        }
    }
}
