internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import Synchronization
internal import Wire
internal import WireTransport

/// A connection of a client, over which one request comes after the other. The questions and notices about a request go back over it to
/// the client, which waits there for the answer.
final class RequestLine: Sendable {
    let connection: FrameSocket
    private let heartbeat: Heartbeat
    /// The number of the request that is being answered; nil between requests. The lock is held during a question.
    private let answering = Mutex<UInt32?>(nil)

    private static let longestReply = 64 << 10

    init(_ connection: FrameSocket, _ heartbeat: Heartbeat) {
        (self.connection, self.heartbeat) = (connection, heartbeat)
    }

    /// Begins to answer a request.
    func begin(_ number: UInt32) {
        answering.withLock { $0 = number }
        heartbeat.begin(connection, number)
    }

    /// Ends the questions of the request, and its signs of life.
    func end() {
        answering.withLock { $0 = nil }
        heartbeat.end(connection)
    }

    /// A prompter that asks the client about one request, from any thread, until the request is answered. Its notices wait for no client:
    /// their threads may hold a card.
    func prompter(for number: UInt32, _ abilities: PromptAbilities) -> ClientPrompter {
        ClientPrompter(abilities) { [connection] notice in
            connection.sendNotice(number: number, notice.message().bytes)
        } exchange: { [self] question throws(KeychainError) in
            try answering.withLock { answering throws(KeychainError) in
                guard answering == number else {
                    throw KeychainError(
                        .interactionNotAllowed, "the program waits for no answer at which it could be asked")
                }
                return try reply(to: question, number)
            }
        }
    }

    private func reply(to question: HostQuestion, _ number: UInt32) throws(KeychainError) -> HostReply {
        // The client reads no sign of life while it asks.
        heartbeat.end(connection)
        defer { heartbeat.begin(connection, number) }
        let asked = question.message()
        if connection.sendMessage(.question, number: number, asked.bytes, asked.lane),
            let frame = connection.receive(admitting: { header, _ in
                header.kind == .reply && header.number == number
                    && header.fieldCount + header.secretCount <= RequestLine.longestReply
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
