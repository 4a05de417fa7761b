package import Glibc

/// Files that appear with all of their content, or not at all.
package enum AtomicFile {
    /// The permissions of a file.
    package enum Mode {
        /// Permissions that the process's umask reduces.
        case new(mode_t)
        /// Permissions regardless of the umask.
        case exact(mode_t)

        /// Permissions for the owner only.
        package static let own = Mode.new(0o600)
    }

    /// Writes a file, and replaces an existing one. A symbolic link in its place is replaced, not followed.
    ///
    /// - Parameter isLasting: whether file and name are on the disk on return, which costs milliseconds.
    package static func replace(
        _ path: String, with bytes: Span<UInt8>, mode: Mode = .own, isLasting: Bool = true
    ) throws(SystemError) {
        try write(bytes, beside: path, mode, isLasting) { unsafe rename($0, path) }
    }

    /// Makes a file, unless it exists.
    ///
    /// - Throws: `EEXIST` where it exists.
    package static func create(
        _ path: String, with bytes: Span<UInt8>, mode: Mode = .own, isLasting: Bool = true
    ) throws(SystemError) {
        var status = stat()
        guard unsafe lstat(path, &status) != 0 else { throw SystemError(EEXIST) }
        try write(bytes, beside: path, mode, isLasting) { unsafe link($0, path) }
    }

    private static func write(
        _ bytes: Span<UInt8>, beside path: String, _ mode: Mode, _ isLasting: Bool, _ place: (String) -> Int32
    ) throws(SystemError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        let draft = "\(folder).\(UInt64.random(in: .min ... .max)).draft"
        let permissions =
            switch mode {
            case .new(let permissions), .exact(let permissions): permissions
            }
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, permissions)
        guard descriptor >= 0 else { throw SystemError() }
        do throws(SystemError) {
            defer { close(descriptor) }
            try Descriptor.write(bytes, to: descriptor)
            if case .exact = mode, fchmod(descriptor, permissions) != 0 { throw SystemError() }
            if isLasting, fsync(descriptor) != 0 { throw SystemError() }
            guard place(draft) == 0 else { throw SystemError() }
        } catch {
            _ = unsafe unlink(draft)
            throw error
        }
        // A linked draft has a second name.
        _ = unsafe unlink(draft)
        if isLasting { try sync(folder: folder.isEmpty ? "." : folder) }
    }

    /// Writes a folder's names to the disk. Wraps `fsync`.
    package static func sync(folder: String) throws(SystemError) {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError() }
        defer { close(descriptor) }
        // Some file systems cannot sync a folder, and return EINVAL. The content is kept all the same.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw SystemError() }
    }
}
