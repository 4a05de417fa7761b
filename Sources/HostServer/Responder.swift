internal import Glibc
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import PKCS11Bridge
internal import SecureBytes
internal import Wire
internal import WireTransport

/// Answers the requests of one client, from several threads at once.
protocol Responder: Sendable {
    /// Bytes that the fields of a request may have.
    var maximumFields: Int { get }

    /// - Returns: false where the client is gone, or sent something else than a request.
    func answer(_ message: consuming FrameSocket.Message, over line: RequestLine) -> Bool

    /// Ends the waits of the client's requests, and drops its state.
    func end()

    /// Whether a process may have a further connection of the client. A program may have given up rights since its first one.
    func admits(_ peer: Peer) -> Bool
}

extension Responder {
    func admits(_ peer: Peer) -> Bool { peer.user == geteuid() }
}

/// Answers the calls of a PKCS #11 module: the slots, sessions and logins of one initialisation of the module are the client's.
struct ModuleResponder: Responder {
    let cryptoki: Cryptoki

    var maximumFields: Int { FrameHeader.maximumFields }

    func answer(_ message: consuming FrameSocket.Message, over line: RequestLine) -> Bool {
        let number = message.number
        guard message.kind == .request, let call = try? PKCS11Call(parsing: message.fields) else { return false }
        line.begin(number)
        let result = cryptoki.result(of: call, secrets: message.takeSecrets())
        line.end()
        return line.connection.send(.answer, number: number, result.answer.encoded(), result.secrets)
    }

    func end() { cryptoki.finalize() }

    /// A server's workers go on with the sessions that were opened with the rights of the user who started it, as with any module.
    func admits(_ peer: Peer) -> Bool { true }
}

/// Answers the requests of a client that asks the host's face.
struct ServiceResponder: Responder {
    let service: any InProcessHost
    /// The abilities of a client of version 1.
    let abilities: PromptAbilities?

    var maximumFields: Int { FrameSocket.maximumFields }

    func answer(_ message: consuming FrameSocket.Message, over line: RequestLine) -> Bool {
        let (number, fields) = (message.number, message.fields)
        switch message.kind {
        case .cancellation:
            guard let request = try? RequestNumber(parsing: fields) else { return false }
            service.cancel(request)
            return line.connection.send(.answer, number: number, [], Secret(capacity: 0) { _ in })
        case .request:
            guard let (request, context) = try? HostRequest.parse(fields, lane: message.takeSecrets()) else {
                let failure = HostAnswer.failed(KeychainError(.param, "the request has a value that none can have"))
                return send(failure.message(), number, over: line.connection)
            }
            line.begin(number)
            let host = service.asking(line.prompter(for: number, abilities))
            // The message has the texts of errors, rendered.
            let answer = host.answer(request, context).message()
            line.end()
            return send(answer, number, over: line.connection)
        case .reply: return line.takeLateReply(number)
        case .hello, .serviceHello, .keychainHello, .join, .connection, .answer, .working, .question, .part, .trace,
            .notice:
            return false
        }
    }

    /// Sends an answer, or the reason why it cannot be sent.
    private func send(_ answer: MessageWriter, _ number: UInt32, over connection: FrameSocket) -> Bool {
        let fields = answer.bytes
        let lane = answer.lane
        if fields.count <= FrameSocket.maximumFields, lane.count <= FrameHeader.maximumSecrets {
            return connection.sendMessage(.answer, number: number, fields, lane)
        }
        let failure = HostAnswer.failed(
            KeychainError(.dataTooLarge, "the answer is longer than a message of the host (ask for less at once)"))
        return connection.sendMessage(.answer, number: number, failure.message().bytes, Secret(capacity: 0) { _ in })
    }

    func end() { service.end() }
}

/// Answers each request of a client of the face with the reason why the client cannot be served as its options want it.
struct RefusingResponder: Responder {
    let reason: KeychainError

    var maximumFields: Int { FrameSocket.maximumFields }

    func answer(_ message: consuming FrameSocket.Message, over line: RequestLine) -> Bool {
        let (kind, number) = (message.kind, message.number)
        guard kind == .request || kind == .cancellation else { return false }
        let fields = kind == .request ? HostAnswer.failed(reason).message().bytes : []
        return line.connection.sendMessage(.answer, number: number, fields, Secret(capacity: 0) { _ in })
    }

    func end() {}
}
