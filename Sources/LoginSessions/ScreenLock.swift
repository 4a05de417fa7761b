internal import CSystemd
internal import Synchronization

/// Whether the screen of the user's login session is locked, according to systemd-logind. Without logind it never is.
///
/// The screen locker tells logind. org.freedesktop.login1(5), `LockedHint`
package enum ScreenLock {
    /// The microseconds that a program waits for logind.
    private static let patience: UInt64 = 1_000_000

    /// The last answer, which counts for a second.
    private static let known = Mutex<(isLocked: Bool, at: ContinuousClock.Instant)?>(nil)

    @Sendable package static func isLocked() -> Bool {
        known.withLock { known in
            if let known, known.at.duration(to: .now) < .seconds(1) { return known.isLocked }
            let isLocked = isLocked(bus: LoginWatch.systemBus) ?? false
            known = (isLocked, .now)
            return isLocked
        }
    }

    /// - Parameter address: the address of the bus that logind is on.
    /// - Returns: nil without an answer.
    static func isLocked(bus address: String) -> Bool? {
        guard let systemd = unsafe csystemd_load(), let bus = try? unsafe MessageBus.connect(to: address, systemd)
        else { return nil }
        // logind has the session of a program that runs in none, as the user's services, under this name too.
        var isLocked: Bool?
        do throws(BusError) {
            let answer = try bus.call(
                "Get", of: Logind.properties, at: "/org/freedesktop/login1/session/auto", on: Logind.name,
                [Logind.session, "LockedHint"], patience: patience)
            try answer.inside(.variant, "b") { value throws(BusError) in isLocked = try value.flag() }
        } catch {}
        return isLocked
    }
}
