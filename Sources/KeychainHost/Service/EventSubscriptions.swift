internal import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform
internal import Synchronization

/// The subscriptions to events of one client.
final class EventSubscriptions: Sendable {
    private struct State {
        /// Begins anywhere, so that a position of a host that has ended is of no subscription here.
        var lastNumber = UInt64.random(in: 0...UInt64.max / 2)
        var subscriptions: [UInt64: EventSubscription] = [:]
    }

    /// The most subscriptions that a client may have at one time.
    static let maximumCount = 16

    private let state = Mutex(State())
    private let source: @Sendable (EventTopic) -> any EventSource

    /// - Parameter source: makes the source of a subscription's events.
    init(_ source: @escaping @Sendable (EventTopic) -> any EventSource) {
        self.source = source
    }

    deinit {
        for subscription in state.withLock({ Array($0.subscriptions.values) }) { subscription.end() }
    }

    /// The subscription of a position, or a new one.
    ///
    /// - Throws: `errSecParam` for one that has ended; `errSecAllocate` where there are too many, or no thread for it.
    func subscription(
        to topic: EventTopic, at position: EventPosition?
    ) throws(KeychainError) -> (number: UInt64, EventSubscription) {
        if let position {
            guard let subscription = state.withLock({ $0.subscriptions[position.subscription] }) else { throw .ended }
            return (position.subscription, subscription)
        }
        for ended in endIdle() { ended.end() }
        let subscription = EventSubscription(source(topic))
        let number = try state.withLock { state throws(KeychainError) in
            guard state.subscriptions.count < EventSubscriptions.maximumCount else {
                throw KeychainError(.allocate, "there are too many subscriptions to events")
            }
            state.lastNumber += 1
            state.subscriptions[state.lastNumber] = subscription
            return state.lastNumber
        }
        guard subscription.start() else {
            _ = state.withLock { $0.subscriptions.removeValue(forKey: number) }
            throw KeychainError(.allocate, "there is no thread to wait for events on")
        }
        return (number, subscription)
    }

    func end(at position: EventPosition) {
        state.withLock { $0.subscriptions.removeValue(forKey: position.subscription) }?.end()
    }

    private func endIdle() -> [EventSubscription] {
        state.withLock { state in
            let idle = state.subscriptions.filter(\.value.isIdle)
            for number in idle.keys { state.subscriptions[number] = nil }
            return Array(idle.values)
        }
    }
}

/// Events that wait to be fetched.
final class EventSubscription: Sendable {
    private struct State {
        /// The number of events that no longer wait: they were fetched, or there were too many.
        var firstNumber: UInt64 = 0
        var events: [KeychainEvent] = []
        var lastUse = ContinuousClock.now
        var useCount = 0
        var isEnded = false
    }

    typealias Page = (events: [KeychainEvent], next: UInt64, isIncomplete: Bool)

    /// The most events that wait; older ones are dropped.
    static let maximumCount = 1000
    private static let longestIdleTime = Duration.seconds(60)

    private let state = Mutex(State())
    private let signal = Signal()
    private let source: any EventSource

    init(_ source: any EventSource) {
        self.source = source
    }

    func start() -> Bool {
        BlockingThread.start { [weak self, source] in source.run { event in self?.put(event) } }
    }

    /// Ends the watch, and the request that waits for events.
    func end() {
        source.cancel()
        state.withLock { $0.isEnded = true }
        signal.send()
    }

    /// Whether no events have been fetched for more than a minute.
    var isIdle: Bool {
        state.withLock { $0.useCount == 0 && $0.lastUse.duration(to: .now) > EventSubscription.longestIdleTime }
    }

    func put(_ event: KeychainEvent) {
        state.withLock { state in
            if state.events.count == EventSubscription.maximumCount {
                state.events.removeFirst()
                state.firstNumber += 1
            }
            state.events.append(event)
        }
        signal.send()
    }

    /// The events after a number. Waits for them until the time is over or the request ends, and drops those before the number.
    ///
    /// - Throws: `errSecParam` once the subscription has ended; as ``RequestTicket/check()`` does.
    func page(
        after number: UInt64, waiting patience: Duration, _ ticket: RequestTicket
    ) throws(KeychainError) -> Page {
        state.withLock { $0.useCount += 1 }
        defer {
            state.withLock { state in
                state.useCount -= 1
                state.lastUse = .now
            }
        }
        let end = ContinuousClock.now + patience
        while true {
            let page = try take(after: number)
            let rest = ticket.limited(ContinuousClock.now.duration(to: end))
            if !page.events.isEmpty || rest <= .zero { return page }
            _ = ticket.signal.wait(
                orFor: [signal.descriptor], atMost: Int32(clamping: Int64(rest / .milliseconds(1)) + 1))
            _ = signal.wait(orFor: [], atMost: 0)
            try ticket.check()
        }
    }

    private func take(after number: UInt64) throws(KeychainError) -> Page {
        try state.withLock { state throws(KeychainError) in
            guard !state.isEnded else { throw .ended }
            let isIncomplete = number < state.firstNumber
            let known = number > state.firstNumber ? Int(clamping: number - state.firstNumber) : 0
            let dropped = min(known, state.events.count)
            state.events.removeFirst(dropped)
            state.firstNumber += UInt64(dropped)
            return (state.events, state.firstNumber + UInt64(state.events.count), isIncomplete)
        }
    }
}

extension KeychainError {
    fileprivate static var ended: KeychainError {
        KeychainError(.param, "the subscription to events has ended", remedy: "begin a new one")
    }
}
