package import KeychainModel
package import Glibc
internal import Localization
internal import Platform
internal import SecureBytes

/// The file of a keychain: only its owner can use it, and no other user can replace it.
package struct KeychainFile {
    /// The folder, without symbolic links.
    let folder: String
    let name: String

    /// The path that is opened.
    package var path: String { folder == "/" ? "/\(name)" : "\(folder)/\(name)" }

    /// SQLite's write-ahead log.
    var log: String { path + Self.logSuffix }

    package static let fileMode: mode_t = 0o600

    /// The place of an existing keychain; symbolic links on the way are followed.
    ///
    /// - Parameter user: the user who, besides root, may own it and the folders of its path.
    /// - Throws: `errSecNoSuchKeychain` if there is nothing, `errSecNotAvailable` if that cannot be determined or the
    ///   user may not read it, `errSecInvalidKeychain` if it is not a file, `errSecNoAccessForItem` if other users own
    ///   it, have access to it or may replace it.
    package init(existing path: String, for user: UInt32 = geteuid()) throws(KeychainError) {
        guard let followed = FollowedPath(path, for: user) else {
            throw Self.cannotBeReached(path)
        }
        let status = followed.status
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw KeychainError(.invalidKeychain, "\(path) is not a file")
        }
        try self.init(splitting: followed.path)
        try followed.checkOwners()
        guard status.st_mode & 0o077 == 0 else {
            // The content is checked first: the error about a file's mode is for keychains alone.
            try Self.checkContent(of: followed.path)
            throw KeychainError(
                .noAccessForItem, "other users have access to the keychain file \(path)", remedy: "chmod 600 it")
        }
        try checkFolder()
        try followed.checkFolders()
        try checkReadable(status)
    }

    /// The keychain error of a path that cannot be followed, by `errno`. A missing file alone can be created.
    private static func cannotBeReached(_ path: String) -> KeychainError {
        let (code, reason) = (errno, SystemError().reason)
        return switch code {
        case ENOENT, ENOTDIR, ENAMETOOLONG:
            KeychainError(
                .noSuchKeychain, "there is no keychain at \(path): \(reason)",
                remedy: "check the name, or create the keychain")
        case EACCES:
            KeychainError(
                .notAvailable, "the keychain \(path) cannot be reached: \(reason)",
                remedy: "a folder of its path cannot be entered: chmod u+x it, if it is yours")
        default: KeychainError(.notAvailable, "the keychain \(path) cannot be reached: \(reason)")
        }
    }

    /// - Throws: `errSecNotAvailable`, with the reason; SQLite would only say that the file cannot be opened.
    private func checkReadable(_ status: stat) throws(KeychainError) {
        guard unsafe faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 else { return }
        let what: LocalizedText = "the keychain file \(path) cannot be read: \(SystemError().reason)"
        guard status.st_uid == geteuid() else { throw KeychainError(.notAvailable, "\(what); it is another user's") }
        throw KeychainError(.notAvailable, what, remedy: "chmod 600 it")
    }

    /// The place of a keychain to be created.
    ///
    /// - Throws: `errSecNoAccessForItem` if others own the folder or one on the way, or may write to it.
    package init(new path: String, makesFolders: Bool = true) throws(KeychainError) {
        try self.init(splitting: path)
        if makesFolders { try Folder(path: folder).make() }
        guard let followed = FollowedPath(folder) else {
            throw KeychainError(system: "the folder \(folder) cannot be used")
        }
        try followed.checkOwners()
        self.init(folder: followed.path, name: name)
        try checkFolder()
        try followed.checkFolders()
    }

    /// Checks that a keychain can be created at a path, as far as that can be told in advance.
    ///
    /// - Throws: as ``checkAbsent()``, `errSecNoAccessForItem` if others own the folder or one on the way, and
    ///   `errSecParam` for a path that is not a file's.
    package static func checkFree(_ path: String) throws(KeychainError) {
        let place = try KeychainFile(splitting: path)
        try FollowedPath(place.folder, asFarAsThere: true)?.checkOwners()
        guard let folder = resolvedPath(place.folder) else { return }
        try KeychainFile(folder: folder, name: place.name).checkAbsent()
    }

    /// - Throws: `errSecInvalidKeychain` for the file of another program.
    private static func checkContent(of path: String) throws(KeychainError) {
        let database = try KeychainError.mapping { () throws(SQLiteError) in
            try Database(path: path, access: .immutable, busyTimeout: 0)
        }
        do throws(KeychainError) { _ = try Migrations.checkedVersion(of: database) } catch { throw error.naming(path) }
    }

    /// - Throws: as ``init(existing:)``, and `errSecInvalidKeychain` for the file of another program.
    package static func check(_ path: String) throws(KeychainError) {
        try checkContent(of: KeychainFile(existing: path).path)
    }

    private init(folder: String, name: String) {
        (self.folder, self.name) = (folder, name)
    }

    private init(splitting path: String) throws(KeychainError) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = parts.last, !name.isEmpty, name != ".", name != "..", !path.utf8.contains(0) else {
            throw KeychainError(
                .param, "\(path.isEmpty ? String(localized: "an empty path") : path) is not the path of a file")
        }
        let folder = parts.dropLast().joined(separator: "/")
        self.init(folder: parts.count == 1 ? "." : folder.isEmpty ? "/" : folder, name: String(name))
    }

    /// Whether the file's mode lets its owner write to it; a file marked read-only is read-only even for root.
    var isWritable: Bool {
        get throws(KeychainError) { try Self.status(of: path).st_mode & 0o200 != 0 }
    }

    /// The way in which the file can be opened.
    ///
    /// SQLite keeps files beside a database even for reading. In a folder that cannot be written to, the file is read without them.
    ///
    /// - Throws: `errSecWrPerm` where the latest changes may be in the log beside it.
    var access: Database.Access {
        get throws(KeychainError) {
            let usual: Database.Access = try isWritable ? .readWrite : .readOnly
            guard unsafe faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) != 0,
                !(Self.isTaken(log) && Self.isTaken(path + Self.logIndexSuffix))
            else { return usual }
            guard try !hasChangesBeside else {
                throw KeychainError(
                    .writePermission, "the latest changes may be only in \(log), and \(folder) cannot be written to",
                    remedy: "make it writable and open the keychain once")
            }
            return .immutable
        }
    }

    /// Whether the log beside the file has changes that may not be in the file.
    var hasChangesBeside: Bool {
        get throws(KeychainError) {
            guard Self.isTaken(log) else { return false }
            return try Self.status(of: log).st_size > 0
        }
    }

    /// Makes the keychain appear with all its content or not at all.
    ///
    /// `body` fills an empty file in the same folder, which then gets its name. A file or symbolic link that already has
    /// the name is left alone, and a process that ends in between leaves no half-made keychain.
    ///
    /// - Throws: `errSecDuplicateKeychain` if the name is taken.
    func create(_ body: (_ path: String) throws(KeychainError) -> Void) throws(KeychainError) {
        removeAbandonedDrafts()
        let draft = KeychainFile(folder: folder, name: "\(draftPrefix)\(UniqueID())").path
        let file = unsafe open(draft, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_RDWR, Self.fileMode)
        guard file >= 0 else { throw KeychainError(system: "no file can be made in \(folder)") }
        defer { Self.removeDraft(draft) }
        do {
            defer { close(file) }
            // The mode given to open is narrowed by the umask, which may even leave the owner without access.
            guard fchmod(file, Self.fileMode) == 0 else {
                throw KeychainError(system: "the mode of \(draft) cannot be set")
            }
            _ = flock(file, LOCK_EX | LOCK_NB)
            try body(draft)
        }
        try checkAbsent()
        guard unsafe link(draft, path) == 0 else {
            throw errno == EEXIST ? duplicate : KeychainError(system: "\(path) cannot be made")
        }
        try Folder(path: folder).sync()
    }

    private var draftPrefix: String { ".\(name)." }

    private static func removeDraft(_ path: String) { for suffix in [""] + companions { unsafe unlink(path + suffix) } }

    /// Deletes the drafts that killed programs have left of a keychain of this name. A draft in use is locked, except
    /// for a moment after its creation.
    private func removeAbandonedDrafts() {
        for other in Folder(path: folder).names where other.hasPrefix(draftPrefix) {
            guard Hex.decode(other.dropFirst(draftPrefix.count))?.count == UniqueID.byteCount else { continue }
            let path = KeychainFile(folder: folder, name: other).path
            guard let status = try? Self.status(of: path), status.st_mode & S_IFMT == S_IFREG,
                Int(time(nil)) - status.st_mtim.tv_sec > Self.youngDraft, !Self.isLocked(path)
            else { continue }
            Self.removeDraft(path)
        }
    }

    private static func isLocked(_ path: String) -> Bool {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return true }
        defer { close(file) }
        return flock(file, LOCK_EX | LOCK_NB) != 0
    }

    /// The time for which a draft counts as young after its last write, in seconds.
    private static let youngDraft = 60

    /// Deletes the file, and the files that SQLite keeps beside it.
    package func remove() throws(KeychainError) {
        guard unsafe unlink(path) == 0 else { throw KeychainError(system: "\(path) cannot be deleted") }
        for suffix in Self.companions { unsafe unlink(path + suffix) }
        try Folder(path: folder).sync()
    }

    /// The suffixes of the files that SQLite keeps beside a database.
    private static let companions = [logSuffix, logIndexSuffix, "-journal"]
    private static let logSuffix = "-wal"
    private static let logIndexSuffix = "-shm"

    /// - Throws: `errSecDuplicateKeychain` if the name is taken, also by a dangling link, or by files that a crashed
    ///   program has left beside an earlier keychain: SQLite would take them for changes to the new one.
    package func checkAbsent() throws(KeychainError) {
        guard !Self.isTaken(path) else { throw duplicate }
        for suffix in Self.companions where Self.isTaken(path + suffix) {
            throw KeychainError(
                .duplicateKeychain, "\(path + suffix) is there, of a keychain that is missing",
                remedy: "move it away, or choose another name")
        }
    }

    private static func isTaken(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    private var duplicate: KeychainError {
        KeychainError(.duplicateKeychain, "there is already something at \(path)", remedy: "choose another name")
    }

    private func checkFolder() throws(KeychainError) {
        guard try Self.status(of: folder).st_mode & 0o022 == 0 else {
            throw KeychainError(
                .noAccessForItem, "other users may replace files in \(folder), the folder of the keychain",
                remedy: "chmod 700 it, or keep the keychain elsewhere")
        }
    }
}

extension KeychainFile {
    /// The target of a symbolic link, or `nothing` where that does not exist; nil for any other file.
    package static func target(ofLink path: String) -> String? {
        guard let status = try? status(of: path), status.st_mode & S_IFMT == S_IFLNK else { return nil }
        return resolvedPath(path) ?? "nothing"
    }

    /// The name of the keychain: the file's without folder and ending.
    package var keychainName: String { Directories.keychainName(ofFile: path) }

    /// Wraps `lstat`. The file is not opened: closing it would drop the locks SQLite holds on it in this process.
    private static func status(of path: String) throws(KeychainError) -> stat {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw KeychainError(system: "\(path) cannot be examined") }
        return status
    }
}
