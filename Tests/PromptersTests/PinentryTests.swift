import Foundation
import HostAPI
import KeychainModel
import Platform
import SecureBytes
import TestSupport
import Testing

@testable import Prompters

@Suite struct PinentryTests {
    private let request = PromptRequest(.pin, subject: "card", use: "sign", triesLeft: 3)

    @Test func aWindowWithoutAnAnswerIsClosedInTime() throws {
        let fake = try FakePinentry(["GETPIN": "exec sleep 600"])
        let start = ContinuousClock.now
        #expect(throws: KeychainError(.userCanceled)) {
            _ = try fake.prompter.givingUp(at: QuestionEnd(at: start + .seconds(1))).ask(request).count
        }
        #expect(ContinuousClock.now - start < .seconds(20))
        let process = try fake.process
        #expect(kill(process, 0) == -1)
    }

    /// A program that was killed while its question was open.
    @Test func aWindowIsClosedOnceItsRequestIsOver() throws {
        let fake = try FakePinentry(["GETPIN": "exec sleep 600"])
        let beginning = ContinuousClock.now
        let end = QuestionEnd(at: nil) { beginning.duration(to: .now) > .milliseconds(300) }
        #expect(throws: KeychainError(.userCanceled)) { _ = try fake.prompter.givingUp(at: end).ask(request).count }
        let process = try fake.process
        #expect(kill(process, 0) == -1)
    }

    private func answer(_ fake: FakePinentry, _ request: PromptRequest? = nil) throws -> String {
        let secret = try fake.prompter.ask(request ?? self.request)
        return String(decoding: Array(copying: secret.bytes), as: UTF8.self)
    }

    @Test(arguments: [
        ("echo 'D 123456'; echo OK", "123456"), ("echo 'D 12%2534%0Aé'; echo OK", "12%34\né"),
        ("echo 'D %zz%4'; echo OK", "%zz%4"), ("echo 'D 123'; echo 'D 456'; echo 'OK done'", "123456"),
        ("echo 'S PASSWORD_FROM_CACHE'; echo '# comment'; echo; echo 'OKAY'; echo 'D 1'; echo OK", "1"),
        ("echo OK", ""),
        ("echo 'INQUIRE QUALITY 12'; read -r line; echo \"D $line\"; echo OK", "CAN"), ("echo 'D  1 '; echo OK", " 1 "),
    ])
    func theAnswerIsRead(script: String, pin: String) throws {
        #expect(try answer(FakePinentry(["GETPIN": script])) == pin)
    }

    @Test func itIsToldWhatToShow() throws {
        let fake = try FakePinentry(["GETPIN": "echo 'D 1'; echo OK"])
        let request = PromptRequest(
            .pin, subject: "100% card", use: "sign a\nb", triesLeft: 2, failure: "wrong\u{1B}[2J")
        _ = try answer(fake, request)
        #expect(
            fake.commands == [
                "SETTITLE \(Executable.name(of: getpid()))",
                "SETDESC PIN for '100%25 card' to sign a\u{FFFD}b, 2 tries left", "SETPROMPT PIN:",
                "SETERROR wrong\u{FFFD}[2J", "GETPIN",
            ])
    }

    @Test func theTitleIsTheProgramThatWantsTheAnswer() throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let program = try ChildProcess(["sleep", "600"], streams: [null, null, null])
        defer {
            kill(program.identifier, SIGKILL)
            program.wait()
        }
        let fake = try FakePinentry()
        #expect(eventually { Executable.name(of: program.identifier) == "sleep" })
        let place = PromptPlace(process: program.identifier, variables: [:])
        _ = try fake.prompter(at: place).confirm("Really?")
        #expect(fake.commands.first == "SETTITLE sleep")
    }

    @Test func aLongSentenceIsCutAtACharacter() throws {
        let fake = try FakePinentry(["GETPIN": "echo 'D 1'; echo OK"])
        _ = try answer(fake, PromptRequest(.pin, subject: "card", use: "sign " + String(repeating: "é%", count: 1000)))
        let line = try #require(fake.commands.first { $0.hasPrefix("SETDESC") })
        #expect((990...1001).contains(line.utf8.count))
        #expect(line.hasSuffix("é") || line.hasSuffix("%25"))
    }

    static let failures: [(String, ErrSec)] = [
        ("echo 'ERR 83886179 Operation cancelled <Pinentry>'", .userCanceled), ("echo 'ERR 83886278'", .userCanceled),
        ("echo 'ERR 83886142 Timeout'", .userCanceled), ("echo 'ERR 99'", .userCanceled),
        ("echo 'ERR 83886340 Inappropriate ioctl for device'", .notAvailable), ("echo ERR", .notAvailable),
        ("echo 'ERR 99999999999999999999'", .notAvailable), ("exit 1", .notAvailable),
        ("printf 'D 12'; exit 0", .notAvailable),
        ("head -c 2000 /dev/zero | tr '\\0' 1; echo; echo OK", .notAvailable),
        (
            "for i in 1 2 3 4 5 6; do printf 'D '; head -c 900 /dev/zero | tr '\\0' 1; echo; done; echo OK",
            .dataTooLarge
        ),
    ]

    @Test(arguments: failures) func failuresAreToldApart(script: String, code: ErrSec) throws {
        let fake = try FakePinentry(["GETPIN": script])
        #expect(throws: KeychainError(code)) { try answer(fake) }
    }

    @Test func aProgramThatIsNotThereCannotAsk() throws {
        let prompter = PinentryPrompter(program: "/nowhere/pinentry")
        #expect(!prompter.canAsk)
        #expect(throws: KeychainError(.notAvailable)) { _ = try prompter.ask(request).count }
    }

    @Test(arguments: ["exit 0", "echo 'ERR 1 no display'; exit 1", "echo ready", "echo 'OK'; exit 0"])
    func aProgramThatEndsEarlyCannotBeUsed(greeting: String) throws {
        var prompter = try FakePinentry(greeting: greeting).prompter
        prompter.patience = 300
        #expect(throws: KeychainError(.notAvailable)) { _ = try prompter.ask(request).count }
    }

    @Test(arguments: ["exec sleep 600", "trap '' TERM HUP; echo OK; while :; do sleep 600; done"])
    func aProgramThatHangsIsGivenUp(greeting: String) throws {
        var prompter = try FakePinentry(greeting: greeting).prompter
        prompter.patience = 100
        let start = ContinuousClock.now
        #expect(throws: KeychainError(.notAvailable)) { _ = try prompter.ask(request).count }
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    @Test func optionsThatItDoesNotKnowDoNotMatter() throws {
        let fake = try FakePinentry(["OPTION": "echo 'ERR 83886254 unknown'", "GETPIN": "echo 'D 1'; echo OK"])
        #expect(try answer(fake) == "1")
        #expect(fake.prompter.canAsk)
    }

    @Test func aNewPINIsAskedForOnceWhereTheProgramRepeats() throws {
        let fake = try FakePinentry(["GETPIN": "echo 'S PIN_REPEATED'; echo 'D 1'; echo OK"])
        #expect(try answer(fake, PromptRequest(.newPIN, subject: "card")) == "1")
        #expect(fake.commands.count { $0 == "GETPIN" } == 1)
        #expect(fake.commands.contains("SETREPEAT again:"))
    }

    @Test func aNewPINIsAskedForTwiceWhereItDoesNot() throws {
        let fake = try FakePinentry([
            "SETREPEAT": "echo 'ERR 83886355 unknown command'",
            "GETPIN": "count=$((count + 1)); case $count in 1) echo 'D 1' ;; *) echo 'D 2' ;; esac; echo OK",
        ])
        #expect(try answer(fake, PromptRequest(.newPIN, subject: "card")) == "2")
        #expect(fake.commands.count { $0 == "GETPIN" } == 4)
        #expect(fake.commands.contains("SETERROR they differ"))
    }

    @Test(arguments: [
        ("echo OK", true), ("echo 'ERR 83886194 not confirmed'", false), ("echo 'ERR 83886179 cancelled'", false),
    ])
    func aQuestionIsAnsweredWithYesOrNo(script: String, answer: Bool) throws {
        let fake = try FakePinentry(["CONFIRM": script])
        #expect(try fake.prompter.confirm("Really?") == answer)
        let title = "SETTITLE \(Executable.name(of: getpid()))"
        #expect(fake.commands == [title, "SETDESC Really?", "SETOK Yes", "SETCANCEL No", "CONFIRM"])
    }

    @Test func aQuestionMayHaveSeveralLines() throws {
        let fake = try FakePinentry(["CONFIRM": "echo OK"])
        #expect(try fake.prompter.confirm("Really?\nKey: x\u{1B}"))
        #expect(fake.commands.contains("SETDESC Really?%0AKey: x\u{FFFD}"))
    }

    @Test func aQuestionThatCannotBeAskedIsAnError() throws {
        let fake = try FakePinentry(["CONFIRM": "exit 1"])
        #expect(throws: KeychainError(.notAvailable)) { try fake.prompter.confirm("Really?") }
    }

    // MARK: - Terminals

    /// Shell code that switches the terminal to the whole screen, and prints `asking`.
    private static let wholeScreen = """
        stty -icanon -echo <"$tty"; printf '\\033[?1049hasking' >"$tty"
        """

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT]) func aSignalLeavesTheTerminalAsItWas(signal: Int32) throws {
        // One program ends by the signal, the other ignores it.
        for habit in ["", "trap '' TERM HUP INT QUIT; "] {
            let fake = try FakePinentry(["GETPIN": "\(habit)\(Self.wholeScreen); exec sleep 600"])
            let (asker, terminal) = try fake.asker("pin")
            try terminal.wait(for: "asking")
            #expect(!terminal.isOrdinary)
            asker.send(signal)
            let (status, answers) = try asker.finish()
            #expect(status == -signal)
            #expect(answers.isEmpty)
            #expect(terminal.isOrdinary)
            try terminal.wait(for: "\u{1B}[?1049l")
            #expect(fake.commands.last == "GETPIN")
        }
    }

    @Test(arguments: ["pin", "confirm"]) func theInterruptKeyLeavesTheTerminalAsItWas(question: String) throws {
        let script = "\(Self.wholeScreen); exec sleep 600"
        let fake = try FakePinentry(["GETPIN": script, "CONFIRM": script])
        let (asker, terminal) = try fake.asker(question)
        try terminal.wait(for: "asking")
        terminal.type("\u{3}")
        #expect(try asker.finish() == (-SIGINT, []))
        #expect(terminal.isOrdinary)
        try terminal.wait(for: "\u{1B}[?1049l")
        #expect(fake.commands.last == (question == "pin" ? "GETPIN" : "CONFIRM"))
    }

    @Test func aProgramThatEndsEarlyLeavesTheTerminalAsItWas() throws {
        let fake = try FakePinentry(["GETPIN": "\(Self.wholeScreen); exit 1"])
        let (asker, terminal) = try fake.asker("pin")
        #expect(try asker.finish() == (0, ["error -25291"]))
        #expect(terminal.isOrdinary)
        try terminal.wait(for: "\u{1B}[?1049l")
        #expect(fake.commands.last == "GETPIN")
    }

    @Test func whoCleansUpIsNotHelped() throws {
        let script = """
            \(Self.wholeScreen); stty icanon echo <"$tty"; printf 'done' >"$tty"; echo 'D 1'; echo OK
            """
        let fake = try FakePinentry(["GETPIN": script])
        let (asker, terminal) = try fake.asker("pin")
        #expect(try asker.finish() == (0, ["31"]))
        try terminal.wait(for: "done")
        terminal.type("\n")
        try terminal.wait(for: "\r\n")
        #expect(!terminal.screen.contains("\u{1B}[?1049l"))
        #expect(fake.commands.last == "GETPIN")
    }

    // MARK: - Messages that last

    /// A desktop, where a program has no terminal, or is in the background of one.
    static let desktops = [
        PromptPlace(terminal: nil, variables: ["DISPLAY": ":99"]),
        PromptPlace(terminal: nil, variables: ["WAYLAND_DISPLAY": "wayland-9"]),
        PromptPlace(terminal: "/dev/pts/none", variables: ["DISPLAY": ":99"], isAtTerminal: false),
    ]

    @Test(arguments: desktops) func aMessageIsAWindowThatGoesAwayWhenItIsOver(place: PromptPlace) throws {
        let fake = try FakePinentry(["MESSAGE": "exec sleep 600"])
        let hide = try #require(fake.prompter(at: place).show("Touch the card now"))
        let isShown = eventually { fake.commands.last == "MESSAGE" }
        #expect(isShown)
        #expect(fake.commands == ["SETTITLE \(place.program)", "SETDESC Touch the card now", "MESSAGE"])
        #expect(!fake.options.contains { $0.contains("ttyname") })
        let process = try fake.process
        #expect(kill(process, 0) == 0)
        hide()
        #expect(kill(process, 0) == -1)
    }

    @Test func aMessageIsNoWindowForAProgramAtATerminalOrWithoutADesktop() throws {
        let fake = try FakePinentry()
        for place in [
            PromptPlace(terminal: "/dev/pts/none", variables: ["DISPLAY": ":99"]),
            PromptPlace(terminal: nil, variables: [:]),
        ] {
            #expect(fake.prompter(at: place).show("Touch the card now") == nil)
        }
        #expect(fake.commands.isEmpty && fake.options.isEmpty)
    }

    @Test(arguments: ["exit 0", "echo 'ERR 1 no display'; exit 1"])
    func aProgramThatCannotShowAMessageDoesNotMatter(greeting: String) throws {
        let fake = try FakePinentry(greeting: greeting)
        #expect(fake.prompter(at: Self.desktops[0]).show("Touch the card now") == nil)
    }

    // MARK: - GnuPG's pinentry

    @Test(arguments: ["\u{3}", "kill"]) func theRealOneLeavesTheScreenWhenItIsInterrupted(how: String) throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(
            ["pinentry:pinentry-curses", "pin"], on: terminal,
            environment: ["ASKER_TTY": terminal.path, "TERM": "xterm"])
        try terminal.wait(for: "PIN for 'test card'")
        #expect(!terminal.isOrdinary)
        how == "kill" ? asker.send(SIGINT) : terminal.type(how)
        _ = try asker.finish()
        #expect(terminal.isOrdinary)
        try terminal.wait(for: "\u{1B}[?1049l")
    }

    @Test func theRealOneAsksOnATerminal() throws {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(
            ["pinentry:pinentry-tty", "pin"], on: terminal, environment: ["ASKER_TTY": terminal.path, "TERM": "vt100"])
        try terminal.wait(for: "PIN for 'test card' to sign, 3 tries left")
        try terminal.wait(for: "PIN:")
        terminal.type("12%34\n")
        #expect(try asker.finish().answers == ["3132253334"])
        #expect(!terminal.screen.contains("12%34"))
        #expect(terminal.isOrdinary)
    }
}
