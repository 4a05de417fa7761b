internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization
internal import Wire
internal import WireTransport

/// A connection of a client, over which one request comes after the other. The questions and notices about a request go back over it to
/// the client, which waits there for the answer.
final class RequestLine: Sendable {
    let connection: FrameSocket
    private let heartbeat: Heartbeat
    /// The lock is held during a question.
    private let state = Mutex(State())

    private struct State {
        /// The number of the request that is being answered; nil between requests.
        var answering: UInt32?
        /// The number of the last request, where its client has yet to reply to a question that was given up.
        var owedReply: UInt32?
    }

    /// A secret of the greatest length, and an error's words.
    private static let longestReply = Limits.secret + (64 << 10)

    init(_ connection: FrameSocket, _ heartbeat: Heartbeat) {
        (self.connection, self.heartbeat) = (connection, heartbeat)
    }

    /// Begins to answer a request.
    func begin(_ number: UInt32) {
        state.withLock { $0 = State(answering: number) }
        heartbeat.begin(connection, number)
    }

    /// Ends the questions of the request, and its signs of life.
    func end() {
        state.withLock { $0.answering = nil }
        heartbeat.end(connection)
    }

    /// Takes the reply to a question of an earlier request that was given up.
    ///
    /// - Returns: false where there was no such question.
    func takeLateReply(_ number: UInt32) -> Bool {
        state.withLock { state in
            guard state.owedReply == number else { return false }
            state.owedReply = nil
            return true
        }
    }

    /// A prompter that asks the client about one request, from any thread, until the request is answered. Its notices wait for no client:
    /// their threads may hold a card.
    ///
    /// - Parameter abilities: the client's abilities; nil to ask the client for them.
    func prompter(for number: UInt32, _ abilities: PromptAbilities?) -> ClientPrompter {
        ClientPrompter(abilities) { [connection] notice in
            connection.sendNotice(number: number, notice.message().bytes)
        } exchange: { [self] question, end throws(KeychainError) in
            try state.withLock { state throws(KeychainError) in
                guard state.answering == number, state.owedReply == nil else {
                    throw KeychainError(
                        .interactionNotAllowed, "the program waits for no answer at which it could be asked")
                }
                return try reply(to: question, number, by: end, &state)
            }
        }
    }

    private func reply(
        to question: HostQuestion, _ number: UInt32, by end: ContinuousClock.Instant?, _ state: inout State
    ) throws(KeychainError) -> HostReply {
        // The client reads no sign of life while it asks.
        heartbeat.end(connection)
        defer { heartbeat.begin(connection, number) }
        let asked = question.message()
        let isSent = connection.sendMessage(.question, number: number, asked.bytes, asked.lane)
        if isSent, let end, !connection.hasMessage(by: end) {
            state.owedReply = number
            throw KeychainError(.userCanceled, "the time for an answer is over")
        }
        if isSent,
            let frame = connection.receive(admitting: { header in
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
