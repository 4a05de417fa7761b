internal import KeychainStore
internal import KeychainModel
internal import Glibc
internal import Localization
internal import Platform
internal import Settings
internal import TokenKit

/// A file of settings: read whole, and replaced in one step.
struct PreferencesFile<Text: ReadSettings> {
    let path: String

    /// Whether a new file is readable by every user.
    var isForAll = false

    /// The one user besides root who may write to the file; nil for this process's.
    var owner: UInt32?

    /// A file of the system's settings.
    static func ofSystem(_ name: String, in directories: Directories) -> Self {
        Self(path: "\(directories.system)/\(name)", isForAll: true, owner: directories.systemOwner)
    }

    /// Reads the file; nil if there is none.
    ///
    /// - Throws: `errSecDecode` for invalid content, `errSecNoAccessForItem` if other users may write to it or redirect
    ///   its path, `errSecIO` if it cannot be read.
    func read() throws(KeychainError) -> Text? {
        guard let followed = FollowedPath(path) else {
            guard errno == ENOENT || errno == ENOTDIR else { throw KeychainError(system: "\(path) cannot be read") }
            return nil
        }
        try followed.checkOwners()
        try followed.checkFolders()
        // `O_NONBLOCK`, so that a pipe in its place does not block.
        let descriptor = unsafe open(followed.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { throw KeychainError(system: "\(path) cannot be read") }
        defer { close(descriptor) }
        try checkOwner(descriptor)
        guard let text = String(validating: try content(descriptor), as: UTF8.self) else {
            throw KeychainError(.decode, "\(path) is not UTF-8", remedy: "correct it")
        }
        return try Text(parsing: text, of: path)
    }

    /// Replaces the file by the result of `body`, under a lock. A reader sees the old file or the new one. An unchanged
    /// text is not written.
    func change(_ body: (inout Text) throws(KeychainError) -> Void) throws(KeychainError) where Text: SettingsText {
        try Folder(of: path).make(mode: isForAll ? 0o755 : Folder.mode)
        let lock = try lock()
        defer { close(lock) }
        let old = try read()
        var text = old ?? Text()
        let before = text.text
        try body(&text)
        if text.text != before { try replace(with: Array(text.text.utf8)) }
    }

    /// A descriptor that holds the file against other writers until it is closed. Wraps `flock`.
    private func lock() throws(KeychainError) -> Int32 {
        let place = path + ".lock"
        let descriptor = unsafe open(place, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw KeychainError(system: "\(place) cannot be made") }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else {
                let error = KeychainError(system: "\(place) cannot be locked")
                close(descriptor)
                throw error
            }
        }
        return descriptor
    }

    private func checkOwner(_ descriptor: Int32) throws(KeychainError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw KeychainError(system: "\(path) cannot be examined") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw KeychainError(.decode, "\(path) is not a file") }
        guard status.st_uid == 0 || status.st_uid == owner ?? geteuid(), status.st_mode & (S_IWGRP | S_IWOTH) == 0
        else {
            throw KeychainError(
                .noAccessForItem, "other users may write to \(path)",
                remedy: owner == nil ? "make it yours and chmod go-w it" : "make it root's and chmod go-w it")
        }
    }

    private func content(_ descriptor: Int32) throws(KeychainError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try Descriptor.read(descriptor, limit: PreferencesText.maximumLength)
        } catch {
            throw KeychainError(system: "\(path) cannot be read", error)
        }
        guard bytes.count <= PreferencesText.maximumLength else {
            throw KeychainError(.decode, "\(path) is longer than \(PreferencesText.maximumLength) bytes")
        }
        return bytes
    }

    private func replace(with bytes: [UInt8]) throws(KeychainError) {
        guard bytes.count <= PreferencesText.maximumLength else {
            throw KeychainError(.dataTooLarge, "\(path) would get longer than \(PreferencesText.maximumLength) bytes")
        }
        // A symbolic link stays; its target is replaced.
        let target = resolvedPath(path) ?? path
        do throws(SystemError) {
            try AtomicFile.replace(target, with: bytes.span, mode: .exact(mode(of: target)))
        } catch {
            throw KeychainError(system: "\(path) cannot be replaced", error)
        }
    }

    /// The mode of the file, or that of a new one.
    private func mode(of path: String) -> mode_t {
        var status = stat()
        guard unsafe stat(path, &status) != 0 else { return status.st_mode & 0o755 }
        return isForAll ? 0o644 : 0o600
    }
}
