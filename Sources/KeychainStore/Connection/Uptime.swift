internal import Glibc

/// The time that the machine has been running, by clocks that cannot be set.
package struct Uptime: Sendable, Hashable {
    /// Milliseconds since it was started, sleep included.
    package let total: Int64
    /// The part of it that the machine slept.
    let asleep: Int64

    /// A shorter sleep, in milliseconds, is taken for the time between the readings of the two clocks.
    private static let tolerance: Int64 = 100

    func hasSlept(since earlier: Uptime) -> Bool { asleep - earlier.asleep > Self.tolerance }

    /// Wraps `clock_gettime`.
    @Sendable package static func now() -> Uptime {
        var before = milliseconds(CLOCK_MONOTONIC)
        var total = milliseconds(CLOCK_BOOTTIME)
        // A process that is paused between the two clocks would count the pause as sleep, so the reading is repeated.
        for _ in 0..<10 where milliseconds(CLOCK_MONOTONIC) - before > Self.tolerance / 10 {
            before = milliseconds(CLOCK_MONOTONIC)
            total = milliseconds(CLOCK_BOOTTIME)
        }
        return Uptime(total: total, asleep: total - before)
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
