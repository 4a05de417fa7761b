import KeychainModel
import Localization
import SecureBytes
import Testing

@testable import HostAPI

@Suite struct AccessQuestionTests {
    private let program = AccessQuestion.Program(name: "mail", path: "/usr/bin/mail")

    @Test func itSaysWhoWantsWhat() {
        let question = AccessQuestion(
            .sign, of: "login key",
            by: .init(
                name: "python3", path: "/usr/bin/python3", script: "a.py", container: "a container", starter: "bash"),
            for: "example.org", hasChanged: true)
        #expect(
            question.lines == [
                "A program wants to sign with a key.", "Its file has changed since you last allowed it something.",
                "Item: login key", "Program: python3", "File: /usr/bin/python3", "Script, as the program says: a.py",
                "Runs in: a container", "Started by: bash", "For, as the program says: example.org",
            ])
        let short = AccessQuestion(.decrypt, of: "mail", by: .init(name: "mail"))
        #expect(short.lines == ["A program wants to decrypt with a key.", "Item: mail", "Program: mail"])
        #expect(short.offersAlways && !short.hasChanged && short.patience == .seconds(60))
    }

    @Test func itSaysWhoWantsAnotherProgramAllowed() {
        let question = AccessQuestion(
            .read, of: "mail", by: program, offersAlways: false, requestedBy: "tokenctl\n, started by bash")
        #expect(
            question.lines == [
                "Have a program use a key or a secret from now on, without a question?", "Item: mail",
                "Program: mail", "File: /usr/bin/mail", "Asked for by: tokenctl\u{FFFD}, started by bash",
            ])
    }

    @Test func eachUseHasItsWords() {
        let first = AccessQuestion.Use.allCases.map { AccessQuestion($0, of: "x", by: program).lines[0] }
        #expect(Set(first).count == AccessQuestion.Use.allCases.count)
    }

    /// A program chooses its name, its path and what it says of its purpose.
    @Test func noTextLooksLikeAnotherLineOrMovesOneAway() {
        let name =
            "mail\nItem: other\u{1B}[2J\u{202E}\u{2028}\u{200B}" + String(repeating: "\u{3000}\u{A0} ", count: 50) + "x"
        let question = AccessQuestion(
            .sign, of: "<b>key</b>", by: .init(name: name, path: "/" + String(repeating: "%🔑", count: 2000) + "/mail"),
            for: String(repeating: "e\u{301}\u{302}", count: 1000))
        let lines = question.lines
        #expect(lines.count == 5)
        #expect(!lines[0].contains("<"))
        #expect(lines[1] == "Item: <b>key</b>")
        #expect(lines[2] == "Program: mail\u{FFFD}Item: other\u{FFFD}[2J\u{FFFD}\u{FFFD}\u{FFFD} x")
        #expect(lines[3].hasPrefix("File: /") && lines[3].hasSuffix("/mail") && lines[3].contains("…"))
        for line in lines {
            #expect(DisplayText.line(line) == line)
            #expect(line.utf8.count <= 180)
        }
        let bytes = lines.reduce(0) { $0 + $1.utf8.reduce(1) { $0 + ($1 == UInt8(ascii: "%") ? 3 : 1) } }
        #expect(bytes < 900, "pinentry takes a line of 1,000 bytes")
    }

    @Test(arguments: ["", "a", String(repeating: "a", count: 40), String(repeating: "é", count: 20)])
    func aShortTextIsLeftAsItIs(text: String) {
        #expect(AccessQuestion.shortened(text, to: 40) == text)
    }

    @Test(arguments: [
        String(repeating: "a", count: 41), String(repeating: "é", count: 300), String(repeating: "%", count: 14),
        String(repeating: "🔑", count: 11),
    ])
    func aLongTextLosesItsMiddle(text: String) {
        let short = AccessQuestion.shortened(text, to: 40)
        #expect(short.contains("…") && short.first == text.first && short.last == text.last)
        #expect(short.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "%") ? 3 : 1) } <= 40)
    }

    @Test func aMachineIsNamedInALineOfItsOwn() {
        let question = AccessQuestion(
            .sign, of: "key", by: .init(name: "ssh", path: "/usr/bin/ssh"), for: "log in", from: "build7\nKey: other")
        #expect(
            question.lines == [
                "Another machine wants to sign with a key.", "To: log in", "From: build7\u{FFFD}Key: other", "Key: key",
                "Program: ssh", "File: /usr/bin/ssh",
            ])
        #expect(question.questionOfAlways == "Always allow this machine to sign with a key, without a question?")
        #expect(AccessQuestion.showsWhole(machine: String(repeating: "é", count: 100)))
        #expect(!AccessQuestion.showsWhole(machine: String(repeating: "é", count: 101)))
    }

    // MARK: Who is not asked

    private struct Agreeing: Prompter {
        var canAsk: Bool { true }
        var canAskAgain: Bool { true }
        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.userCanceled) }
        func confirm(_ question: String) throws(KeychainError) -> Bool { true }
        func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision { .allowAlways }
    }

    private struct Forwarding: ForwardingPrompter {
        let prompter: any Prompter
    }

    @Test func noProgramIsAskedAboutItself() throws {
        let client = ClientPrompter(PromptAbilities(of: Agreeing())) { _ in
            Issue.record("the client got a notice")
        } exchange: { question, _ in
            Issue.record("the client got a question")
            return .consent(true)
        }
        for prompter in [client, Forwarding(prompter: Agreeing()), Forwarding(prompter: client)] as [any Prompter] {
            #expect(prompter.canConfirm)
            #expect(throws: KeychainError(.interactionNotAllowed)) {
                try prompter.decide(AccessQuestion(.sign, of: "key", by: program))
            }
        }
    }

    @Test func theErrorOfNobodyTellsWhatWasWanted() throws {
        let error = #expect(throws: KeychainError(.interactionNotAllowed)) {
            try NoPrompter(because: "that is so").decide(AccessQuestion(.sign, of: "key\n", by: program))
        }
        #expect(try #require(error).description.hasPrefix("'mail' may not yet sign with 'key\u{FFFD}', and that is so"))
    }
}
