internal import Glibc
package import HostAPI
internal import KeychainModel
internal import Platform
internal import SecureBytes
internal import Synchronization
internal import Wire
internal import WireTransport

/// A client of a host behind a socket. Requests of several threads have a connection each, which later requests use again. The host ends
/// the client's state with the client's last reference.
package final class SocketClient: Sendable {
    private let first: FrameSocket
    private let prompter: any Prompter
    private let idle = Mutex<[FrameSocket]>([])
    private let lastNumber = Atomic<UInt32>(0)

    /// Seconds in which a host that is alive says something.
    private static let patience = 25

    /// Introduces a client to the host at the other end of a socket, which the client takes over.
    ///
    /// - Parameters:
    ///   - prompter: asks where a request leaves questions to the client.
    ///   - environment: variables for the host, each as `NAME=value`.
    /// - Throws: `errSecNotAvailable` where the host does not serve the client.
    package init(
        _ descriptor: Int32, prompter: any Prompter, environment: [[UInt8]]
    ) throws(KeychainError) {
        first = FrameSocket(descriptor)
        self.prompter = prompter
        let hello = ServiceHello(abilities: PromptAbilities(of: prompter), environment: environment)
        guard first.send(.serviceHello, number: 0, hello.encoded(), Secret(capacity: 0) { _ in }),
            let answer = first.receive(by: SocketClient.deadline), answer.header.kind == .hello,
            let decision = try? HelloAnswer(parsing: answer.fields)
        else { throw SocketClient.ended }
        switch decision {
        case .served: break
        case .otherVersion:
            throw KeychainError(
                .notAvailable, "the host of the keychains is of another version (tokenctl host stop, and try again)")
        case .otherEnvironment:
            throw KeychainError(
                .notAvailable, "the host of the keychains serves other folders, or another card service")
        case .busy: throw KeychainError(.notAvailable, "the host of the keychains has all the clients that it serves")
        }
    }

    /// Introduces a client to the host that the programs of a session share.
    ///
    /// - Parameter runtime: the session's folder.
    package convenience init(
        in runtime: String, prompter: any Prompter, environment: [[UInt8]]
    ) throws(KeychainError) {
        guard let descriptor = HostSocket.connect(in: runtime) else {
            throw KeychainError(.notAvailable, "the session has no host (tokenctl host start)")
        }
        try self.init(descriptor, prompter: prompter, environment: environment)
    }

    deinit { first.shutDown() }

    /// The face of the host.
    package var service: any KeychainService {
        WireService { number in
            self.cancel(number)
        } exchange: { request throws(KeychainError) in
            try self.exchange(request)
        }
    }

    private static var deadline: ContinuousClock.Instant { .now + .seconds(patience) }

    private static let ended = KeychainError(
        .notAvailable, "the host of the keychains has ended, or does not answer (try again)")

    private func exchange(_ request: MessageWriter) throws(KeychainError) -> HostAnswer {
        let connection = try takeConnection()
        let number = nextNumber
        // A connection with a part of another exchange on it is not used again: it is closed with its last reference.
        guard connection.sendMessage(.request, number: number, request.bytes, request.lane) else {
            throw SocketClient.ended
        }
        while let message = connection.receiveMessage(upTo: FrameSocket.maximumFields, by: SocketClient.deadline),
            message.number == number
        {
            let (kind, fields) = (message.kind, message.fields)
            switch kind {
            case .working: continue
            case .question:
                guard let question = try? HostQuestion(parsing: fields, lane: message.takeSecrets()) else { break }
                let reply = prompter.reply(to: question).message()
                guard connection.sendMessage(.reply, number: number, reply.bytes, reply.lane) else { break }
                continue
            case .answer:
                guard let answer = try? HostAnswer(parsing: fields, lane: message.takeSecrets()) else { break }
                idle.withLock { $0.append(connection) }
                return answer
            case .hello, .serviceHello, .connection, .request, .reply, .cancellation, .part: break
            }
            break
        }
        throw SocketClient.ended
    }

    private func takeConnection() throws(KeychainError) -> FrameSocket {
        if let connection = idle.withLock({ $0.popLast() }) { return connection }
        guard let connection = first.makeConnection() else { throw SocketClient.ended }
        return connection
    }

    /// Cancels a request that is under way on another connection, and returns once the host knows. A host that is gone has cancelled all
    /// requests.
    private func cancel(_ request: RequestNumber) {
        guard let connection = try? takeConnection() else { return }
        let number = nextNumber
        if connection.send(.cancellation, number: number, request.encoded(), Secret(capacity: 0) { _ in }),
            let answer = connection.receive(by: SocketClient.deadline), answer.header.kind == .answer,
            answer.header.number == number
        {
            idle.withLock { $0.append(connection) }
        }
    }

    private var nextNumber: UInt32 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }
}
