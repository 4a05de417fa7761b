internal import Glibc
internal import Platform

/// The few calls on files that a card's store and images need.
enum FileSystem {
    /// All of a file.
    ///
    /// - Throws: ``VirtualCardError`` `.unreadable` where there is none, `.corrupt` for more than `limit` bytes.
    static func read(_ path: String, limit: Int) throws(VirtualCardError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(.unreadable, "cannot read \(path)") }
        defer { close(descriptor) }
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try Descriptor.read(descriptor, limit: limit) } catch {
            throw failure(.unreadable, "cannot read \(path)", error)
        }
        guard bytes.count <= limit else {
            throw VirtualCardError(.corrupt, "\(path) is longer than the \(limit) bytes that it may have")
        }
        return bytes
    }

    /// Replaces a file by one that only its owner can read, or leaves it as it is.
    static func replace(_ path: String, with bytes: [UInt8]) throws(VirtualCardError) {
        do throws(SystemError) { try AtomicFile.replace(path, with: bytes.span) } catch {
            throw failure(.unwritable, "cannot write \(path)", error)
        }
    }

    /// Whether the path exists.
    static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    /// An error with the system's reason, of the last call unless another is given.
    static func failure(
        _ code: VirtualCardError.Code, _ what: String, _ error: SystemError = SystemError()
    ) -> VirtualCardError {
        VirtualCardError(code, "\(what): \(error.reason)")
    }
}
