internal import Synchronization

/// A call's wait for a card that another program holds: since when it lasts, and whether anybody still wants the card.
public struct CardWait: Sendable {
    /// Since when. What a call waited behind others of this program, which waited for the same, counts.
    public let start: ContinuousClock.Instant

    private let end: End?

    /// - Parameter end: what ends it before its time.
    public init(since start: ContinuousClock.Instant = .now, until end: End? = nil) {
        (self.start, self.end) = (start, end)
    }

    /// Whether nobody wants the card any more.
    public var isCalledOff: Bool { end?.hasCome ?? false }

    /// How much of a bound is left.
    func rest(of patience: Duration) -> Duration { max(ContinuousClock.now.duration(to: start + patience), .zero) }

    /// The end of any number of waits, for good.
    public final class End: Sendable {
        private let isHere = Atomic(false)

        public init() {}

        public func come() { isHere.store(true, ordering: .releasing) }

        var hasCome: Bool { isHere.load(ordering: .acquiring) }
    }
}
