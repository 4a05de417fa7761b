internal import Glibc

/// Notifies watchers of a keychain through its WAL file, which SQLite neither locks nor watches.
///
/// A listener holds a shared lock of the file; closing it after it was opened for writing wakes the listeners. inotify(7), flock(2).
package struct ChangeNotifier: Sendable {
    /// The WAL file, which exists while the keychain is open.
    package let log: String

    /// - Parameter path: the keychain's, without symbolic links.
    package init(of path: String) { log = path + "-wal" }

    /// Wakes the listeners.
    ///
    /// SQLite's own writes come too early to serve as the signal: other processes cannot read the change yet. A new
    /// modification time does not serve either: it can double the time of the next flush.
    package func notify() {
        let file = open(O_WRONLY)
        if file >= 0 { close(file) }
    }

    /// Whether there may be a listener; true as well where that cannot be found out.
    package var hasListeners: Bool {
        let file = open(O_RDONLY)
        guard file >= 0 else { return true }
        defer { close(file) }
        return flock(file, LOCK_EX | LOCK_NB) != 0
    }

    /// A descriptor that listens until it is closed; negative where that is not possible.
    package func listen() -> Int32 {
        let file = open(O_RDONLY)
        if file >= 0 { _ = flock(file, LOCK_SH) }
        return file
    }

    private func open(_ access: Int32) -> Int32 {
        unsafe Glibc.open(log, access | O_NOFOLLOW | O_CLOEXEC)
    }
}
