import Foundation
import HostAPI
import SecureBytes
import TestSupport
import Testing

@testable import Prompters

@Suite struct TerminalPrompterTests {
    private let question = "PIN for 'test card' to sign, 3 tries left: "

    private func hex(_ text: String) -> String { text.utf8.map { String(format: "%02X", $0) }.joined() }

    @Test func whatIsTypedIsNotShown() throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "pin"], on: terminal)
        try terminal.wait(for: question)
        #expect(!terminal.isOrdinary)
        terminal.type("123456\n")
        try terminal.wait(for: "\r\n")
        let (status, answers) = try asker.finish()
        #expect(status == 0)
        #expect(answers == [hex("123456")])
        #expect(!terminal.screen.contains("1"))
        #expect(terminal.isOrdinary)
    }

    @Test func `A terminal is written nothing that it obeys`() throws {
        let terminal = try PseudoTerminal()
        let writer = try #require(Terminal(terminal.path))
        writer.write("a\u{1B}[2J\nb")
        writer.writeLine("\u{202E}c\u{200B}")
        try terminal.wait(for: "a\u{FFFD}[2J\u{FFFD}b\u{FFFD}c\u{FFFD}\r\n")
    }

    @Test(arguments: [
        ("12x\u{7F}34\n", "1234"), ("12x\u{8}34\r", "1234"), ("ä\u{7F}é\n", "é"), ("\u{7F}\u{7F}1\n", "1"),
        ("wrong\u{15}right\n", "right"), ("1\u{1A}\u{1}2\n", "12"), ("a b\n", "a b"), ("\n", ""),
    ])
    func theLineCanBeEdited(typed: String, answer: String) throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "pin", "canAsk"], on: terminal)
        try terminal.wait(for: question)
        terminal.type(typed)
        #expect(try asker.finish().answers == [hex(answer), "yes"])
        #expect(terminal.isOrdinary)
    }

    @Test(arguments: ["12\u{3}", "\u{4}", "\u{1C}"]) func cancelingLeavesTheTerminalAsItWas(typed: String) throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "pin"], on: terminal)
        try terminal.wait(for: question)
        terminal.type(typed)
        let (status, answers) = try asker.finish()
        #expect(status == 0)
        #expect(answers == ["error -128"])
        #expect(terminal.isOrdinary)
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT]) func aSignalLeavesTheTerminalAsItWas(signal: Int32) throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "pin"], on: terminal)
        try terminal.wait(for: question)
        asker.send(signal)
        let (status, answers) = try asker.finish()
        #expect(status == -signal)
        #expect(answers.isEmpty)
        #expect(terminal.isOrdinary)
    }

    @Test func aNewPINIsTypedTwice() throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "newPIN"], on: terminal)
        for (number, typed) in ["111111", "222222", "333333", "333333"].enumerated() {
            let text = number % 2 == 0 ? "new PIN for 'test card'" : "new PIN again: "
            try terminal.wait(for: text, times: number / 2 + 1)
            terminal.type("\(typed)\n")
        }
        #expect(try asker.finish().answers == [hex("333333")])
        try terminal.wait(for: "They differ")
    }

    @Test func tooMuchIsAnError() throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "pin"], on: terminal)
        try terminal.wait(for: question)
        for _ in 0..<3 { terminal.type(String(repeating: "1", count: 400)) }
        terminal.type("\n")
        #expect(try asker.finish().answers == ["error -50"])
    }

    @Test(arguments: [("y\n", "yes"), ("Y\n", "yes"), ("yes\n", "yes"), ("n\n", "no"), ("\n", "no"), ("sure\n", "no")])
    func aQuestionIsAnsweredWithYesOrNo(typed: String, answer: String) throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "confirm"], on: terminal)
        try terminal.wait(for: "Really? [y/N] ")
        terminal.type(typed)
        #expect(try asker.finish().answers == [answer])
    }

    @Test(arguments: [
        ("o\n", "allowOnce"), ("once\n", "allowOnce"), ("O\n", "allowOnce"), ("a\n", "allowAlways"),
        ("Always\n", "allowAlways"),
        ("d\n", "deny"), ("\n", "deny"), ("y\n", "deny"), ("yes\n", "deny"), ("\u{4}", "deny"), ("oa\n", "deny"),
    ])
    func aProgramIsAllowedOrDenied(typed: String, decision: String) throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "decide"], on: terminal)
        try terminal.wait(for: "Program: mail\u{FFFD}[2J\r\nFile: /usr/bin/mail\r\n")
        try terminal.wait(for: "Allow once (o), always (a), or deny (d)? ")
        terminal.type(typed)
        #expect(try asker.finish().answers == [decision])
    }

    @Test func whatWasTypedBeforeTheQuestionIsNoAnswer() throws {
        let terminal = try PseudoTerminal()
        terminal.type("a\n")
        let asker = try AskerProcess(["terminal", "decide"], on: terminal)
        try terminal.wait(for: "or deny (d)? ")
        terminal.type("d\n")
        #expect(try asker.finish().answers == ["deny"])
    }

    @Test func aTerminalWithoutAnAnswerDeniesInTime() throws {
        let terminal = try PseudoTerminal()
        let program = AccessQuestion.Program(name: "mail")
        let prompter = TerminalPrompter(at: PromptPlace(terminal: terminal.path, variables: [:]))
        let start = ContinuousClock.now
        let question = AccessQuestion(.sign, of: "key", by: program, offersAlways: false, patience: .seconds(1))
        #expect(try prompter.decide(question) == .deny)
        #expect(ContinuousClock.now - start < .seconds(20))
        try terminal.wait(for: "Allow once (o), or deny (d)? ")
    }

    @Test(arguments: [("a\n", "deny"), ("always\n", "deny"), ("o\n", "allowOnce")])
    func alwaysIsNoAnswerWhereItIsNotOffered(typed: String, decision: String) throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(["terminal", "decideOnce"], on: terminal)
        try terminal.wait(for: "Allow once (o), or deny (d)? ")
        terminal.type(typed)
        #expect(try asker.finish().answers == [decision])
    }

    @Test func withoutATerminalNobodyIsAsked() throws {
        let asker = try AskerProcess(["terminal", "canAsk", "pin", "confirm", "decide"])
        #expect(try asker.finish().answers == ["no", "error -25308", "no", "error -25291"])
    }
}
