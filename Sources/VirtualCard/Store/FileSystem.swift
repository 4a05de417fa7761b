internal import Glibc

/// The few calls on files that a card's store and images need.
enum FileSystem {
    /// All of a file.
    ///
    /// - Throws: ``VirtualCardError`` `.unreadable` where there is none, `.corrupt` for more than `limit` bytes.
    static func read(_ path: String, limit: Int) throws(VirtualCardError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(.unreadable, "cannot read \(path)") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(.unreadable, "cannot read \(path)") }
            guard count > 0 else { return bytes }
            bytes += buffer.prefix(count)
            guard bytes.count <= limit else {
                throw VirtualCardError(.corrupt, "\(path) is longer than the \(limit) bytes that it may have")
            }
        }
    }

    /// Replaces a file by one that only its owner can read, or leaves it as it is.
    static func replace(_ path: String, with bytes: [UInt8]) throws(VirtualCardError) {
        var name = Array("\(path).XXXXXX".utf8CString)
        let descriptor = unsafe mkstemp(&name)
        guard descriptor >= 0 else { throw failure(.unwritable, "cannot write \(path)") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var isClosed = false
        do throws(VirtualCardError) {
            try write(bytes, to: descriptor, path)
            guard fsync(descriptor) == 0 else { throw failure(.unwritable, "cannot write \(path)") }
            isClosed = true
            guard close(descriptor) == 0, unsafe rename(name, path) == 0 else {
                throw failure(.unwritable, "cannot write \(path)")
            }
        } catch {
            if !isClosed { close(descriptor) }
            _ = unsafe unlink(name)
            throw error
        }
        syncFolder(of: path)
    }

    /// Whether something is there.
    static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    /// An error with what the system says of it.
    static func failure(_ code: VirtualCardError.Code, _ what: String) -> VirtualCardError {
        let reason = unsafe String(cString: strerror(errno))
        return VirtualCardError(code, "\(what): \(reason.lowercased())")
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(VirtualCardError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(.unwritable, "cannot write \(path)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Makes the new name itself last; where a file system cannot, the file's content still does.
    private static func syncFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
