internal import CSystemd
internal import Glibc
internal import Platform

/// Tells of the ends of a user's presence, according to systemd-logind: a locked screen, the sleep of the machine, a logout.
///
/// The machine does not sleep before the event was handled, for as long as logind waits (`InhibitDelayMaxSec`, logind.conf(5)). Without
/// libsystemd, the system's bus or logind there are no events.
package enum LoginWatch {
    /// The system's bus. It is not taken from the environment, which a program that starts the host could set.
    package static let systemBus = "unix:path=/run/dbus/system_bus_socket"

    /// The longest time until a lost bus is looked for again, in milliseconds.
    private static let longestPause: Int32 = 600_000

    /// Starts to watch, on a thread of its own.
    ///
    /// - Parameters:
    ///   - bus: the address of the bus that logind is on.
    ///   - user: the user whose sessions count.
    ///   - firstPause: the milliseconds until a lost bus is looked for again. They double with each attempt, up to ten minutes.
    ///   - end: a descriptor that ends the watch once it is readable; negative for none.
    ///   - tell: called for each event, on the thread of the watch.
    package static func start(
        bus address: String = systemBus, user: UInt32 = geteuid(), firstPause: Int32 = 1_000, end: Int32 = -1,
        _ tell: @escaping @Sendable (LoginEvent) -> Void
    ) {
        BlockingThread.start { watch(address, user, firstPause, end, tell) }
    }

    private static func watch(
        _ address: String, _ user: UInt32, _ firstPause: Int32, _ end: Int32, _ tell: @escaping (LoginEvent) -> Void
    ) {
        guard let systemd = unsafe csystemd_load() else { return }
        var sessions = UserSessions()
        var pause = firstPause
        while true {
            let start = ContinuousClock.now
            if let bus = try? unsafe MessageBus.connect(to: address, systemd) {
                let logind = unsafe Logind(bus, systemd, user: user, sessions, tell)
                if logind.watch(until: end) { return }
                sessions = logind.sessions
            }
            // A bus that ends each connection at once is not asked more and more often.
            if start.duration(to: .now) > .seconds(60) { pause = firstPause }
            if isReadable(end, within: pause) { return }
            pause = min(pause * 2, longestPause)
        }
    }

    private static func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&waiting, 1, milliseconds) > 0
    }
}
