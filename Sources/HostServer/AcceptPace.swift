/// Limits how many connections are accepted over time. Those of a flood would keep a processor busy, of which the host's clients would
/// be short.
struct AcceptPace {
    /// When the connections so far would all have come, had they come at the pace.
    private var due: ContinuousClock.Instant

    private static let interval: Duration = .milliseconds(1)
    /// Connections that may come at once, as when a session starts.
    static let burst = 256

    init(_ now: ContinuousClock.Instant = .now) { due = now }

    mutating func take(_ now: ContinuousClock.Instant = .now) { due = max(due, now) + AcceptPace.interval }

    /// Milliseconds until further connections are accepted; 0 for now. Several are, after a pause, for each of which the host would
    /// have to wake up otherwise.
    func pause(_ now: ContinuousClock.Instant = .now) -> Int32 {
        due - AcceptPace.interval * AcceptPace.burst < now ? 0 : 10
    }
}
