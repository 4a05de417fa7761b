package import Glibc

/// A folder for keychains, for their settings or for sockets.
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

    /// The reason why a folder is not made.
    package enum Failure: Error {
        case refused(FollowedPath.Refusal)
        /// A failed system call, and the failure in words to which its reason is appended.
        case system(String, SystemError)
    }

    /// Makes the missing folders of the path.
    ///
    /// - Throws: ``Failure/refused(_:)`` where an existing part of the path belongs neither to this user nor to root.
    package func makeAll(mode: mode_t = Folder.mode) throws(Failure) {
        if let refusal = FollowedPath(path, asFarAsThere: true)?.refusalOfOwners { throw .refused(refusal) }
        var folder = ""
        for (depth, part) in path.split(separator: "/").enumerated() {
            folder += (depth > 0 || path.hasPrefix("/") ? "/" : "") + part
            guard !Self.exists(folder) else { continue }
            // Another process may be making the same one.
            guard unsafe mkdir(folder, mode) == 0 || (errno == EEXIST && Self.exists(folder)) else {
                throw .system("the folder \(folder) cannot be made", SystemError())
            }
            guard unsafe chmod(folder, mode) == 0 else {
                throw .system("the mode of \(folder) cannot be set", SystemError())
            }
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
