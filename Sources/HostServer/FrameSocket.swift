internal import Glibc
internal import Synchronization
internal import TokenKit
internal import Wire

/// The host's end of a connection. It is closed with its last reference.
final class FrameSocket: Sendable {
    let descriptor: Int32
    /// One message is sent at a time: what tells a client that the host is at work comes from another thread than answers.
    private let sending = Mutex(())

    /// Seconds that a client may take over the rest of a message that it has begun, or to read what it is sent.
    private static let patience = 30

    /// Takes the descriptor over.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var time = timeval(tv_sec: FrameSocket.patience, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    }

    deinit { close(descriptor) }

    /// Ends the connection for both sides, whatever waits for it.
    func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// What came over the connection.
    struct Frame: ~Copyable {
        let header: FrameHeader
        let fields: [UInt8]
        let secrets: Secret

        consuming func takeSecrets() -> Secret { secrets }
    }

    /// The next message, for however long it takes until that begins.
    ///
    /// - Returns: nil where the client is gone, sent what is no message, or did not end one.
    func receive() -> Frame? {
        var bytes = [UInt8](repeating: 0, count: FrameHeader.byteCount)
        let isWhole = unsafe bytes.withUnsafeMutableBytes { unsafe receive($0, isBegun: false) }
        guard isWhole, let header = try? FrameHeader(parsing: bytes) else { return nil }
        var fields = [UInt8](repeating: 0, count: header.fieldCount)
        guard unsafe fields.withUnsafeMutableBytes({ unsafe receive($0, isBegun: true) }) else { return nil }
        var hasSecrets = true
        let secrets = Secret(capacity: header.secretCount) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                let part = UnsafeMutableRawBufferPointer(buffer)
                hasSecrets = unsafe receive(part, isBegun: true)
                count = hasSecrets ? part.count : 0
            }
        }
        return hasSecrets ? Frame(header: header, fields: fields, secrets: secrets) : nil
    }

    /// Fills a buffer.
    ///
    /// - Parameter isBegun: whether the message to which it belongs has begun, so that the rest has to follow in time.
    private func receive(_ buffer: UnsafeMutableRawBufferPointer, isBegun: Bool) -> Bool {
        var received = 0
        while received < buffer.count {
            let count = unsafe recv(
                descriptor, buffer.baseAddress.map { unsafe $0 + received }, buffer.count - received,
                Int32(MSG_WAITALL))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN, !isBegun, received == 0 { continue }
            guard count > 0 else { return false }
            received += count
        }
        return true
    }

    /// - Returns: whether the client is there to read it.
    func send(
        _ kind: FrameHeader.Kind, number: UInt32, _ fields: [UInt8] = [], _ secrets: borrowing Secret
    ) -> Bool {
        guard fields.count <= FrameHeader.maximumFields, secrets.count <= FrameHeader.maximumSecrets else {
            return false
        }
        let head =
            FrameHeader(kind, number: number, fieldCount: fields.count, secretCount: secrets.count).encoded() + fields
        let secrets = secrets.bytes
        return sending.withLock { _ in
            unsafe head.withUnsafeBytes { head in
                unsafe secrets.withUnsafeBytes { secrets in
                    var parts = unsafe [iovec(head), iovec(secrets)]
                    return unsafe parts.withUnsafeMutableBufferPointer { unsafe send($0) }
                }
            }
        }
    }

    private func send(_ parts: UnsafeMutableBufferPointer<iovec>) -> Bool {
        var next = 0
        while next < parts.count {
            var message = unsafe msghdr()
            unsafe message.msg_iov = parts.baseAddress.map { unsafe $0 + next }
            unsafe message.msg_iovlen = parts.count - next
            var sent = unsafe sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
            if sent < 0, errno == EINTR { continue }
            guard sent >= 0 else { return false }
            while next < parts.count, unsafe sent >= parts[next].iov_len {
                unsafe sent -= parts[next].iov_len
                next += 1
            }
            guard next < parts.count else { break }
            unsafe parts[next].iov_base += sent
            unsafe parts[next].iov_len -= sent
        }
        return true
    }

    /// Tells the client that the host is at work, if that can be told at once: a client that does not read is told nothing.
    func sendWorking(number: UInt32) {
        _ = sending.withLockIfAvailable { _ in
            let head = FrameHeader(.working, number: number, fieldCount: 0, secretCount: 0).encoded()
            _ = unsafe head.withUnsafeBytes {
                unsafe Glibc.send(
                    descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
        }
    }
}

extension iovec {
    fileprivate init(_ buffer: UnsafeRawBufferPointer) {
        unsafe self.init(iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count)
    }
}
