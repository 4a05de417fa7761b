/// Limits how many connections are accepted over time. A flood of them would take processor time from the host's clients.
struct AcceptPace {
    /// The time at which the last connection would have come at the permitted pace.
    private var due: ContinuousClock.Instant

    private static let interval: Duration = .milliseconds(1)
    /// Connections that may come at once, as when a session starts.
    static let burst = 256

    init(_ now: ContinuousClock.Instant = .now) { due = now }

    mutating func take(_ now: ContinuousClock.Instant = .now) { due = max(due, now) + AcceptPace.interval }

    /// The pause before further connections are accepted, in milliseconds; 0 for none. After a pause several are
    /// accepted together, so that the host wakes up once for them.
    func pause(_ now: ContinuousClock.Instant = .now) -> Int32 {
        due - AcceptPace.interval * AcceptPace.burst < now ? 0 : 10
    }
}
