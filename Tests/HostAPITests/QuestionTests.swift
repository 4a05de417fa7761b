import KeychainModel
import Localization
import SecureBytes
import Synchronization
import Testing
import Wire

@testable import HostAPI

/// Answers each secret question with "123456", agrees to questions that end in "?", and declines those about "nothing".
final class PersonForQuestions: Prompter {
    var canAsk: Bool { true }
    var canAskAgain: Bool { true }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        guard request.subject != "nothing" else { throw KeychainError(.userCanceled, "canceled") }
        return Secret(copying: Array("123456".utf8).span)
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { question.hasSuffix("?") }
}

/// A question of the host that its client asks, by messages.
@Suite struct QuestionTests {
    private let person = PersonForQuestions()
    private let notices = Notices()

    /// The notices that reach the client.
    private final class Notices: Sendable {
        private let notices = Mutex<[HostNotice]>([])
        var all: [HostNotice] { notices.withLock(\.self) }
        func append(_ notice: HostNotice) { notices.withLock { $0.append(notice) } }
    }

    private func prompter(_ reply: HostReply? = nil, _ abilities: PromptAbilities? = nil) -> ClientPrompter {
        ClientPrompter(abilities) { [notices] notice in
            notices.append(notice)
        } exchange: { [person] question, _ in
            reply ?? person.reply(to: question)
        }
    }

    private func roundTrip<Value: Equatable>(
        _ value: Value, _ message: MessageWriter, _ parse: ([UInt8], consuming Secret) throws(WireError) -> Value,
        _ again: (Value) -> MessageWriter
    ) throws {
        #expect(try parse(message.bytes, message.lane) == value)
        #expect(throws: WireError.self) { try parse(message.bytes + [0], message.lane) }
        for count in 0..<message.bytes.count {
            #expect(throws: WireError.self) { try parse(Array(message.bytes.prefix(count)), message.lane) }
        }
        for index in message.bytes.indices {
            for change in [0x01, 0x80, 0xFF] as [UInt8] {
                var bytes = message.bytes
                bytes[index] ^= change
                guard let parsed = try? parse(bytes, message.lane) else { continue }
                #expect(again(parsed).bytes == bytes)
            }
        }
    }

    @Test func theFirstMessageOfAClientHasOneForm() throws {
        for abilities in [nil] + MessageSamples.abilities.map(Optional.init) {
            let hello = ServiceHello(
                oldestVersion: 1, newestVersion: abilities == nil ? 3 : 1, environment: [[], Array("LANG=C".utf8)],
                abilities: abilities)
            let bytes = hello.encoded()
            #expect(try ServiceHello(parsing: bytes) == hello)
            for count in bytes.indices {
                #expect(throws: WireError.self) { try ServiceHello(parsing: Array(bytes.prefix(count))) }
            }
            #expect(throws: WireError.self) { try ServiceHello(parsing: bytes + [0]) }
        }
        for options in MessageSamples.options {
            let hello = ServiceHello(environment: [], options: options)
            #expect(try ServiceHello(parsing: hello.encoded()) == hello)
            try roundTrip(options, options.message(), HostOptions.init(parsing:lane:)) { $0.message() }
        }
        let number = RequestNumber(rawValue: .max - 1)
        #expect(try RequestNumber(parsing: number.encoded()) == number)
        #expect(throws: WireError.self) { try RequestNumber(parsing: number.encoded() + [0]) }
    }

    /// The bytes that a client of version 1 sent.
    @Test func aHelloOfVersion1HasTheStandardOptions() throws {
        let bytes: [UInt8] =
            [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 1, 0, 1, 0, 17, 0, 0, 0]
            + Array("give it otherwise".utf8) + [1, 0, 0, 0, 6, 0, 0, 0] + Array("LANG=C".utf8)
        let hello = try ServiceHello(parsing: bytes)
        #expect((hello.oldestVersion, hello.newestVersion) == (1, 1))
        #expect(hello.abilities == MessageSamples.abilities[0])
        #expect(hello.environment == [Array("LANG=C".utf8)])
        #expect(hello.options == .standard)
        #expect(hello.encoded() == bytes)
    }

    @Test(arguments: [
        HostOptions(modules: .named(Array(repeating: "m", count: 257))),
        HostOptions(modules: .named([String(repeating: "m", count: 4097)])),
        HostOptions(modules: .named(["a\0b"])), HostOptions(reader: String(repeating: "r", count: 4097)),
        HostOptions(accessGroups: AccessGroups(Array(repeating: "g", count: 257))),
    ])
    func optionsBeyondTheirBoundsAreRefused(options: HostOptions) {
        #expect(!options.isWithinBounds)
        let message = options.message()
        #expect(throws: WireError.malformed) { try HostOptions(parsing: message.bytes, lane: message.lane) }
    }

    @Test func questionsRepliesAndAbilitiesComeOutAsTheyWentIn() throws {
        for question in MessageSamples.questions {
            try roundTrip(question, question.message(), HostQuestion.init(parsing:lane:)) { $0.message() }
        }
        for reply in MessageSamples.replies {
            try roundTrip(reply, reply.message(), HostReply.init(parsing:lane:)) { $0.message() }
        }
        for notice in MessageSamples.notices {
            try roundTrip(notice, notice.message(), HostNotice.init(parsing:lane:)) { $0.message() }
        }
        for abilities in MessageSamples.abilities {
            try roundTrip(abilities, abilities.message(), PromptAbilities.init(parsing:lane:)) { $0.message() }
        }
    }

    @Test func thePINOfAReplyIsInTheLaneForSecretsAlone() {
        let message = HostReply.secret(MessageSamples.secret("123456")).message()
        #expect(!message.bytes.contains(Array("123456".utf8)))
        let lane = message.lane.copied()
        #expect(lane == Array("123456".utf8))
    }

    @Test func thePersonAtTheClientIsAsked() throws {
        let prompter = prompter()
        #expect(prompter.canAsk && prompter.canAskAgain && prompter.canConfirm && prompter.allowsPINPad)
        let answer = try prompter.ask(PromptRequest(.pin, subject: "card")).copied()
        #expect(answer == Array("123456".utf8))
        #expect(throws: KeychainError(.userCanceled)) {
            _ = try prompter.ask(PromptRequest(.pin, subject: "nothing")).count
        }
        #expect(try prompter.confirm("Sure?"))
        #expect(try !prompter.confirm("Sure"))
    }

    @Test func aNoticeIsEndedByItsNumber() {
        let prompter = prompter()
        prompter.tell("Wrong PIN.")
        let end = prompter.show("Touch the card now")
        let endOfWait = prompter.showWait(forCardIn: "Desk Reader")
        endOfWait?()
        end?()
        let all = notices.all
        guard case .message(_, let message) = all[1], case .wait(_, let wait) = all[2] else {
            Issue.record("\(all)")
            return
        }
        #expect(message != wait)
        #expect(
            all == [
                .remark("Wrong PIN."), .message("Touch the card now", number: message),
                .wait(forCardIn: "Desk Reader", number: wait), .over(wait), .over(message),
            ])
    }

    @Test func aClientThatAnswersAnotherQuestionIsRefused() {
        #expect(throws: KeychainError(.internal)) {
            _ = try prompter(.consent(true)).ask(PromptRequest(.pin, subject: "card")).count
        }
        #expect(throws: KeychainError(.internal)) {
            try prompter(.secret(MessageSamples.secret("y"))).confirm("Sure?")
        }
    }

    @Test func onlyAnAnswerOfTheFormIsWorthTypingOnceMore() {
        let form = PromptRequest.Form(lengths: 6...8, onlyDigits: true)
        let request = PromptRequest(.newPIN, subject: "card", form: form)
        func wantsRepetition(_ answer: String) -> Bool {
            request.wantsRepetition(of: Secret(copying: Array(answer.utf8).span))
        }
        #expect(wantsRepetition("123456"))
        #expect(!wantsRepetition("12345"))
        #expect(!wantsRepetition("123456789"))
        #expect(!wantsRepetition("12345a"))
        let isForKnownPIN = PromptRequest(.pin, subject: "card").wantsRepetition(of: Secret(copying: [0x31].span))
        #expect(!isForKnownPIN)
    }
}
