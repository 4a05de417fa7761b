internal import Synchronization

/// A call's wait for a card that another program holds: its beginning, and whether it was cancelled.
public struct CardWait: Sendable {
    /// The time at which the wait began. Time in this program's own queue counts.
    public let start: ContinuousClock.Instant

    private let cancellation: Cancellation?

    /// - Parameter cancellation: ends the wait early.
    public init(since start: ContinuousClock.Instant = .now, unless cancellation: Cancellation? = nil) {
        (self.start, self.cancellation) = (start, cancellation)
    }

    /// Whether the wait was cancelled.
    public var isCancelled: Bool { cancellation?.isCancelled ?? false }

    /// The remaining time of a limit that runs since the wait began.
    func rest(of patience: Duration) -> Duration { max(ContinuousClock.now.duration(to: start + patience), .zero) }

    /// Cancels any number of waits, permanently.
    public final class Cancellation: Sendable {
        private let state = Atomic(false)

        public init() {}

        public func cancel() { state.store(true, ordering: .releasing) }

        var isCancelled: Bool { state.load(ordering: .acquiring) }
    }
}
