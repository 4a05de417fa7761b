import Foundation
import HostAPI
import KeychainModel
import TestSupport
import Testing

@testable import Prompters

/// The question whether a program may use an item, through pinentry.
@Suite struct PinentryAccessTests {
    private static let declined = "echo 'ERR 83886194 not confirmed'"
    private static let canceled = "echo 'ERR 83886179 cancelled'"

    private func question(always: Bool = true, patience: Duration = .seconds(60)) -> AccessQuestion {
        AccessQuestion(
            .sign, of: "login key", by: .init(name: "mail", path: "/usr/bin/mail"), offersAlways: always,
            patience: patience)
    }

    private let lines = "A program wants to sign with a key.%0AItem: login key%0AProgram: mail%0AFile: /usr/bin/mail"
    private let title = "SETTITLE Access to keys and passwords"

    @Test(arguments: [
        ("echo OK", AccessDecision.allowOnce), (canceled, .deny), ("echo 'ERR 83886142 timeout'", .deny),
        ("echo 'ERR 83886278 fully cancelled'", .deny),
    ])
    func oneWindowAsksWithThreeButtons(script: String, decision: AccessDecision) throws {
        let fake = try FakePinentry(["CONFIRM": script])
        #expect(try fake.prompter.decide(question()) == decision)
        #expect(
            fake.commands == [
                title, "SETDESC \(lines)", "SETTIMEOUT 60", "SETOK Allow _once", "SETCANCEL _Deny", "GETINFO flavor",
                "SETNOTOK _Always allow", "CONFIRM",
            ])
    }

    /// A window that is closed must not be taken for the third button, whatever a program answers then.
    @Test(arguments: [("echo OK", AccessDecision.allowAlways), (declined, .deny), (canceled, .deny)])
    func alwaysIsAskedOnceMore(second: String, decision: AccessDecision) throws {
        let counter = try TemporaryFolder().path("once")
        let fake = try FakePinentry([
            "CONFIRM":
                "if mkdir -p '\((counter as NSString).deletingLastPathComponent)' && mkdir '\(counter)' 2>/dev/null; "
                + "then \(Self.declined); else \(second); fi"
        ])
        #expect(try fake.prompter.decide(question()) == decision)
        try? FileManager.default.removeItem(atPath: (counter as NSString).deletingLastPathComponent)
        #expect(fake.commands.count { $0 == "CONFIRM" } == 2)
        let second = fake.commands.suffix(6)
        #expect(
            second == [
                title,
                "SETDESC Always allow it to sign with a key, without a question?%0AItem: login key%0AProgram: mail%0AFile: /usr/bin/mail",
                "SETTIMEOUT 60", "SETOK _Always allow", "SETCANCEL _Deny", "CONFIRM",
            ])
    }

    @Test func theButtonsOfAMachineSayThatItIsMeant() throws {
        let fake = try FakePinentry(["CONFIRM": Self.declined])
        let question = AccessQuestion(.sign, of: "key", by: .init(name: "ssh"), for: "log in", from: "build7")
        #expect(try fake.prompter.decide(question) == .deny)
        #expect(fake.commands.contains("SETNOTOK _Always for this machine"))
        #expect(
            fake.commands.contains(
                "SETDESC Always allow this machine to sign with a key, without a question?%0ATo: log in%0AFrom: build7%0AKey: key%0AProgram: ssh"
            ))
    }

    private static let twoButtons = [
        ["SETNOTOK": "echo 'ERR 83886355 unknown command'"], ["GETINFO": "echo 'D gnome3'; echo OK"],
    ]

    @Test(
        arguments: twoButtons,
        [("echo OK", AccessDecision.allowAlways), (declined, .allowOnce), (canceled, .allowOnce)])
    func aProgramWithTwoButtonsAsksTwice(answers: [String: String], second: (String, AccessDecision)) throws {
        let stage = try TemporaryFolder()
        let confirm = "if mkdir '\(stage.path("once"))' 2>/dev/null; then echo OK; else \(second.0); fi"
        let fake = try FakePinentry(answers.merging(["CONFIRM": confirm]) { $1 })
        #expect(try fake.prompter.decide(question()) == second.1)
        #expect(fake.commands.count { $0 == "CONFIRM" } == 2)
        #expect(fake.commands.contains("SETCANCEL Only _once"))
    }

    @Test(arguments: twoButtons, [declined, canceled])
    func aProgramWithTwoButtonsDenies(answers: [String: String], script: String) throws {
        let fake = try FakePinentry(answers.merging(["CONFIRM": script]) { $1 })
        #expect(try fake.prompter.decide(question()) == .deny)
        #expect(fake.commands.count { $0 == "CONFIRM" } == 1)
    }

    @Test(arguments: [("echo OK", AccessDecision.allowOnce), (declined, .deny), (canceled, .deny)])
    func alwaysIsNotOfferedWhereItCannotHold(script: String, decision: AccessDecision) throws {
        let fake = try FakePinentry(["CONFIRM": script])
        #expect(try fake.prompter.decide(question(always: false)) == decision)
        #expect(!fake.commands.contains { $0.hasPrefix("SETNOTOK") })
        #expect(fake.commands.count { $0 == "CONFIRM" } == 1)
    }

    @Test func aProgramThatKnowsNoButtonsAsksAllTheSame() throws {
        let unknown = "echo 'ERR 83886355 unknown command'"
        let fake = try FakePinentry([
            "SETTIMEOUT": unknown, "SETOK": unknown, "SETCANCEL": unknown, "SETNOTOK": unknown, "GETINFO": unknown,
            "CONFIRM": Self.canceled,
        ])
        #expect(try fake.prompter.decide(question()) == .deny)
    }

    @Test func noAnswerInTimeIsADenial() throws {
        let fake = try FakePinentry(["CONFIRM": "exec sleep 600"])
        let start = ContinuousClock.now
        #expect(try fake.prompter.decide(question(patience: .seconds(1))) == .deny)
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(fake.commands.contains("SETTIMEOUT 1"))
        let process = try fake.process
        #expect(kill(process, 0) == -1)
    }

    @Test func theEndOfTheRequestEndsTheQuestion() throws {
        let fake = try FakePinentry(["CONFIRM": "exec sleep 600"])
        let start = ContinuousClock.now
        #expect(try fake.prompter.givingUp(at: QuestionEnd(at: start + .seconds(1))).decide(question()) == .deny)
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func textsOfTheProgramAreNoCommands() throws {
        let fake = try FakePinentry(["CONFIRM": "echo OK"])
        let program = AccessQuestion.Program(name: "mail\nSETOK Yes\r%0ASETOK\u{1B}[2J", path: "/tmp/\u{202E}x")
        _ = try fake.prompter.decide(AccessQuestion(.decrypt, of: "a%b", by: program, offersAlways: false))
        #expect(
            fake.commands.contains(
                "SETDESC A program wants to decrypt with a key.%0AItem: a%25b%0AProgram: mail\u{FFFD}SETOK Yes\u{FFFD}%250ASETOK"
                    + "\u{FFFD}[2J%0AFile: /tmp/\u{FFFD}x"))
        #expect(fake.commands.count { $0.hasPrefix("SETOK") } == 1)
    }

    @Test func aProgramThatBreaksIsNoAnswer() throws {
        let fake = try FakePinentry(["CONFIRM": "exit 1"])
        #expect(throws: KeychainError(.notAvailable)) { try fake.prompter.decide(question()) }
        let next = Decides(.allowOnce)
        #expect(try FirstAvailablePrompter([fake.prompter, next]).decide(question()) == .allowOnce)
        #expect(next.questions == [question()])
    }

    @Test func whereNobodyCanBeAskedTheUseIsRefused() {
        for prompter in [FirstAvailablePrompter([]), FirstAvailablePrompter([NoPrompter()])] {
            #expect(!prompter.canConfirm)
            #expect(throws: KeychainError(.interactionNotAllowed)) { try prompter.decide(question()) }
        }
        let script = FirstAvailablePrompter([AnswersByScript("123456")])
        #expect(throws: KeychainError(.interactionNotAllowed)) { try script.decide(question()) }
    }

    // MARK: - GnuPG's pinentry

    @Test(arguments: [("o", "allowOnce"), ("d", "deny"), ("aa", "allowAlways"), ("ad", "deny")])
    func theRealOneAsksOnATerminal(typed: String, decision: String) throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(
            ["pinentry:pinentry-tty", "decide"], on: terminal,
            environment: ["ASKER_TTY": terminal.path, "TERM": "vt100"])
        for (number, key) in typed.enumerated() {
            try terminal.wait(for: "Program: mail\u{FFFD}[2J", times: number + 1)
            try terminal.wait(for: "]? ", times: number + 1)
            terminal.type(String(key))
        }
        #expect(try asker.finish() == (0, [decision]))
        #expect(terminal.isOrdinary)
    }

    @Test func theRealOneShowsThreeButtons() throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(
            ["pinentry:pinentry-curses", "decide"], on: terminal,
            environment: ["ASKER_TTY": terminal.path, "TERM": "vt100"])
        for button in ["Allow once", "Always allow", "Deny"] { try terminal.wait(for: button) }
        terminal.type("\r")
        #expect(try asker.finish() == (0, ["allowOnce"]))
        #expect(terminal.isOrdinary)
    }
}
