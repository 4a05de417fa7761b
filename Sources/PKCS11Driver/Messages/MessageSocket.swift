internal import Glibc
internal import SecureBytes

/// A message of the socket: fields, and a secret that no other memory holds.
struct Message: ~Copyable {
    let fields: [UInt8]
    let secret: Secret

    consuming func takeSecret() -> Secret { secret }
}

/// One end of the socket between a host and its worker.
///
///     length of the fields (4) · length of the secret (4) · fields · secret
struct MessageSocket {
    let descriptor: Int32

    /// A descriptor of the other side's process, which shows the process's end even where a child of it holds the socket; -1 for
    /// none.
    var process: Int32 = -1

    enum Failure: Error {
        /// The other side is gone.
        case ended
        /// The other side did not answer in time.
        case late
        /// The other side sent bytes that are no message.
        case malformed
    }

    static let maximumFields = 16 << 20
    static let maximumSecret = 64 << 10
    private static let headerLength = 8

    /// - Parameter deadline: the time until which the other side may read; nil for ever.
    func send(
        _ fields: [UInt8], _ secret: borrowing Secret, by deadline: ContinuousClock.Instant?
    ) throws(Failure) {
        guard fields.count <= MessageSocket.maximumFields, secret.count <= MessageSocket.maximumSecret else {
            throw .malformed
        }
        let lengths = [fields.count, secret.count].flatMap { UInt32(truncatingIfNeeded: $0).bigEndianBytes }
        try write((lengths + fields).span, deadline)
        try write(secret.bytes, deadline)
    }

    /// - Parameter deadline: the time by which the whole message must arrive; nil for ever.
    func receive(by deadline: ContinuousClock.Instant?) throws(Failure) -> Message {
        let header = try read(MessageSocket.headerLength, deadline)
        let count = Int(bigEndianBytes: header.prefix(4))
        let secretCount = Int(bigEndianBytes: header.suffix(4))
        guard count <= MessageSocket.maximumFields, secretCount <= MessageSocket.maximumSecret else { throw .malformed }
        let fields = try read(count, deadline)
        let secret = try Secret(capacity: secretCount) { (output) throws(Failure) in
            var part = [UInt8](repeating: 0, count: min(secretCount, 256))
            defer { part.wipe() }
            while output.count < secretCount {
                let count = try read(into: &part, upTo: secretCount - output.count, deadline)
                for index in 0..<count { output.append(part[index]) }
            }
        }
        return Message(fields: fields, secret: secret)
    }

    // MARK: Bytes

    private func write(_ bytes: Span<UInt8>, _ deadline: ContinuousClock.Instant?) throws(Failure) {
        var sent = 0
        while sent < bytes.count {
            try wait(for: POLLOUT, deadline)
            let count = unsafe bytes.withUnsafeBufferPointer { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress.map { unsafe $0 + sent }, buffer.count - sent,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { throw .ended }
            sent += count
        }
    }

    private func read(_ count: Int, _ deadline: ContinuousClock.Instant?) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: min(count, 64 << 10))
        while bytes.count < count {
            let count = try read(into: &part, upTo: count - bytes.count, deadline)
            bytes += part.prefix(count)
        }
        return bytes
    }

    private func read(
        into part: inout [UInt8], upTo limit: Int, _ deadline: ContinuousClock.Instant?
    ) throws(Failure) -> Int {
        while true {
            try wait(for: POLLIN, deadline)
            let count = unsafe part.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, min($0.count, limit), Int32(MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { throw .ended }
            return count
        }
    }

    private func wait(for events: Int32, _ deadline: ContinuousClock.Instant?) throws(Failure) {
        var watched = [
            pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0),
            pollfd(fd: process, events: Int16(truncatingIfNeeded: POLLIN), revents: 0),
        ]
        while true {
            // A message that came in time counts, also where this process was stopped meanwhile.
            let left = deadline.map { max(0, ContinuousClock.now.duration(to: $0).wholeMilliseconds) } ?? -1
            let count = unsafe poll(&watched, nfds_t(watched.count), left)
            if count == 0, left == 0 { throw .late }
            // The last message before the end of the other side counts.
            if count > 0, watched[0].revents != 0 { return }
            guard count <= 0 else { throw .ended }
            guard count == 0 || errno == EINTR else { throw .ended }
        }
    }
}

extension Duration {
    /// Rounded up, and as long as `poll` can wait.
    fileprivate var wholeMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
