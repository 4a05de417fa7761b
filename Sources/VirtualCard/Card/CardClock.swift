internal import Glibc
internal import Synchronization

/// The time as a virtual card sees it.
public protocol CardClock: Sendable {
    /// Time since some moment in the past.
    var now: Duration { get }

    /// Returns when `duration` has passed.
    func sleep(for duration: Duration)
}

/// The time of the system.
public struct SystemClock: CardClock {
    public init() {}

    public var now: Duration {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    public func sleep(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var left = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        var request: timespec
        repeat { request = left } while unsafe nanosleep(&request, &left) != 0 && errno == EINTR
    }
}

/// A time that passes only by sleeping, and then at once.
public final class SimulatedClock: CardClock {
    private let time = Mutex(Duration.zero)

    public init() {}

    public var now: Duration { time.withLock { $0 } }

    public func sleep(for duration: Duration) {
        time.withLock { $0 += duration }
    }
}
