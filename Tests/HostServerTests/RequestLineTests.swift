import Glibc
import KeychainModel
import Platform
import SecureBytes
import Synchronization
import TestSupport
import Testing
import Wire
import WireTransport

@testable import HostAPI
@testable import HostServer

/// The host's end of a connection, while requests are answered.
@Suite struct RequestLineTests {
    private let client: FrameSocket
    private let line: RequestLine

    private static let abilities = PromptAbilities(
        canAsk: true, canAskAgain: true, canConfirm: true, allowsPINPad: true, alternative: "")

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        (client, line) = (FrameSocket(ends[0]), RequestLine(FrameSocket(ends[1]), Heartbeat()))
    }

    private var prompter: ClientPrompter { line.prompter(for: 5, Self.abilities) }

    @Test func anyThreadOfARequestFindsItsPerson() throws {
        line.begin(5)
        let agrees = Mutex<Bool?>(nil)
        BlockingThread.start { [prompter] in
            let answer = try? prompter.confirm("Sure?")
            agrees.withLock { $0 = answer }
        }
        let header = client.receive()?.header
        #expect(header?.kind == .question)
        #expect(header?.number == 5)
        let reply = HostReply.consent(true).message()
        let isSent = client.sendMessage(.reply, number: 5, reply.bytes, reply.lane)
        #expect(isSent)
        #expect(eventually { agrees.withLock { $0 } == true })
    }

    @Test func aQuestionIsGivenUpInTimeAndItsLateReplyIsNoRequest() {
        line.begin(5)
        let start = ContinuousClock.now
        let asked = prompter.givingUp(at: QuestionEnd(at: start + .milliseconds(300)))
        #expect(throws: KeychainError(.userCanceled)) { try asked.confirm("Sure?") }
        #expect(ContinuousClock.now - start < .seconds(2))
        // The reply that is still to come would answer another question.
        #expect(throws: KeychainError(.interactionNotAllowed)) { try asked.confirm("Really?") }
        line.end()
        #expect(!line.takeLateReply(4))
        #expect(line.takeLateReply(5))
        #expect(!line.takeLateReply(5))
    }

    @Test func aNoticeComesBeforeTheAnswerOrNever() throws {
        prompter.tell("early")
        line.begin(5)
        let end = prompter.show("Touch the card now")
        line.end()
        let isAnswered = line.connection.send(.answer, number: 5, [], Secret(capacity: 0) { _ in })
        #expect(isAnswered)
        end?()
        prompter.tell("late")
        line.begin(6)
        prompter.tell("late")
        line.connection.shutDown()
        guard let frame = client.receive(), frame.header.kind == .notice,
            case .message("Touch the card now", _)? = try? HostNotice(
                parsing: frame.fields, lane: Secret(capacity: 0) { _ in })
        else {
            Issue.record("it is another message")
            return
        }
        let next = client.receive()?.header.kind
        #expect(next == .answer)
        let isNothing = client.receive() == nil
        #expect(isNothing)
    }

    /// A thread that holds a card would wait with it.
    @Test(arguments: [10, 2_000, 1 << 20]) func aClientThatDoesNotReadHoldsNoThread(length: Int) {
        line.begin(5)
        let start = ContinuousClock.now
        let text = String(repeating: "a", count: length)
        for _ in 0..<min(1_000, (4 << 20) / length) { prompter.tell(text) }
        #expect(ContinuousClock.now - start < .seconds(10))
        // No notice is read in part.
        line.connection.shutDown()
        var count = 0
        while let header = client.receive()?.header {
            #expect(header.kind == .notice)
            count += 1
        }
        #expect((count > 0) == (length < 1 << 20))
    }

    @Test(arguments: [nil, 6] as [UInt32?]) func noPersonIsAskedAboutARequestThatIsAnswered(next: UInt32?) {
        line.begin(5)
        let prompter = prompter
        line.end()
        if let next { line.begin(next) }
        #expect(throws: KeychainError(.interactionNotAllowed)) { try prompter.confirm("Sure?") }
        line.connection.shutDown()
        let isNothing = client.receive() == nil
        #expect(isNothing)
    }
}
