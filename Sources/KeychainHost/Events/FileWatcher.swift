internal import CLinux
internal import Glibc

/// Notices that something happened to files. Wraps `inotify`.
final class FileWatcher: Sendable {
    /// Can be read once something happened; negative where the system has no more of them.
    let descriptor: Int32

    /// The longest wait of a reader of the descriptor, in milliseconds. Without a descriptor the files have to be
    /// looked at again.
    var longestWait: Int32 { descriptor < 0 ? 1000 : -1 }

    init() {
        descriptor = clinux_watcher()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Watches a file's times and its end. A file that is watched already, or absent, changes nothing.
    func watch(file path: String) { _ = unsafe clinux_watch_file(descriptor, path) }

    /// Watches for the end of a write to a file. A file that is watched already, or absent, changes nothing.
    func watch(writingTo path: String) { _ = unsafe clinux_watch_writing(descriptor, path) }

    /// Watches the names in a folder, and whether its files are written.
    ///
    /// - Returns: the watch, to end it with; negative where there is no such folder.
    @discardableResult
    func watch(folder path: String) -> Int32 { unsafe clinux_watch_folder(descriptor, path) }

    /// Ends a watch. Wraps `inotify_rm_watch`.
    func end(_ watch: Int32) { _ = clinux_unwatch(descriptor, watch) }

    /// Discards the pending events: a reader looks at everything in any case.
    func clear() {
        var events = [UInt8](repeating: 0, count: 4096)
        while unsafe read(descriptor, &events, events.count) > 0 {}
    }
}
