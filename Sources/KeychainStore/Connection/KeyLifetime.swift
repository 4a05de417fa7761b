package import KeychainModel

/// How long an unlocked keychain stays unlocked.
package struct KeyLifetime: Sendable {
    private(set) var settings: KeychainSettings
    /// The time at which the lifetime ends even if the key is in use, in milliseconds of uptime; nil for never.
    private(set) var end: Int64?

    private var beginning: Uptime
    private var lastUse: Uptime

    init(_ settings: KeychainSettings, from beginning: Uptime) {
        self.settings = settings
        self.beginning = beginning
        lastUse = beginning
    }

    mutating func use(at now: Uptime) { lastUse = now }

    /// New settings restart the timers.
    package mutating func change(_ settings: KeychainSettings, at now: Uptime) {
        self.settings = settings
        (beginning, lastUse) = (now, now)
    }

    func isOver(at now: Uptime) -> Bool {
        if settings.locksOnSleep, now.hasSlept(since: beginning) { return true }
        return remaining(at: now).map { $0 <= 0 } ?? false
    }

    /// Ends the lifetime after a time even if the key is in use. An earlier end stays.
    mutating func limit(toSeconds seconds: UInt32, from now: Uptime) {
        end = min(end ?? .max, now.total + Int64(seconds) * 1000)
    }

    /// The time until the key is dropped if it stays unused, in milliseconds; nil without a limit.
    func remaining(at now: Uptime) -> Int64? {
        let unused = interval.map { lastUse.total + $0 - now.total }
        return [unused, end.map { $0 - now.total }].compactMap { $0 }.min()
    }

    /// The time until an unused key is checked again, in milliseconds; the maximum for never.
    package func nextCheck(at now: Uptime) -> Int64 { remaining(at: now).map { max($0, 1) } ?? .max }

    private var interval: Int64? { settings.lockInterval.map { Int64($0) * 1000 } }
}
