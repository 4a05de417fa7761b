internal import Glibc

/// How whoever changes a keychain and those who watch it know of each other: by its log, which SQLite neither locks nor
/// watches. Who opens it for writing and closes it wakes the others; who shares a lock of it listens. inotify(7), flock(2).
struct Bell {
    /// Where SQLite writes what it brings to the file later; there while the keychain is open.
    let log: String

    /// - Parameter path: the keychain's, without symbolic links.
    init(of path: String) { log = path + "-wal" }

    /// What SQLite itself writes comes before others can read it, and so too early to be told by; and to give the file another
    /// time can double the time of the next flush.
    func ring() {
        let file = open(O_WRONLY)
        if file >= 0 { close(file) }
    }

    /// Whether anybody listens. It may be true though nobody does.
    var isHeard: Bool {
        let file = open(O_RDONLY)
        guard file >= 0 else { return true }
        defer { close(file) }
        return flock(file, LOCK_EX | LOCK_NB) != 0
    }

    /// Listens until the descriptor is closed; negative where that is not possible.
    func listen() -> Int32 {
        let file = open(O_RDONLY)
        if file >= 0 { _ = flock(file, LOCK_SH) }
        return file
    }

    private func open(_ access: Int32) -> Int32 {
        unsafe Glibc.open(log, access | O_NOFOLLOW | O_CLOEXEC)
    }
}
