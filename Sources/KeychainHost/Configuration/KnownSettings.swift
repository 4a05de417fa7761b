internal import Glibc
internal import KeychainModel
internal import KeychainStore
internal import Platform
internal import Settings
internal import Synchronization

/// The settings files, and the folder of the keychains, as they were last read. They are read, and the folders on the way to settings are
/// examined, once they have changed: a search would spend half of its time on that.
final class KnownSettings: Sendable {
    private let texts = Mutex<[String: (version: FileVersion, text: PreferencesText)]>([:])
    private let names = Mutex<[String: (version: FileVersion, names: [String])]>([:])

    /// - Returns: nil where there is no file.
    /// - Throws: as ``PreferencesFile/read()`` does.
    func text(of file: PreferencesFile<PreferencesText>) throws(KeychainError) -> PreferencesText? {
        let version: FileVersion
        switch FileVersion.look(at: file.path) {
        case .absent: return nil
        case .unknown: return try file.read()
        case .file(let found): version = found
        }
        if let known = texts.withLock({ $0[file.path] }), known.version == version { return known.text }
        let text = try file.read()
        if let text, version.isSettled(at: file.path) { texts.withLock { $0[file.path] = (version, text) } }
        return text
    }

    /// The names of the files in a folder.
    func names(in folder: String) -> [String] {
        guard case .file(let version) = FileVersion.look(at: folder) else { return Folder(path: folder).names }
        if let known = names.withLock({ $0[folder] }), known.version == version { return known.names }
        let names = Folder(path: folder).names
        if version.isSettled(at: folder) { self.names.withLock { $0[folder] = (version, names) } }
        return names
    }
}

/// The facts of a file or folder that differ once its content, its owner or its rights have changed, or another one is at its path.
private struct FileVersion: Equatable {
    private let numbers: [Int64]

    enum Look {
        case file(FileVersion)
        case absent
        /// A file that cannot be examined.
        case unknown
    }

    static func look(at path: String) -> Look {
        var status = stat()
        if unsafe stat(path, &status) == 0 { return .file(FileVersion(status)) }
        return errno == ENOENT || errno == ENOTDIR ? .absent : .unknown
    }

    private init(_ status: stat) {
        numbers = [
            Int64(status.st_ctim.tv_sec), Int64(status.st_ctim.tv_nsec), Int64(status.st_mtim.tv_sec),
            Int64(status.st_mtim.tv_nsec), Int64(truncatingIfNeeded: status.st_dev),
            Int64(truncatingIfNeeded: status.st_ino), Int64(status.st_size), Int64(status.st_mode),
            Int64(status.st_uid), Int64(status.st_gid),
        ]
    }

    /// Whether what was just read at the path is this version, and a further change would get another time. File systems count in steps of
    /// up to two seconds.
    func isSettled(at path: String) -> Bool {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        guard numbers[0] + 3 <= now.tv_sec, case .file(let present) = FileVersion.look(at: path) else { return false }
        return present == self
    }
}
