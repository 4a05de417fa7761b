internal import CLinux
internal import Glibc

/// Notices changes to files. Wraps `inotify`.
final class FileWatcher: Sendable {
    /// Readable once something has changed; negative where the system has no more descriptors.
    let descriptor: Int32

    /// The longest wait of a reader of the descriptor, in milliseconds. Without a descriptor the files have to be polled.
    var longestWait: Int32 { descriptor < 0 ? 1000 : -1 }

    init() {
        descriptor = clinux_watcher()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Watches a file's attributes, and its deletion and renaming. A file that is watched already, or absent, changes nothing.
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
