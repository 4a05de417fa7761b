internal import Glibc
internal import Localization
internal import Platform
internal import SSHAgent
internal import SecureBytes
internal import Synchronization

/// A connection of a program that knows an SSH agent. Idle, it has no thread.
final class AgentConnection: Sendable {
    private let descriptor: Int32
    private let session: AgentSession
    private let language: @Sendable () -> Language
    private let idle: IdleConnections
    private let ended: @Sendable () -> Void
    /// Counts the requests; odd while one is being answered.
    private let progress = Atomic(0)

    /// The silence after which a connection gives up its thread, in milliseconds.
    private static let patience: Int32 = 1_000
    /// The time that a client may take to send a message or to read an answer, as a whole: it holds a thread meanwhile.
    private let limit: Duration
    /// The time after which a request is watched, since it may wait for a person who answers a client that is gone.
    private static let unwatched: Duration = .milliseconds(500)

    /// - Parameters:
    ///   - descriptor: a socket, which the connection closes.
    ///   - language: that of the texts for the client; looked up on the connection's thread.
    ///   - limit: the time that a client may take to send a message, and to read an answer.
    ///   - ended: called once the connection has ended.
    init(
        _ descriptor: Int32, _ session: AgentSession, in language: @escaping @Sendable () -> Language = { .ofProcess },
        _ idle: IdleConnections = .shared, limit: Duration = .seconds(30),
        whenEnded ended: @escaping @Sendable () -> Void
    ) {
        self.language = language
        (self.descriptor, self.session, self.idle, self.limit) = (descriptor, session, idle, limit)
        self.ended = ended
    }

    deinit { close(descriptor) }

    /// Serves the connection on a thread of its own, until it ends or is idle.
    func start() {
        if !BlockingThread.start({ [self] in serve() }) { finish() }
    }

    private func serve() { Language.$current.withValue(language(), operation: answerUntilIdle) }

    private func answerUntilIdle() {
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
            guard count > 0, answerNext() else { return finish() }
        }
    }

    private func finish() {
        session.end()
        ended()
    }

    /// Answers the next message.
    ///
    /// - Returns: false where the client is gone or too slow, and for a length that no message has.
    private func answerNext() -> Bool {
        let deadline = ContinuousClock.now + limit
        var header = [UInt8](repeating: 0, count: 4)
        guard fill(&header, deadline) else { return false }
        let length = Int(UInt32(bigEndianBytes: header))
        var kind = [0] as [UInt8]
        guard 1...AgentRequest.maximumLength ~= length, fill(&kind, deadline) else { return false }
        // A process may lock little memory: messages without a secret, by far the most, take none of it.
        guard AgentRequest.mayHaveSecret(kind: kind[0]) else {
            var rest = [UInt8](repeating: 0, count: length - 1)
            guard fill(&rest, deadline) else { return false }
            let message = kind + rest
            return answer(message.span)
        }
        var isComplete = false
        let message = Secret(capacity: length) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                unsafe buffer[0] = kind[0]
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[1...])
                isComplete = unsafe Descriptor.receive(rest, from: descriptor, by: deadline)
                count = isComplete ? length : 0
            }
        }
        return isComplete && answer(message.bytes)
    }

    private func fill(_ bytes: inout [UInt8], _ deadline: ContinuousClock.Instant) -> Bool {
        unsafe bytes.withUnsafeMutableBytes { unsafe Descriptor.receive($0, from: descriptor, by: deadline) }
    }

    /// - Returns: false where the client is gone or does not read.
    private func answer(_ message: Span<UInt8>) -> Bool {
        let number = progress.add(1, ordering: .relaxed).newValue
        let watch = DelayedActions.shared.begin(after: AgentConnection.unwatched) { [weak self] in
            self?.endWithClient(during: number)
            return nil
        }
        let answer = session.answer(message)
        progress.add(1, ordering: .relaxed)
        DelayedActions.shared.end(watch)
        let framed = UInt32(clamping: answer.count).bigEndianBytes + answer
        return Descriptor.send(framed.span, to: descriptor, by: .now + limit)
    }

    /// Ends the session, and with it a question to a person, once the client is gone.
    private func endWithClient(during number: Int) {
        while progress.load(ordering: .relaxed) == number {
            var watched = pollfd(fd: descriptor, events: 0, revents: 0)
            if unsafe poll(&watched, 1, AgentConnection.patience) > 0 { return session.end() }
        }
    }
}
