import HostAPI
import KeychainModel
import Localization
import SecureBytes
import TestSupport
import Testing

@testable import Prompters

@Suite struct PromptRequestTests {
    static let sentences: [(PromptRequest, String)] = [
        (PromptRequest(.pin, subject: "card"), "PIN for 'card'"),
        (PromptRequest(.pin, subject: "card", use: "sign", triesLeft: 2), "PIN for 'card' to sign, 2 tries left"),
        (PromptRequest(.pin, subject: "card", triesLeft: 1), "PIN for 'card', last try"),
        (PromptRequest(.newUnblockingKey, subject: "card"), "new PUK for 'card'"),
        (PromptRequest(.password, subject: "login", use: "read it"), "password for 'login' to read it"),
    ]

    @Test(arguments: sentences) func theSentenceSaysWhatAPersonMustKnow(request: PromptRequest, sentence: String) {
        #expect(request.sentence == sentence)
    }

    /// The message goes to programs, which print it as it is.
    @Test(arguments: [
        ("a\u{1B}[2Jb\nc\u{202E}", "PIN for 'a\u{FFFD}[2Jb\u{FFFD}c\u{FFFD}' is needed"),
        ("Jörg's 🔑\u{9B}\u{200B}", "PIN for 'Jörg's 🔑\u{FFFD}\u{FFFD}' is needed"),
    ])
    func `A name in an error moves no cursor, and reverses no text`(_ subject: String, _ beginning: String) {
        let request = PromptRequest(.pin, subject: subject)
        #expect(KeychainError.cannotAsk(request, by: NoPrompter()).description.hasPrefix(beginning))
    }

    @Test func whatIsTypedOnTheReaderIsSaidSo() {
        let request = PromptRequest(.pin, subject: "a-b", use: "sign", triesLeft: 2, failure: "wrong")
        #expect(request.instruction == "Enter the PIN for 'a-b' to sign on the reader's keypad, 2 tries left")
        let (first, second) = (TypesInTurn(), TypesInTurn())
        FirstAvailablePrompter([first, NoPrompter(), second]).tellOfPINPad(request)
        for person in [first, second] { #expect(person.messages == ["wrong", request.instruction]) }
        first.tellOfPINPad(PromptRequest(.pin, subject: "card"))
        #expect(first.messages.last == "Enter the PIN for 'card' on the reader's keypad")
        #expect(first.messages.count == 3)
    }

    /// The reader's keypad is not used if no question is allowed, or if a script has the answer.
    @Test func whoMayTypeOnTheReader() throws {
        #expect(TerminalPrompter().allowsPINPad)
        #expect(PinentryPrompter(program: "/nonexistent").allowsPINPad)
        #expect(FirstAvailablePrompter([PinentryPrompter(program: "/nonexistent"), NoPrompter()]).allowsPINPad)
        #expect(!NoPrompter().allowsPINPad)
        #expect(!AnswersByScript("123456").allowsPINPad)
        #expect(!FirstAvailablePrompter([NoPrompter()]).allowsPINPad)
    }

    private func answer(of prompter: some Prompter) throws -> String {
        let secret = try prompter.ask(PromptRequest(.pin, subject: "x"))
        return String(decoding: Array(copying: secret.bytes), as: UTF8.self)
    }

    @Test func theFirstThatCanAskIsAsked() throws {
        let (first, second) = (TypesInTurn("1"), TypesInTurn("2"))
        let prompter = FirstAvailablePrompter([NoPrompter(), first, second])
        #expect(prompter.canAsk)
        #expect(prompter.canAskAgain)
        #expect(try answer(of: prompter) == "1")
        #expect(second.requests.isEmpty)
        #expect(try !prompter.confirm("?"))
    }

    @Test func oneThatTurnsOutUnableIsPassedOver() throws {
        let person = TypesInTurn("2", agrees: true)
        let prompter = FirstAvailablePrompter([BreaksWhenAsked(), person])
        #expect(try answer(of: prompter) == "2")
        #expect(try prompter.confirm("?"))
    }

    /// The remedy names functions to a program, and options to a user of the command.
    @Test func whoCannotAskNamesTheWaysThatThereAre() throws {
        func remedy(_ prompter: some Prompter) throws -> String? {
            let error = #expect(throws: KeychainError(.interactionNotAllowed)) {
                _ = try prompter.ask(PromptRequest(.pin, subject: "x")).count
            }
            return try #require(error).remedy
        }
        for prompter in [FirstAvailablePrompter([]), FirstAvailablePrompter([], alternative: "use -x")] {
            #expect(try remedy(prompter) == prompter.alternative)
        }
        #expect(try remedy(NoPrompter(alternative: "use -x")) == "use -x")
        let standard = try #require(try remedy(NoPrompter()))
        #expect(standard.contains("LAContext") && !standard.contains("--"))
    }

    @Test func noneIsNobody() throws {
        for prompter in [FirstAvailablePrompter([]), FirstAvailablePrompter([NoPrompter()])] {
            #expect(!prompter.canAsk)
            #expect(!prompter.canAskAgain)
            #expect(throws: KeychainError(.interactionNotAllowed)) {
                _ = try prompter.ask(PromptRequest(.pin, subject: "x")).count
            }
            #expect(try !prompter.confirm("?"))
        }
    }
}
