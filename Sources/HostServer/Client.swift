internal import Glibc
internal import KeychainHost
internal import Localization
internal import Platform
internal import Synchronization
internal import Wire
internal import WireTransport

/// A client of the host, and the connections by which it asks.
final class Client: Sendable {
    private let responder: any Responder
    /// The language of the texts for the client.
    private let language: Language
    private let heartbeat: Heartbeat
    /// The trace for which the client may hand in a file; nil where it may not.
    private let trace: TraceFile?
    private let idle: IdleConnections
    private let quota = MessageQuota()
    private let state = Mutex(State())

    private struct State {
        var connections: [ObjectIdentifier: FrameSocket] = [:]
        var hasEnded = false
    }

    /// Connections that one client may have. A module makes at most 64 (`tokenkit_connection_count`).
    private static let maximumConnections = 128

    /// The longest pause between an answer and the next request of a program in a loop.
    private static let loopPause = Duration.microseconds(50)

    /// The silence after which a connection gives up its thread, in milliseconds. Within it, the next request finds a thread.
    private static let patience: Int32 = 1_000

    init(
        _ responder: any Responder, in language: Language = .ofProcess, _ heartbeat: Heartbeat,
        trace: TraceFile? = nil, _ idle: IdleConnections = .shared
    ) {
        (self.responder, self.language) = (responder, language)
        self.heartbeat = heartbeat
        self.trace = trace
        self.idle = idle
    }

    /// Serves the connections that come over the first one, until that or the client's process ends. Returns earlier while the first
    /// connection is idle.
    ///
    /// - Parameters:
    ///   - process: the client's process. The connection alone does not show its end, since a child of it may hold the connection
    ///     open. Nil where the process cannot be watched.
    ///   - ended: called once the client has ended, on any thread.
    func serve(_ first: FrameSocket, process: ProcessHandle?, whenEnded ended: @escaping @Sendable () -> Void) {
        defer { withExtendedLifetime(process) {} }
        var watched = [
            pollfd(fd: first.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: process?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let count = unsafe poll(&watched, 2, Client.patience)
            if count < 0, errno == EINTR { continue }
            if count == 0 {
                let serve = { @Sendable [self] in self.serve(first, process: process, whenEnded: ended) }
                // Without a thread to spare, the end of a client must still be noticed: it frees the client's threads.
                if idle.park(watched.map(\.fd), resume: serve, withoutThread: serve) { return }
                continue
            }
            guard count > 0, watched[1].revents == 0, take(first.receiveHandedIn()) else { break }
        }
        end()
        ended()
    }

    /// - Returns: false where the client has ended, or handed in what it may not.
    private func take(_ handedIn: FrameSocket.HandedIn) -> Bool {
        switch handedIn {
        case .connection(let connection): begin(connection)
        case .trace(let descriptor):
            guard let trace else {
                close(descriptor)
                return false
            }
            trace.write(to: descriptor)
        case .lost: break
        case .end: return false
        }
        return true
    }

    /// Serves a connection on a thread of its own. Closes a connection beyond the maximum, or without a thread for it.
    func begin(_ connection: FrameSocket) {
        guard let peer = Peer(of: connection.descriptor), responder.admits(peer) else { return }
        let isTaken = state.withLock { state in
            guard !state.hasEnded, state.connections.count < Client.maximumConnections else { return false }
            state.connections[ObjectIdentifier(connection)] = connection
            return true
        }
        guard isTaken else { return }
        let line = RequestLine(connection, heartbeat)
        if !BlockingThread.start({ [self] in serve(line) }) { finish(line) }
    }

    /// Serves a connection until it ends, or is idle and waits without a thread.
    private func serve(_ line: RequestLine) {
        while Language.$current.withValue(language, operation: { answer(over: line) }) {
            let isParked = idle.park([line.connection.descriptor]) { [self] in
                serve(line)
            } withoutThread: { [self] in
                finish(line)
            }
            if isParked { return }
        }
        finish(line)
    }

    private func finish(_ line: RequestLine) {
        line.connection.shutDown()
        _ = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(line.connection)) }
    }

    /// Answers one request after the other.
    ///
    /// A program that signs in a loop asks again sooner after an answer than a sleeping thread wakes up, so that the thread stays awake
    /// for it.
    ///
    /// - Returns: true once the connection is idle, false once it has ended.
    private func answer(over line: RequestLine) -> Bool {
        let connection = line.connection
        var (answered, isLoop) = (ContinuousClock.now, false)
        while true {
            let hasMessage = isLoop && connection.stayAwake(for: Client.loopPause)
            guard hasMessage || connection.hasMessage(by: .now + .milliseconds(Client.patience)) else { return true }
            let message = connection.receiveMessage(upTo: responder.maximumFields, quota) { number, wait in
                line.begin(number)
                defer { line.end() }
                return wait()
            }
            guard let message else { return false }
            isLoop = answered.duration(to: .now) < Client.loopPause
            let isCounted = message.isCounted
            defer { if isCounted { quota.release() } }
            guard responder.answer(message, over: line) else { return false }
            answered = .now
        }
    }

    /// Ends the client's state: waits end, cards are released, PINs are forgotten.
    private func end() {
        let connections = state.withLock { state in
            state.hasEnded = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.shutDown() }
        responder.end()
    }
}
