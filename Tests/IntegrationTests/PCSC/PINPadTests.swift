import Foundation
import HostAPI
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// PINs that are typed on the reader, with the real daemon between: PC/SC part 10, keychain semantics 4.4.
@Suite struct PINPadTests {
    private let reader: PINPadReader
    private let card: ConsumerCard
    private let tokenctl = Program.command

    init() throws {
        reader = try PINPadReader()
        card = try ConsumerCard(
            ["9A": .ecP256, "9C": .ecP256], driver: reader.driver, variables: ["PINENTRY_PROGRAM": "/bin/false"])
    }

    private func run(_ arguments: [String], _ variables: [String: String] = [:]) throws -> ProgramResult {
        try card.run([tokenctl] + arguments, variables)
    }

    private var verify: [String] { ["card", "pin", "verify"] }

    @Test(arguments: ["9A", "9C"]) func aKeyIsUsedWithWhatIsTypedThere(key: String) throws {
        try reader.type("123456")
        let signed = try run(["sign", "--key", key, "-o", card.path("sig"), card.path("message")])
        #expect(signed.status == 0, "\(signed)")
        let checked = try run([
            "verify", "--key", key, "--signature", card.path("sig"), card.path("message"),
        ])
        #expect(checked.status == 0, "\(checked)")
        #expect(try reader.timesAsked() == 1)
    }

    @Test func itCostsTheCardTheCommandsOfAGivenPIN() throws {
        try reader.type("123456")
        func commands(_ arguments: [String]) throws -> Int {
            let before = card.holder.link.commandCount
            let result = try run(arguments, ["CARD_PIN": ConsumerCard.pin])
            #expect(result.status == 0, "\(result)")
            return card.holder.link.commandCount - before
        }
        let source = ["--pin-source", "env:CARD_PIN"]
        _ = try commands(verify + source)
        let typed = try (commands(verify), commands(["sign", "--key", "9C", "-o", "/dev/null", card.path("message")]))
        #expect(try reader.timesAsked() == 2)
        let given = try (
            commands(verify + source),
            commands(["sign", "--key", "9C", "-o", "/dev/null", card.path("message")] + source)
        )
        // The prompt has the tries left, which may take a command of its own.
        #expect((0...2).contains(typed.0 - given.0) && (0...2).contains(typed.1 - given.1), "\(typed) \(given)")
        #expect(try reader.timesAsked() == 0)
    }

    @Test func aWrongOneCostsATry() throws {
        try reader.type("999999")
        let result = try run(verify)
        #expect(result.status == 51, "\(result)")
        #expect(result.description.contains("2 tries are left"), "\(result)")
        #expect(try card.triesLeft == 2)
        #expect(try reader.timesAsked() == 1)
    }

    @Test func theLastTryIsNotTypedAway() throws {
        try reader.type("999999")
        for _ in 0..<2 { #expect(try run(verify).status == 51) }
        #expect(try reader.timesAsked() == 2)
        try reader.type("123456")
        #expect(try run(verify).status == 51)
        #expect(try reader.timesAsked() == 0)
        #expect(try run(verify + ["--last-try"]).status == 0)
    }

    @Test(
        arguments: [
            ("cancel", 128, "was canceled"), (nil, 128, "in time"), ("12345", 51, "six to eight"),
            ("123456789", 51, "six to eight"), ("break", 113, "keypad failed"),
        ] as [(String?, Int32, String)])
    func whatTheReaderDoesNotSendCostsNothing(typed: String?, status: Int32, reason: String) throws {
        if let typed { try reader.type(typed) }
        let result = try run(verify)
        #expect(result.status == status, "\(result)")
        #expect(result.description.contains(reason), "\(result)")
        #expect(try card.triesLeft == 3)
        #expect(try reader.timesAsked() == 1)
    }

    @Test func whereNobodyIsToBeAskedNobodyTypes() throws {
        try reader.type("999999")
        let result = try run(verify + ["--no-prompt"])
        #expect(result.status == 36, "\(result)")
        #expect(result.description.contains("-25308"), "\(result)")
        #expect(try reader.timesAsked() == 0)
        #expect(try card.triesLeft == 3)
    }

    @Test func aPINThatIsGivenComesFirst() throws {
        try reader.type("999999")
        let result = try run(verify + ["--pin-source", "env:CARD_PIN"], ["CARD_PIN": ConsumerCard.pin])
        #expect(result.status == 0, "\(result)")
        let wrong = try run(verify + ["--pin-source", "env:CARD_PIN"], ["CARD_PIN": "654321"])
        #expect(wrong.status == 51, "\(wrong)")
        #expect(try reader.timesAsked() == 0)
    }

    @Test func aReaderThatFailsOrIsNotToBeUsedLeavesTheQuestionToThePrompter() throws {
        try card.writePinentry()
        let pinentry = ["PINENTRY_PROGRAM": card.path("pinentry")]
        try reader.type("123456")
        #expect(try run(verify, pinentry).status == 0)
        #expect(try card.pinentryQuestions.isEmpty)
        #expect(try reader.timesAsked() == 1)
        try reader.type("break")
        #expect(try run(verify, pinentry).status == 0)
        #expect(try card.pinentryQuestions.count == 1)
        #expect(try reader.timesAsked() == 1)
        #expect(try run(verify, pinentry.merging(["TOKENKIT_PINPAD": "no"]) { $1 }).status == 0)
        #expect(try card.pinentryQuestions.count == 2)
        #expect(try reader.timesAsked() == 0)
    }

    @Test func whoCanBeToldWhyTypesAgain() throws {
        try card.writePinentry()
        try reader.type("1234")
        let result = try run(verify, ["PINENTRY_PROGRAM": card.path("pinentry")])
        #expect(result.status == 51, "\(result)")
        #expect(try reader.timesAsked() == 3)
        #expect(try card.pinentryQuestions.isEmpty)
    }

    @Test func aPersonAtATerminalIsToldWhatToDo() throws {
        try reader.type("123456")
        let result = try card.run(["script", "-qec", "'\(tokenctl)' card pin verify", "/dev/null"])
        #expect(result.status == 0, "\(result)")
        #expect(result.text.contains("Enter the PIN for '\(ConsumerCard.label) in "), "\(result)")
        #expect(result.text.contains(" on the reader's keypad, 3 tries left"), "\(result)")
    }
}
