internal import Synchronization

/// A call's wait for a card that another program holds: its beginning, and whether it was cancelled.
public struct CardWait: Sendable {
    /// Since when. What a call waited behind others of this program, which waited for the same, counts.
    public let start: ContinuousClock.Instant

    private let cancellation: Cancellation?

    /// - Parameter cancellation: ends it before its time.
    public init(since start: ContinuousClock.Instant = .now, unless cancellation: Cancellation? = nil) {
        (self.start, self.cancellation) = (start, cancellation)
    }

    /// Whether the wait was cancelled.
    public var isCancelled: Bool { cancellation?.isCancelled ?? false }

    /// How much of a bound is left.
    func rest(of patience: Duration) -> Duration { max(ContinuousClock.now.duration(to: start + patience), .zero) }

    /// Cancels any number of waits, permanently.
    public final class Cancellation: Sendable {
        private let state = Atomic(false)

        public init() {}

        public func cancel() { state.store(true, ordering: .releasing) }

        var isCancelled: Bool { state.load(ordering: .acquiring) }
    }
}
