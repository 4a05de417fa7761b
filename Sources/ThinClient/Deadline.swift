internal import CThinClient

/// The end of a call's wait for the host. All waits of a call share it, so that neither failures nor waits that a signal
/// interrupts add up.
struct Deadline {
    /// Seconds that the rest of a message gets at least, once the message has begun.
    private static let rest: Int64 = 4

    /// The deadline by the monotonic clock, in milliseconds.
    private(set) var time = tokenkit_now() + Int64(tokenkit_patience) * 1000

    var remaining: Int64 { time - tokenkit_now() }

    /// The time by which a connection must exist: 10 s before the deadline, twice the interval of the host's signs of life.
    var forConnection: Deadline {
        var earlier = self
        earlier.time -= 10_000
        return earlier
    }

    /// The deadline after half of the remaining time, so that the other half is left for another attempt.
    var half: Deadline {
        var half = self
        half.time = tokenkit_now() + max(remaining, 0) / 2
        return half
    }

    /// Restarts the wait, since the host has sent something.
    mutating func renew() { self = Deadline() }

    /// Leaves time for the rest of a message that has begun.
    mutating func extendForRest() { time = max(time, tokenkit_now() + Deadline.rest * 1000) }
}
