internal import Synchronization

/// The touch sensor of a virtual card.
final class TouchSensor: Sendable {
    /// The time that a card waits for a touch, and that a touch counts for: 15 seconds.
    static let patience = Duration.seconds(15)

    private static let interval = Duration.milliseconds(20)

    fileprivate struct State {
        var touched: Duration?
        var isWaiting = false
        var isInterrupted = false
    }

    private let state = Mutex(State())
    private let clock: any CardClock

    init(clock: any CardClock) {
        self.clock = clock
    }

    /// Whether the card waits for a touch.
    var isWaiting: Bool { state.withLock { $0.isWaiting } }

    func touch() {
        let now = clock.now
        state.withLock { $0.touched = now }
    }

    /// Ends a wait that is under way, without a touch.
    func interrupt() {
        state.withLock { $0.isInterrupted = $0.isWaiting }
    }

    /// Waits for a touch and uses it up. A touch of the last 15 seconds counts.
    ///
    /// - Returns: whether there was a touch in time.
    func awaitTouch() -> Bool {
        let deadline = clock.now + TouchSensor.patience
        defer {
            state.withLock {
                $0.isWaiting = false
                $0.isInterrupted = false
            }
        }
        while true {
            let now = clock.now
            if let outcome = state.withLock({ $0.poll(now: now, deadline: deadline) }) { return outcome }
            clock.sleep(for: TouchSensor.interval)
        }
    }
}

extension TouchSensor.State {
    /// The outcome of the wait: true for a touch, false for its end without one; nil while it goes on.
    fileprivate mutating func poll(now: Duration, deadline: Duration) -> Bool? {
        isWaiting = true
        guard !isInterrupted, now < deadline else { return false }
        guard let touched, touched + TouchSensor.patience > now else { return nil }
        self.touched = nil
        return true
    }
}
