internal import CLinux
internal import Glibc

/// Notices that something happened to files. Wraps `inotify`.
final class FileWatcher: Sendable {
    /// Can be read once something happened; negative where the system has no more of them.
    let descriptor: Int32

    /// How long whoever waits for it may wait, in milliseconds: without a descriptor there is nothing but to look again.
    var longestWait: Int32 { descriptor < 0 ? 1000 : -1 }

    init() {
        descriptor = clinux_watcher()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Watches a file's times and its end. What is watched already, or is not there, changes nothing.
    func watch(file path: String) { _ = unsafe clinux_watch_file(descriptor, path) }

    /// Watches for who has written to a file and is done. What is watched already, or is not there, changes nothing.
    func watch(writingTo path: String) { _ = unsafe clinux_watch_writing(descriptor, path) }

    /// Watches the names in a folder, and whether its files are written.
    ///
    /// - Returns: the watch, to end it with; negative where there is no such folder.
    @discardableResult
    func watch(folder path: String) -> Int32 { unsafe clinux_watch_folder(descriptor, path) }

    /// Ends a watch. Wraps `inotify_rm_watch`.
    func end(_ watch: Int32) { _ = clinux_unwatch(descriptor, watch) }

    /// Forgets what happened so far. What it was does not matter: whoever is woken looks at everything.
    func clear() {
        var events = [UInt8](repeating: 0, count: 4096)
        while unsafe read(descriptor, &events, events.count) > 0 {}
    }
}
