package import KeychainModel

/// How long an unlocked keychain stays unlocked.
package struct KeyLifetime: Sendable {
    private(set) var settings: KeychainSettings
    /// Whether the login session's keyring has the key; the keyring then drops it in time, for all processes.
    package var isShared = false
    /// The time at which the lifetime ends even if the key is in use, in milliseconds of uptime; nil for never.
    var end: Int64?

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

    /// The time until the key is dropped if it stays unused, in milliseconds; nil without a limit.
    func remaining(at now: Uptime) -> Int64? {
        let unused = isShared ? nil : interval.map { lastUse.total + $0 - now.total }
        return [unused, end.map { $0 - now.total }].compactMap { $0 }.min()
    }

    /// The seconds for which the login session keeps the key after a use now; at least 1.
    func secondsInSession(at now: Uptime) -> UInt32 {
        guard let limit = [interval, end.map { $0 - now.total }].compactMap({ $0 }).min() else { return .max }
        return UInt32(clamping: max((limit - 1) / 1000 + 1, 1))
    }

    /// Whether to extend the session's time for the key: it counts from the last use, which was 500 ms ago or more.
    func isRenewalDue(at now: Uptime) -> Bool { isShared && interval != nil && now.total - lastUse.total >= 500 }

    /// The time until an unused key is checked again, in milliseconds; the maximum for never.
    package func nextCheck(at now: Uptime) -> Int64 {
        let limits = [remaining(at: now), isShared ? interval : nil].compactMap { $0 }
        return limits.min().map { max($0, 1) } ?? .max
    }

    private var interval: Int64? { settings.lockInterval.map { Int64($0) * 1000 } }
}
