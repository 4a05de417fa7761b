internal import Glibc
package import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform
internal import SecureBytes
internal import Synchronization
internal import Wire
internal import WireTransport

/// A client of a host behind a socket. Requests of several threads have a connection each, which later requests use again.
///
/// When a host ends, the requests that are under way fail. Where there is none, the next request fails. The client's subscriptions, and the
/// keychains that it opened by path or unlocked for itself, are lost then. Further requests go to the host that is there by then. A host ends
/// the client's state with the client's last reference.
package final class SocketClient: Sendable {
    private let hosts: [Host]
    private let options: HostOptions
    private let hello: ServiceHello
    private let prompter: any Prompter
    /// The file for the trace of commands to cards; nil for none.
    private let trace: Int32?
    private let connectionsOfProcess = ConnectionsOfProcess()
    private let lastNumber = Atomic<UInt32>(0)

    private var connections: ClientConnections { connectionsOfProcess.present }

    /// Seconds in which a host that is alive says something.
    private static let patience = 25
    /// The time that a host may take to log out of cards.
    private static let patienceAtEnd = Duration.seconds(5)
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
        hello = ServiceHello(environment: environment, options: options)
    }

    /// Introduces the client to a host ahead of its first request.
    ///
    /// - Throws: `errSecNotAvailable` where no host serves the client.
    package func connect() throws(KeychainError) { _ = try served(connections) }

    /// Ends the client's state, and returns once the host has released its cards and files, or after some seconds. A later request begins
    /// anew.
    package func end() {
        let connections = connections
        guard connections.areUsable, let first = connections.first else { return }
        connections.forget(first)
        first.endSending()
        _ = first.hasMessage(by: .now + SocketClient.patienceAtEnd)
    }

    deinit {
        if let trace { close(trace) }
    }

    /// The face of the host.
    package var service: any KeychainService {
        service(prompter) { (request, context, prompter, end) throws(KeychainError) in
            try self.exchange(request.message(context), ShownNotices(prompter, waits: prompter), prompter, until: end)
        }
    }

    /// The face of the host, where all questions are the client's, and a prompter of its own asks them: also those that a request leaves
    /// to the host. Requests that ask nobody fail with the prompter's alternative. All services of a client share its state in the host.
    package func service(asking own: any Prompter) -> any KeychainService {
        service(own) { (request, context, prompter, end) throws(KeychainError) in
            let isSilent = context.questions == .never
            let asked = isSilent ? NoPrompter(alternative: own.alternative) : prompter
            var context = context
            context.questions = .byClient
            return try self.exchange(request.message(context), ShownNotices(asked, waits: own), asked, until: end)
        }
    }

    /// - Parameter exchange: sends a request, for which the given prompter gives up its questions in time, and waits until then.
    private func service(
        _ prompter: any Prompter,
        _ exchange:
            @escaping @Sendable (HostRequest, RequestContext, any Prompter, ContinuousClock.Instant?)
            throws(KeychainError) -> HostAnswer
    ) -> any KeychainService {
        WireService(
            cancelling: { self.cancel($0) }, isConnected: { self.connections.areServed },
            exchange: { (request, context) throws(KeychainError) in
                let end = context.timeLimit.map { ContinuousClock.now + $0 + SocketClient.grace }
                return try exchange(
                    request, context, end.map { prompter.givingUp(at: QuestionEnd(at: $0)) } ?? prompter, end)
            })
    }

    private static var deadline: ContinuousClock.Instant { .now + .seconds(patience) }

    private static let noDescriptor = KeychainError(
        .allocate, "no descriptor is left for a connection to the host (close some files)")

    private static let ended = KeychainError(.notAvailable, "the host of the keychains has ended (try again)")

    private func exchange(
        _ request: MessageWriter, _ notices: consuming ShownNotices, _ prompter: any Prompter,
        until end: ContinuousClock.Instant?
    ) throws(KeychainError) -> HostAnswer {
        guard request.bytes.count <= FrameSocket.maximumFields, request.lane.count <= FrameHeader.maximumSecrets else {
            throw KeychainError(.dataTooLarge, "the request is longer than a message to the host (give less at once)")
        }
        let connections = connections
        let first = try served(connections)
        let connection: FrameSocket
        switch connections.take(of: first, until: end ?? SocketClient.deadline) {
        case .connection(let taken): connection = taken
        case .busy:
            throw KeychainError(
                .notAvailable, "the program has too many requests under way (try again, with fewer threads)")
        case .noDescriptor:
            throw SocketClient.noDescriptor
        case .ended:
            connections.forget(first)
            throw SocketClient.ended
        }
        let answer = answer(request, notices, prompter, over: connection, until: end)
        connections.release(connection, of: first, isIdle: answer != nil)
        if let answer { return answer }
        if let end, .now >= end { throw KeychainError(.userCanceled, "the time of the request is over") }
        let hasEnded = first.isClosedSoon
        // A host that goes on later is not to answer what has been given up.
        if !hasEnded, first.isIntact { first.shutDown() }
        connections.forget(first)
        if hasEnded { throw SocketClient.ended }
        throw KeychainError(
            .notAvailable, "the host of the keychains does not answer, and may have carried out the request")
    }

    /// - Returns: nil where the host is gone, says nothing for a while, or says something else than an answer.
    private func answer(
        _ request: MessageWriter, _ notices: consuming ShownNotices, _ prompter: any Prompter,
        over connection: FrameSocket, until end: ContinuousClock.Instant?
    ) -> HostAnswer? {
        let number = nextNumber
        guard connection.sendMessage(.request, number: number, request.bytes, request.lane) else { return nil }
        while let message = connection.receiveMessage(
            upTo: FrameSocket.maximumFields, by: min(end ?? SocketClient.deadline, SocketClient.deadline)),
            message.number == number
        {
            let (kind, fields) = (message.kind, message.fields)
            switch kind {
            case .working:
                if let end, .now >= end { return nil }
                continue
            case .question:
                guard let question = try? HostQuestion(parsing: fields, lane: message.takeSecrets()) else { return nil }
                if question != .abilities { notices.endAll() }
                let reply = prompter.reply(to: question).message()
                // The program may have closed the descriptor meanwhile, and have a file of its own there.
                guard connection.isIntact, connection.sendMessage(.reply, number: number, reply.bytes, reply.lane)
                else {
                    return nil
                }
                continue
            case .notice:
                guard let notice = try? HostNotice(parsing: fields, lane: message.takeSecrets()) else { return nil }
                notices.take(notice)
                continue
            case .answer: return try? HostAnswer(parsing: fields, lane: message.takeSecrets())
            case .hello, .serviceHello, .keychainHello, .join, .connection, .request, .reply, .cancellation, .part,
                .trace:
                return nil
            }
        }
        return nil
    }

    /// Cancels a request that is under way on another connection, and returns once the host knows. A host that is gone has cancelled all
    /// requests.
    private func cancel(_ request: RequestNumber) {
        let connections = connections
        // The request may be waiting for the host's start.
        connections.connecting.withLock { _ in }
        guard connections.areServed, let connection = connections.first?.makeConnection() else { return }
        if connection.send(.cancellation, number: nextNumber, request.encoded(), Secret(capacity: 0) { _ in }) {
            _ = connection.receive(by: SocketClient.deadline)
        }
    }

    private var nextNumber: UInt32 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

    // MARK: Connections

    /// The first connection to a host that serves the client: the present one, or else another host's.
    private func served(_ connections: ClientConnections) throws(KeychainError) -> FrameSocket {
        try connections.connecting.withLock { _ throws(KeychainError) in
            if let present = connections.first {
                let isUsable = connections.areUsable
                if isUsable, !present.isClosed { return present }
                connections.forget(present)
                if isUsable { throw SocketClient.ended }
            }
            let (first, host) = try introduce()
            connections.begin(first, isOfSession: host.start == nil)
            return first
        }
    }

    /// Whether the programs of the session share the host that serves the client. Connects to it.
    package var isOfSession: Bool {
        get throws(KeychainError) {
            try connect()
            return connections.areOfSession
        }
    }

    /// The connection to the first of the hosts that serves the client.
    ///
    /// - Throws: the reason of the last one; `errSecParam` for options beyond their bounds.
    private func introduce() throws(KeychainError) -> (FrameSocket, Host) {
        guard options.isWithinBounds else {
            throw KeychainError(.param, "the names of modules, readers or access groups are too many or too long")
        }
        var failure = SocketClient.ended
        for host in hosts {
            do throws(KeychainError) { return (try introduce(to: host), host) } catch { failure = error }
        }
        throw failure
    }

    private func introduce(to host: Host) throws(KeychainError) -> FrameSocket {
        let first = FrameSocket(try host.connect())
        guard first.send(.serviceHello, number: 0, hello.encoded(), Secret(capacity: 0) { _ in }),
            let answer = first.receive(by: SocketClient.deadline), answer.header.kind == .hello,
            let decision = try? HelloAnswer(parsing: answer.fields)
        else {
            let failure = KeychainError(
                .notAvailable, "the host of the keychains ends, or does not answer (tokenctl doctor)")
            host.start?.note(failure)
            throw failure
        }
        let reason: LocalizedText
        switch decision {
        case .served:
            host.start?.note(nil)
            if let trace, !first.pass(trace, as: .trace) { throw SocketClient.ended }
            return first
        case .otherVersion, .servedRemotely:
            reason = "the host of the keychains is of another version (tokenctl host stop, or install one version)"
        case .otherEnvironment:
            reason = """
                the host of the keychains serves other folders, or another card service (tokenctl host stop, and start one with \
                the variables of this program)
                """
        case .busy:
            reason = "the host of the keychains has all the clients that it serves (end some, or try again)"
        }
        let failure = KeychainError(.notAvailable, reason)
        host.start?.note(failure)
        throw failure
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
        package static func session(_ runtime: String) -> Host { session(runtime, startedBy: nil) }

        /// - Parameter start: starts the host where there is none; nil to look for one alone.
        static func session(_ runtime: String, startedBy start: SessionStart?) -> Host {
            Host { () throws(KeychainError) in
                var connected = HostSocket.connect(in: runtime)
                if connected == nil, let start {
                    try start.start(in: runtime)
                    connected = HostSocket.connect(in: runtime)
                }
                guard let descriptor = connected else {
                    throw KeychainError(.notAvailable, "the session has no host that answers (tokenctl host start)")
                }
                let moved = Descriptor.moved(descriptor, to: FrameSocket.lowestOfPrograms)
                guard moved >= 0 else { throw SocketClient.noDescriptor }
                return moved
            }
        }

        static func ownStarted(by start: HostStart) -> Host { Host(start) }
    }
}
