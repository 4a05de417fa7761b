internal import Glibc
internal import Platform
internal import Synchronization
internal import WireTransport

/// The connections of one process to a host that serves it. A child by `fork` has others: those of its parent are the parent's, and their
/// locks may be held by threads that the child does not have.
final class ClientConnections: Sendable {
    fileprivate let process = getpid()
    /// Held by the thread that connects.
    let connecting = Mutex(())
    private let state = Mutex<State?>(nil)
    /// The connections that may still be taken.
    private let places = CountingSemaphore(count: maximum)

    private struct State {
        let first: FrameSocket
        /// Whether the host serves the programs of the session.
        let isOfSession: Bool
        let rights = Rights.now
        var idle: [FrameSocket] = []
    }

    /// The rights with which a host serves a program. A program that gives them up has another host.
    private struct Rights: Equatable {
        let user: uid_t
        let group: gid_t

        static var now: Rights { Rights(user: geteuid(), group: getegid()) }
    }

    /// Requests that are under way at once. A host serves 128 connections of a client.
    private static let maximum = 96

    /// The first connection to the host; nil before there is one.
    var first: FrameSocket? { state.withLock { $0?.first } }

    /// Begins with the first connection to a host.
    func begin(_ first: FrameSocket, isOfSession: Bool) {
        state.withLock { $0 = State(first: first, isOfSession: isOfSession) }
    }

    /// Whether the host serves the programs of the session, and not this one alone.
    var areOfSession: Bool { state.withLock { $0?.isOfSession ?? false } }

    /// Whether the connections are to be used: programs close descriptors that are not theirs, and give up rights.
    var areUsable: Bool { state.withLock { $0.map { $0.first.isIntact && $0.rights == .now } ?? false } }

    /// Whether a host serves the process now.
    var areServed: Bool { areUsable && first?.isClosed == false }

    /// A connection for one request: an idle one, or another one.
    ///
    /// - Parameter end: the end of the wait where as many requests are under way as may be.
    func take(of first: FrameSocket, until end: ContinuousClock.Instant) -> Taken {
        guard places.wait(for: end - .now) else { return .busy }
        while let idle = state.withLock({ $0?.first === first ? $0?.idle.popLast() : nil }) {
            if idle.isIntact { return .connection(idle) }
        }
        if let connection = first.makeConnection() { return .connection(connection) }
        places.signal()
        return first.isClosed ? .ended : .noDescriptor
    }

    enum Taken {
        case connection(FrameSocket)
        /// As many requests are under way as may be.
        case busy
        case noDescriptor
        case ended
    }

    /// Ends the use of a connection.
    ///
    /// - Parameter isIdle: whether it may be used again. On any other, an answer may still come.
    func release(_ connection: FrameSocket, of first: FrameSocket, isIdle: Bool) {
        if isIdle {
            state.withLock { state in
                if state?.first === first { state?.idle.append(connection) }
            }
        }
        places.signal()
    }

    /// Drops the connections to a host that has ended.
    func forget(_ first: FrameSocket) {
        state.withLock { state in
            if state?.first === first { state = nil }
        }
    }
}

/// The connections of the present process, in place of those of the process that made the client.
final class ConnectionsOfProcess: Sendable {
    /// The address of the connections, which are retained.
    private let address = Atomic(ConnectionsOfProcess.retained(ClientConnections()))

    var present: ClientConnections {
        while true {
            let former = address.load(ordering: .acquiring)
            let connections = ConnectionsOfProcess.connections(at: former)
            guard connections.process != getpid() else { return connections }
            // The parent's are left as they are: nothing of them may be closed or locked here.
            let own = ClientConnections()
            let made = ConnectionsOfProcess.retained(own)
            let exchange = address.compareExchange(
                expected: former, desired: made, ordering: .acquiringAndReleasing)
            if exchange.exchanged { return own }
            unsafe Unmanaged.passUnretained(own).release()
        }
    }

    private static func retained(_ connections: ClientConnections) -> UInt {
        unsafe UInt(bitPattern: Unmanaged.passRetained(connections).toOpaque())
    }

    private static func connections(at address: UInt) -> ClientConnections {
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return ClientConnections() }
        return unsafe Unmanaged<ClientConnections>.fromOpaque(pointer).takeUnretainedValue()
    }

    deinit {
        let present = present
        if present.areUsable { present.first?.shutDown() }
        unsafe Unmanaged.passUnretained(present).release()
    }
}
