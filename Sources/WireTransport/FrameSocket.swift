internal import Glibc
internal import Platform
package import SecureBytes
internal import Synchronization
package import Wire

/// An end of a connection between a client and the host. It is closed with its last reference.
package final class FrameSocket: Sendable {
    package let descriptor: Int32
    private let identity: Identity?
    /// The lock for sending, with the number of the request that is being answered. Signs of life come from another
    /// thread than answers, and must not follow the answer to the same request.
    private let sending = Mutex<UInt32?>(nil)

    /// The seconds that the other side may take for the rest of a message that it has begun, or to read one.
    private static let patience = 30

    /// Takes ownership of the descriptor. Another process with a copy of it can change its blocking mode and time-outs, so that only
    /// `poll` waits here.
    package init(_ descriptor: Int32) {
        self.descriptor = descriptor
        identity = Identity(of: descriptor)
    }

    deinit { if isIntact { close(descriptor) } }

    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t

        init?(of descriptor: Int32) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { return nil }
            (device, inode) = (status.st_dev, status.st_ino)
        }
    }

    /// Whether the descriptor is still the connection: programs close descriptors that are not theirs, and get the numbers again for
    /// files of their own.
    package var isIntact: Bool { identity != nil && Identity(of: descriptor) == identity }

    /// Whether the other side has closed the connection.
    package var isClosed: Bool {
        var byte: UInt8 = 0
        let count = unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
    }

    /// Bytes of the other side that are still to be read, as far as they count for a sign of life.
    private var unreadCount: Int {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        return unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    }

    /// Whether the connection has ended, also where bytes of the other side are still to be read.
    var hasEnded: Bool {
        var state = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&state, 1, 0) != 0
    }

    /// Whether the other side closes a connection, over which it sends nothing, within a tenth of a second. A process that ends closes its
    /// connections one after the other.
    package var isClosedSoon: Bool {
        var awaited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        unsafe poll(&awaited, 1, 100)
        return isClosed
    }

    /// Ends the connection for both sides, and all waits for it.
    package func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Tells the other side that nothing more comes.
    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// A header with what it announces.
    package struct Frame: ~Copyable {
        package let header: FrameHeader
        package let fields: [UInt8]
        package let secrets: Secret

        package consuming func takeSecrets() -> Secret { secrets }
    }

    /// The next frame.
    ///
    /// - Parameters:
    ///   - end: until when its beginning is waited for; nil for no limit.
    ///   - admits: whether the rest of the frame is read, given its header. The rest has its time from then on.
    /// - Returns: nil where the other side is gone, or sent an invalid or incomplete frame.
    package func receive(
        by end: ContinuousClock.Instant? = nil,
        admitting admits: (FrameHeader) -> Bool = { _ in true }
    ) -> Frame? {
        guard wait(Int16(POLLIN), until: end) else { return nil }
        var bytes = [UInt8](repeating: 0, count: FrameHeader.byteCount)
        let isWhole = unsafe bytes.withUnsafeMutableBytes { unsafe receive($0, FrameSocket.deadline) }
        guard isWhole, let header = try? FrameHeader(parsing: bytes), admits(header) else { return nil }
        return receiveRest(of: header, FrameSocket.deadline)
    }

    private func receiveRest(of header: FrameHeader, _ deadline: ContinuousClock.Instant) -> Frame? {
        var fields = [UInt8](repeating: 0, count: header.fieldCount)
        guard unsafe fields.withUnsafeMutableBytes({ unsafe receive($0, deadline) }) else { return nil }
        var hasSecrets = true
        let secrets = Secret(capacity: header.secretCount) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                let part = UnsafeMutableRawBufferPointer(buffer)
                hasSecrets = unsafe receive(part, deadline)
                count = hasSecrets ? part.count : 0
            }
        }
        return hasSecrets ? Frame(header: header, fields: fields, secrets: secrets) : nil
    }

    /// Waits for the next message without giving up the processor, unless another thread wants it.
    ///
    /// - Returns: false where neither its beginning nor the end of the connection has come.
    package func stayAwake(for limit: Duration) -> Bool {
        let end = ContinuousClock.now + limit
        repeat {
            var awaited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&awaited, 1, 0) != 0 { return true }
            sched_yield()
        } while ContinuousClock.now < end
        return false
    }

    /// Waits for the beginning of the next message, or the end of the connection.
    ///
    /// - Returns: false where there is neither until the time.
    package func hasMessage(by end: ContinuousClock.Instant) -> Bool { wait(Int16(POLLIN), until: end) }

    static var deadline: ContinuousClock.Instant { .now + .seconds(patience) }

    /// Waits until there is something to read, or room to send; for ever without a deadline.
    func wait(_ events: Int16, until deadline: ContinuousClock.Instant?) -> Bool {
        Descriptor.wait(for: events, of: descriptor, until: deadline)
    }

    /// Reads the received bytes, without waiting.
    ///
    /// - Returns: the number of bytes; 0 where the other side is gone, -1 with `errno` where there is nothing to read.
    package func receive(upTo count: Int, appendingTo bytes: inout [UInt8]) -> Int {
        var part = [UInt8](repeating: 0, count: count)
        var received = -1
        repeat {
            received = unsafe recv(descriptor, &part, count, Int32(MSG_DONTWAIT))
        } while received < 0 && errno == EINTR
        bytes += part.prefix(max(received, 0))
        return received
    }

    /// Fills a buffer with the rest of a message.
    private func receive(_ buffer: UnsafeMutableRawBufferPointer, _ deadline: ContinuousClock.Instant) -> Bool {
        unsafe Descriptor.receive(buffer, from: descriptor, by: deadline)
    }

    /// - Returns: false where the other side is gone or does not read, or the frame is too long.
    package func send(
        _ kind: FrameHeader.Kind, number: UInt32, _ fields: [UInt8] = [], _ secrets: borrowing Secret
    ) -> Bool {
        guard fields.count <= FrameHeader.maximumFields, secrets.count <= FrameHeader.maximumSecrets else {
            return false
        }
        let head =
            FrameHeader(kind, number: number, fieldCount: fields.count, secretCount: secrets.count).encoded() + fields
        let secrets = secrets.bytes
        return sending.withLock { answered in
            answered = nil
            return unsafe head.withUnsafeBytes { head in
                unsafe secrets.withUnsafeBytes { secrets in
                    var parts = unsafe [iovec(head), iovec(secrets)]
                    return unsafe parts.withUnsafeMutableBufferPointer { unsafe send($0) }
                }
            }
        }
    }

    private func send(_ parts: UnsafeMutableBufferPointer<iovec>) -> Bool {
        var deadline = FrameSocket.deadline
        var next = 0
        var unread = 0
        while next < parts.count {
            var message = unsafe msghdr()
            unsafe message.msg_iov = parts.baseAddress.map { unsafe $0 + next }
            unsafe message.msg_iovlen = parts.count - next
            var sent = unsafe sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if sent < 0, errno == EINTR { continue }
            if sent < 0, errno == EAGAIN {
                if wait(Int16(POLLOUT), until: deadline) { continue }
                // A host that is busy with other long messages of the client reads this one later, and says so.
                let former = unread
                unread = unreadCount
                guard unread > former else { return false }
                deadline = FrameSocket.deadline
                continue
            }
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

    /// Begins to answer a request.
    package func begin(number: UInt32) { sending.withLock { $0 = number } }

    /// Sends a sign of life to a client whose request is being answered, if it can be sent at once: a client that does
    /// not read gets none.
    package func sendWorking() {
        _ = sending.withLockIfAvailable { answered in
            if let answered {
                sendAtOnce(FrameHeader(.working, number: answered, fieldCount: 0, secretCount: 0).encoded())
            }
        }
    }

    /// Sends a notice to a client whose request of this number is being answered, and has no question to answer, if the notice can be sent
    /// at once: a client that does not read gets none.
    package func sendNotice(number: UInt32, _ fields: [UInt8]) {
        guard fields.count <= FrameHeader.maximumFields else { return }
        let head = FrameHeader(.notice, number: number, fieldCount: fields.count, secretCount: 0)
        sending.withLock { answered in
            if answered == number { sendAtOnce(head.encoded() + fields) }
        }
    }

    /// Sends bytes without waiting. A part of them would spoil the next message, so that it ends the connection: its client does not
    /// read.
    private func sendAtOnce(_ bytes: [UInt8]) {
        let count = unsafe bytes.withUnsafeBytes {
            unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        if count > 0, count < bytes.count { shutDown() }
    }
}

extension iovec {
    fileprivate init(_ buffer: UnsafeRawBufferPointer) {
        unsafe self.init(iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count)
    }
}
