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

    /// Sends all bytes, also where the socket blocks otherwise.
    ///
    /// - Returns: false where the peer is gone, or has not taken all of them by the deadline.
    package static func send(
        _ bytes: Span<UInt8>, to socket: Int32, by deadline: ContinuousClock.Instant
    ) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            whole(buffer.count, Int16(POLLOUT), socket, deadline) { done in
                unsafe Glibc.send(
                    socket, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
        }
    }

    /// Fills a buffer from a socket, also where it blocks otherwise.
    ///
    /// - Returns: false where the peer is gone, or has not sent all bytes by the deadline.
    package static func receive(
        _ buffer: UnsafeMutableRawBufferPointer, from socket: Int32, by deadline: ContinuousClock.Instant
    ) -> Bool {
        whole(buffer.count, Int16(POLLIN), socket, deadline) { done in
            unsafe recv(
                socket, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done, Int32(MSG_DONTWAIT))
        }
    }

    private static func whole(
        _ count: Int, _ events: Int16, _ socket: Int32, _ deadline: ContinuousClock.Instant, _ call: (Int) -> Int
    ) -> Bool {
        var done = 0
        while done < count {
            let part = call(done)
            if part < 0, errno == EINTR { continue }
            if part < 0, errno == EAGAIN {
                guard wait(for: events, of: socket, until: deadline) else { return false }
                continue
            }
            guard part > 0 else { return false }
            done += part
        }
        return true
    }

    /// Waits until a descriptor can be read or written, or its other side has closed; for ever without a deadline.
    ///
    /// - Parameter events: those of poll(2).
    /// - Returns: false at the deadline, and for a descriptor that is not open.
    package static func wait(
        for events: Int16, of descriptor: Int32, until deadline: ContinuousClock.Instant?
    ) -> Bool {
        while true {
            var timeout: Int32 = -1
            if let deadline {
                let remaining = deadline - .now
                guard remaining > .zero else { return false }
                // Long waits are divided.
                timeout = Int32(min(remaining, .seconds(1000)) / .milliseconds(1)) + 1
            }
            var awaited = pollfd(fd: descriptor, events: events, revents: 0)
            let count = unsafe poll(&awaited, 1, timeout)
            if count > 0 { return awaited.revents & Int16(POLLNVAL) == 0 }
            guard count == 0 || errno == EINTR else { return false }
        }
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
