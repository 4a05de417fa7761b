internal import Glibc
internal import Platform
internal import SSHAgent
internal import SecureBytes
internal import Synchronization

/// A connection of a program that knows an SSH agent. Idle, it has no thread.
final class AgentConnection: Sendable {
    private let descriptor: Int32
    private let session: AgentSession
    private let idle: IdleConnections
    private let ended: @Sendable () -> Void
    /// Counts the requests; odd while one is being answered.
    private let progress = Atomic(0)

    /// The silence after which a connection gives up its thread, in milliseconds.
    private static let patience: Int32 = 1_000
    /// The longest pause within a message, in seconds.
    private static let pause = 30
    /// The time after which a request is watched, since it may wait for a person who answers a client that is gone.
    private static let unwatched: Duration = .milliseconds(500)

    /// - Parameters:
    ///   - descriptor: a socket, which the connection closes.
    ///   - ended: called once the connection has ended.
    init(
        _ descriptor: Int32, _ session: AgentSession, _ idle: IdleConnections = .shared,
        whenEnded ended: @escaping @Sendable () -> Void
    ) {
        (self.descriptor, self.session, self.idle, self.ended) = (descriptor, session, idle, ended)
        var limit = timeval(tv_sec: AgentConnection.pause, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit { close(descriptor) }

    /// Serves the connection on a thread of its own, until it ends or is idle.
    func start() {
        if !BlockingThread.start({ [self] in serve() }) { finish() }
    }

    private func serve() {
        while true {
            var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = unsafe poll(&watched, 1, AgentConnection.patience)
            if count < 0, errno == EINTR { continue }
            if count == 0 {
                let isParked = idle.park([descriptor]) { [self] in
                    serve()
                } withoutThread: { [self] in
                    finish()
                }
                if isParked { return }
                continue
            }
            guard count > 0, let message = receive(), answer(message) else { return finish() }
        }
    }

    private func finish() {
        session.end()
        ended()
    }

    /// - Returns: false where the client is gone.
    private func answer(_ message: borrowing Secret) -> Bool {
        let number = progress.add(1, ordering: .relaxed).newValue
        let watch = DelayedActions.shared.begin(after: AgentConnection.unwatched) { [weak self] in
            self?.endWithClient(during: number)
            return nil
        }
        let answer = session.answer(message)
        progress.add(1, ordering: .relaxed)
        DelayedActions.shared.end(watch)
        let framed = UInt32(clamping: answer.count).bigEndianBytes + answer
        return (try? Descriptor.send(framed.span, to: descriptor)) != nil
    }

    /// Ends the session, and with it a question to a person, once the client is gone.
    private func endWithClient(during number: Int) {
        while progress.load(ordering: .relaxed) == number {
            var watched = pollfd(fd: descriptor, events: 0, revents: 0)
            if unsafe poll(&watched, 1, AgentConnection.patience) > 0 { return session.end() }
        }
    }

    /// The next message, without its length; nil at the end of the connection, or for a length that no message has.
    private func receive() -> Secret? {
        var header = [UInt8](repeating: 0, count: 4)
        guard unsafe header.withUnsafeMutableBytes({ unsafe fill($0) }) else { return nil }
        let length = Int(UInt32(bigEndianBytes: header))
        guard 1...AgentRequest.maximumLength ~= length else { return nil }
        var isComplete = false
        let message = Secret(capacity: length) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                isComplete = unsafe fill(UnsafeMutableRawBufferPointer(buffer))
                count = isComplete ? length : 0
            }
        }
        guard isComplete else { return nil }
        return message
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        var rest = unsafe buffer[...]
        while unsafe !rest.isEmpty {
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: rest)
            let count = unsafe recv(descriptor, part.baseAddress, part.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            unsafe rest = rest.dropFirst(count)
        }
        return true
    }
}
