internal import Glibc
package import HostAPI
internal import KeychainModel
internal import Platform
internal import SecureBytes
internal import Synchronization
internal import Wire
internal import WireTransport

/// A client of a host behind a socket. Requests of several threads have a connection each, which later requests use again.
///
/// The requests that are under way when the host ends fail, or else the next one does: the client's state has gone, as subscriptions and
/// keychains that it opened by path. Further requests go to the host that is there by then. A host ends the client's state with the client's
/// last reference.
package final class SocketClient: Sendable {
    private let hosts: [Host]
    private let options: HostOptions
    private let hello: ServiceHello
    private let prompter: any Prompter
    /// The file for the trace of commands to cards; nil for none.
    private let trace: Int32?
    private let state = Mutex<State?>(nil)
    /// Held by the thread that connects.
    private let connecting = Mutex(())
    private let lastNumber = Atomic<UInt32>(0)

    /// The connections to a host that serves the client.
    private struct State {
        let process = getpid()
        let first: FrameSocket
        var idle: [FrameSocket] = []

        /// Whether they are this process's to use: a child by `fork` has its parent's, and programs close descriptors that are not theirs.
        var isOwn: Bool { process == getpid() && first.isIntact }
    }

    /// Seconds in which a host that is alive says something.
    private static let patience = 25
    /// The time by which the client gives up a question later than the host, which says why.
    private static let grace = Duration.seconds(1)

    /// - Parameters:
    ///   - hosts: the hosts that are asked to serve the client, in this order, by the first request and once a host has ended.
    ///   - prompter: asks where a request leaves questions to the client.
    ///   - environment: variables for the host, each as `NAME=value`.
    ///   - options: the choices that hold for all requests.
    ///   - trace: the descriptor of a file for the trace of commands to cards, which the client closes at its end. Only a private host
    ///     takes it; a shared one ends the connection.
    package init(
        of hosts: [Host], prompter: any Prompter, environment: [[UInt8]], options: HostOptions = .standard,
        trace: Int32? = nil
    ) {
        self.hosts = hosts
        self.prompter = prompter
        self.options = options
        self.trace = trace
        hello = ServiceHello(
            abilities: PromptAbilities(of: prompter), environment: environment, options: options)
    }

    /// Introduces the client to a host ahead of its first request.
    ///
    /// - Throws: `errSecNotAvailable` where no host serves the client.
    package func connect() throws(KeychainError) { _ = try served() }

    deinit {
        state.withLock { state in
            if state?.isOwn == true { state?.first.shutDown() }
        }
        if let trace { close(trace) }
    }

    /// The face of the host.
    package var service: any KeychainService {
        WireService { number in
            self.cancel(number)
        } exchange: { request, limit throws(KeychainError) in
            let end = limit.map { ContinuousClock.now + $0 + SocketClient.grace }
            return try self.exchange(request, end.map(self.prompter.givingUp) ?? self.prompter)
        }
    }

    private static var deadline: ContinuousClock.Instant { .now + .seconds(patience) }

    private static let ended = KeychainError(
        .notAvailable, "the host of the keychains has ended, or does not answer (try again)")

    private func exchange(_ request: MessageWriter, _ prompter: any Prompter) throws(KeychainError) -> HostAnswer {
        guard request.bytes.count <= FrameSocket.maximumFields, request.lane.count <= FrameHeader.maximumSecrets else {
            throw KeychainError(.dataTooLarge, "the request is longer than a message to the host (give less at once)")
        }
        let first = try served()
        do throws(KeychainError) {
            return try exchange(request, prompter, over: try connection(of: first), of: first)
        } catch {
            if first.isClosedSoon { forget(first) }
            throw error
        }
    }

    private func exchange(
        _ request: MessageWriter, _ prompter: any Prompter, over connection: FrameSocket, of first: FrameSocket
    ) throws(KeychainError) -> HostAnswer {
        // A connection on which the answer may still come is not given back: it is closed with its last reference.
        let number = nextNumber
        guard connection.sendMessage(.request, number: number, request.bytes, request.lane) else {
            throw SocketClient.ended
        }
        var notices = ShownNotices(prompter)
        while let message = connection.receiveMessage(upTo: FrameSocket.maximumFields, by: SocketClient.deadline),
            message.number == number
        {
            let (kind, fields) = (message.kind, message.fields)
            switch kind {
            case .working: continue
            case .question:
                guard let question = try? HostQuestion(parsing: fields, lane: message.takeSecrets()) else { break }
                notices.endAll()
                let reply = prompter.reply(to: question).message()
                guard connection.sendMessage(.reply, number: number, reply.bytes, reply.lane) else { break }
                continue
            case .notice:
                guard let notice = try? HostNotice(parsing: fields, lane: message.takeSecrets()) else { break }
                notices.take(notice)
                continue
            case .answer:
                guard let answer = try? HostAnswer(parsing: fields, lane: message.takeSecrets()) else { break }
                giveBack(connection, of: first)
                return answer
            case .hello, .serviceHello, .connection, .request, .reply, .cancellation, .part, .trace: break
            }
            break
        }
        throw SocketClient.ended
    }

    /// Cancels a request that is under way on another connection, and returns once the host knows. A host that is gone has cancelled all
    /// requests.
    private func cancel(_ request: RequestNumber) {
        guard let first = try? served(), let connection = try? connection(of: first) else { return }
        let number = nextNumber
        if connection.send(.cancellation, number: number, request.encoded(), Secret(capacity: 0) { _ in }),
            let answer = connection.receive(by: SocketClient.deadline), answer.header.kind == .answer,
            answer.header.number == number
        {
            giveBack(connection, of: first)
        }
    }

    private var nextNumber: UInt32 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

    // MARK: Connections

    /// The first connection to a host that serves the client: the present one, or else another host's.
    private func served() throws(KeychainError) -> FrameSocket {
        try connecting.withLock { _ throws(KeychainError) in
            if let present = state.withLock({ $0 }) {
                let hasEnded = present.isOwn && present.first.isClosed
                if present.isOwn, !hasEnded { return present.first }
                forget(present.first)
                if hasEnded { throw SocketClient.ended }
            }
            let first = try introduce()
            state.withLock { $0 = State(first: first) }
            return first
        }
    }

    /// The connection to the first of the hosts that serves the client.
    ///
    /// - Throws: the reason of the last one; `errSecParam` for options beyond their bounds.
    private func introduce() throws(KeychainError) -> FrameSocket {
        guard options.isWithinBounds else {
            throw KeychainError(.param, "the names of modules, readers or access groups are too many or too long")
        }
        var failure = SocketClient.ended
        for host in hosts {
            do throws(KeychainError) { return try introduce(to: host) } catch { failure = error }
        }
        throw failure
    }

    private func introduce(to host: Host) throws(KeychainError) -> FrameSocket {
        let first = FrameSocket(try host.connect())
        guard first.send(.serviceHello, number: 0, hello.encoded(), Secret(capacity: 0) { _ in }),
            let answer = first.receive(by: SocketClient.deadline), answer.header.kind == .hello,
            let decision = try? HelloAnswer(parsing: answer.fields)
        else {
            host.start?.noteFailure()
            throw SocketClient.ended
        }
        host.start?.noteSuccess()
        switch decision {
        case .served:
            if let trace, !first.pass(trace, as: .trace) { throw SocketClient.ended }
            return first
        case .otherVersion:
            throw KeychainError(
                .notAvailable, "the host of the keychains is of another version (tokenctl host stop, and try again)")
        case .otherEnvironment:
            throw KeychainError(
                .notAvailable, "the host of the keychains serves other folders, or another card service")
        case .busy:
            throw KeychainError(.notAvailable, "the host of the keychains has all the clients that it serves")
        }
    }

    private func connection(of first: FrameSocket) throws(KeychainError) -> FrameSocket {
        while let idle = state.withLock({ state in state?.first === first ? state?.idle.popLast() : nil }) {
            if idle.isIntact { return idle }
        }
        guard let connection = first.makeConnection() else { throw SocketClient.ended }
        return connection
    }

    private func giveBack(_ connection: FrameSocket, of first: FrameSocket) {
        state.withLock { state in
            if state?.first === first { state?.idle.append(connection) }
        }
    }

    /// Drops the connections to a host that has ended.
    private func forget(_ first: FrameSocket) {
        state.withLock { state in
            if state?.first === first { state = nil }
        }
    }
}

extension SocketClient {
    /// A host that may serve the client.
    package struct Host: Sendable {
        fileprivate let connect: @Sendable () throws(KeychainError) -> Int32
        /// The start of a host that serves this client alone.
        fileprivate let start: HostStart?

        /// - Parameter connect: connects to the host; the client takes the socket over.
        package init(connect: @escaping @Sendable () throws(KeychainError) -> Int32) {
            self.connect = connect
            start = nil
        }

        private init(_ start: HostStart) {
            connect = { () throws(KeychainError) in try start.connect() }
            self.start = start
        }

        /// The host that the programs of a session share.
        ///
        /// - Parameter runtime: the session's folder.
        package static func session(_ runtime: String) -> Host {
            Host { () throws(KeychainError) in
                if let descriptor = HostSocket.connect(in: runtime) { return descriptor }
                throw KeychainError(.notAvailable, "the session has no host that answers (tokenctl host start)")
            }
        }

        static func ownStarted(by start: HostStart) -> Host { Host(start) }
    }
}
