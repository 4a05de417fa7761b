internal import Glibc

/// Whole reads and writes of descriptors, which read(2) and write(2) may do in part.
package enum Descriptor {
    /// The same file under a descriptor of at least `minimum`; the given one is closed.
    ///
    /// - Returns: -1, with `errno`, where none is left.
    package static func moved(_ descriptor: Int32, to minimum: Int32) -> Int32 {
        let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, minimum)
        let code = errno
        close(descriptor)
        errno = code
        return moved
    }

    /// Writes all bytes.
    package static func write(_ bytes: Span<UInt8>, to descriptor: Int32) throws(SystemError) {
        try unsafe whole(bytes) { unsafe Glibc.write(descriptor, $0, $1) }
    }

    /// Writes the UTF-8 of a text.
    package static func write(_ text: String, to descriptor: Int32) throws(SystemError) {
        try write(Array(text.utf8).span, to: descriptor)
    }

    /// Sends all bytes. A closed peer is the error `EPIPE`, without SIGPIPE.
    package static func send(_ bytes: Span<UInt8>, to socket: Int32) throws(SystemError) {
        try unsafe whole(bytes) { unsafe Glibc.send(socket, $0, $1, Int32(MSG_NOSIGNAL)) }
    }

    /// Reads up to the end, at most `limit + 1` bytes. More than `limit` bytes show that the limit was exceeded.
    package static func read(_ descriptor: Int32, limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= limit {
            let count = unsafe Glibc.read(descriptor, &part, min(part.count, limit + 1 - bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError() }
            guard count > 0 else { break }
            bytes += part.prefix(count)
        }
        return bytes
    }

    private static func whole(
        _ bytes: Span<UInt8>, _ call: (UnsafeRawPointer, Int) -> Int
    ) throws(SystemError) {
        try unsafe bytes.withUnsafeBytes { (buffer) throws(SystemError) in
            guard let start = buffer.baseAddress else { return }
            var done = 0
            while done < buffer.count {
                let count = unsafe call(start + done, buffer.count - done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw SystemError() }
                done += count
            }
        }
    }
}
