import TestSupport
import Testing
import TokenKit

@testable import KeychainHost

@Suite struct PromptRequestTests {
    static let sentences: [(PromptRequest, String)] = [
        (PromptRequest(.pin, subject: "card"), "PIN for 'card'"),
        (PromptRequest(.pin, subject: "card", use: "sign", triesLeft: 2), "PIN for 'card' to sign, 2 tries left"),
        (PromptRequest(.pin, subject: "card", triesLeft: 1), "PIN for 'card', last try"),
        (PromptRequest(.newUnblockingKey, subject: "card"), "new PUK for 'card'"),
        (PromptRequest(.password, subject: "login", use: "read it"), "password for 'login' to read it"),
        // A file's name moves no cursor, and turns round no text.
        (PromptRequest(.pin, subject: "a\u{1B}[2Jb\nc\u{202E}"), "PIN for 'a\u{FFFD}[2Jb\u{FFFD}c\u{FFFD}'"),
        (PromptRequest(.pin, subject: "Jörg's 🔑\u{9B}"), "PIN for 'Jörg's 🔑\u{FFFD}'"),
    ]

    @Test(arguments: sentences) func theSentenceSaysWhatAPersonMustKnow(request: PromptRequest, sentence: String) {
        #expect(request.sentence == sentence)
    }

    @Test func theFirstThatCanAskIsAsked() throws {
        let (first, second) = (TypesInTurn("1"), TypesInTurn("2"))
        let prompter = FirstAvailablePrompter([NoPrompter(), first, second])
        #expect(prompter.canAsk)
        #expect(prompter.canAskAgain)
        #expect(try prompter.ask(PromptRequest(.pin, subject: "x")).copiedBytes == Array("1".utf8))
        #expect(second.requests.isEmpty)
        #expect(try !prompter.confirm("?"))
    }

    @Test func oneThatTurnsOutUnableIsPassedOver() throws {
        let person = TypesInTurn("2", agrees: true)
        let prompter = FirstAvailablePrompter([BreaksWhenAsked(), person])
        #expect(try prompter.ask(PromptRequest(.pin, subject: "x")).copiedBytes == Array("2".utf8))
        #expect(try prompter.confirm("?"))
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
