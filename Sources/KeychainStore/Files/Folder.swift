package import KeychainModel
package import Glibc
package import Platform

/// A folder that keychains and their settings are kept in.
package struct Folder {
    package let path: String

    package static let mode: mode_t = 0o700

    /// The folder of the file at a path.
    package init(of path: String) {
        let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? "."
        self.init(path: folder.isEmpty ? "/" : String(folder))
    }

    package init(path: String) {
        self.path = path
    }

    /// Makes the missing folders of the path, for the owner alone by default.
    ///
    /// - Throws: `errSecNoAccessForItem` where an existing part of the path belongs neither to this user nor to root.
    package func make(mode: mode_t = Folder.mode) throws(KeychainError) {
        try FollowedPath(path, asFarAsThere: true)?.checkOwners()
        var folder = ""
        for (depth, part) in path.split(separator: "/").enumerated() {
            folder += (depth > 0 || path.hasPrefix("/") ? "/" : "") + part
            guard !Self.exists(folder) else { continue }
            // Another process may be making the same one.
            guard unsafe mkdir(folder, mode) == 0 || (errno == EEXIST && Self.exists(folder)) else {
                throw KeychainError(system: "the folder \(folder) cannot be made")
            }
            guard unsafe chmod(folder, mode) == 0 else {
                throw KeychainError(system: "the mode of \(folder) cannot be set")
            }
        }
    }

    /// Flushes the folder to the disk, so that names created or deleted in it are not lost.
    func sync() throws(KeychainError) {
        do throws(SystemError) { try AtomicFile.sync(folder: path) } catch {
            throw KeychainError(system: "the folder \(path) cannot be written", error)
        }
    }

    /// The names in the folder that are UTF-8, in no order; none where it cannot be read. Wraps `readdir`.
    package var names: [String] {
        guard let stream = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let bytes = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe Array($0.prefix { $0 != 0 }) }
            if let name = String(validating: bytes, as: UTF8.self), name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Deletes the folder with its content, as far as that is possible.
    package func remove() {
        for name in names {
            let place = "\(path)/\(name)"
            if unsafe unlink(place) != 0, errno == EISDIR { Folder(path: place).remove() }
        }
        _ = unsafe rmdir(path)
    }

    /// Whether the path is a folder of this user alone, and no link to one.
    package static func isOwn(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
            && status.st_mode & (S_IRWXG | S_IRWXO) == 0
    }

    private static func exists(_ path: String) -> Bool {
        let code = errno
        defer { errno = code }
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

extension KeychainError {
    /// The keychain error of a failed system call: the last one, unless another error is given.
    ///
    /// - Parameter what: the failure, in words to which the reason is appended.
    package init(system what: String, _ error: SystemError = SystemError()) {
        let code: ErrSec =
            switch error.number {
            case ENOSPC, EDQUOT: .diskFull
            case EACCES, EPERM, EROFS: .writePermission
            default: .io
            }
        self.init(code, "\(what): \(error.reason)")
    }
}
