internal import HostAPI
internal import KeychainModel
internal import PKCS11Bridge
internal import SecureBytes
internal import Wire
internal import WireTransport

/// Answers the requests of one client, from several threads at once.
protocol Responder: Sendable {
    /// Bytes that the fields of a request may have.
    var maximumFields: Int { get }

    /// - Returns: false where the client is gone, or sent something else than a request.
    func answer(_ message: consuming FrameSocket.Message, over connection: FrameSocket) -> Bool

    /// Ends the waits of the client's requests, and drops its state.
    func end()
}

/// Answers the calls of a PKCS #11 module: the slots, sessions and logins of one initialisation of the module are the client's.
struct ModuleResponder: Responder {
    let cryptoki: Cryptoki
    let heartbeat: Heartbeat

    var maximumFields: Int { FrameHeader.maximumFields }

    func answer(_ message: consuming FrameSocket.Message, over connection: FrameSocket) -> Bool {
        let number = message.number
        guard message.kind == .request, let call = try? PKCS11Call(parsing: message.fields) else { return false }
        heartbeat.begin(connection, number)
        let result = cryptoki.result(of: call, secrets: message.takeSecrets())
        heartbeat.end(connection)
        return connection.send(.answer, number: number, result.answer.encoded(), result.secrets)
    }

    func end() { cryptoki.finalize() }
}

/// Answers the requests of a client that asks the host's face.
struct ServiceResponder: Responder {
    let service: any InProcessHost
    let heartbeat: Heartbeat

    var maximumFields: Int { FrameSocket.maximumFields }

    func answer(_ message: consuming FrameSocket.Message, over connection: FrameSocket) -> Bool {
        let (number, fields) = (message.number, message.fields)
        switch message.kind {
        case .cancellation:
            guard let request = try? RequestNumber(parsing: fields) else { return false }
            service.cancel(request)
            return connection.send(.answer, number: number, [], Secret(capacity: 0) { _ in })
        case .request:
            guard let (request, context) = try? HostRequest.parse(fields, lane: message.takeSecrets()) else {
                return false
            }
            heartbeat.begin(connection, number)
            let line = QuestionLine(connection: connection, number: number, heartbeat: heartbeat)
            let answer = QuestionLine.$current.withValue(line) { service.answer(request, context) }.message()
            heartbeat.end(connection)
            return send(answer, number, over: connection)
        case .hello, .serviceHello, .connection, .answer, .working, .question, .reply, .part: return false
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

/// The connection whose request a thread answers. The questions about the request go over it to the client, which waits there.
struct QuestionLine: Sendable {
    @TaskLocal static var current: QuestionLine?

    let connection: FrameSocket
    let number: UInt32
    let heartbeat: Heartbeat

    private static let longestReply = 64 << 10

    /// A prompter that asks the client whose request the thread answers.
    static func prompter(_ abilities: PromptAbilities) -> ClientPrompter {
        ClientPrompter(abilities) { question throws(KeychainError) in
            guard let line = current else {
                throw KeychainError(
                    .interactionNotAllowed, "the program waits for no answer at which it could be asked")
            }
            return try line.reply(to: question)
        }
    }

    private func reply(to question: HostQuestion) throws(KeychainError) -> HostReply {
        // The client reads no sign of life while it asks.
        heartbeat.end(connection)
        defer { heartbeat.begin(connection, number) }
        let asked = question.message()
        if connection.sendMessage(.question, number: number, asked.bytes, asked.lane),
            let frame = connection.receive(admitting: { header, _ in
                header.kind == .reply && header.number == number
                    && header.fieldCount + header.secretCount <= QuestionLine.longestReply
            })
        {
            let fields = frame.fields
            if let reply = try? HostReply(parsing: fields, lane: frame.takeSecrets()) { return reply }
        }
        // The rest of a false reply would be taken for the next request.
        connection.shutDown()
        throw KeychainError(.userCanceled, "the program that was to ask has ended")
    }
}
