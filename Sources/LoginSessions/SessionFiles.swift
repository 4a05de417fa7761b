internal import CSystemd

/// The files in which logind has the state of sessions. Wraps sd_login_monitor(3).
///
/// They also show that a session is closing, for which logind sends no signal: as long as a program of the session runs, it is not removed.
@safe
struct SessionFiles: ~Copyable {
    private let systemd: UnsafePointer<csystemd>
    private let monitor: OpaquePointer?

    init(_ systemd: UnsafePointer<csystemd>) {
        var monitor: OpaquePointer?
        _ = unsafe systemd.pointee.login_monitor_new("session", &monitor)
        unsafe (self.systemd, self.monitor) = (systemd, monitor)
    }

    deinit { if let monitor = unsafe monitor { _ = unsafe systemd.pointee.login_monitor_unref(monitor) } }

    /// Readable after a change, until ``flush()``; negative without logind.
    var descriptor: Int32 {
        guard let monitor = unsafe monitor else { return -1 }
        return unsafe systemd.pointee.login_monitor_get_fd(monitor)
    }

    func flush() {
        if let monitor = unsafe monitor { _ = unsafe systemd.pointee.login_monitor_flush(monitor) }
    }
}
