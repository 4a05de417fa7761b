public import HostAPI
public import KeychainModel
internal import Glibc
internal import Localization
public import SecureBytes
internal import Synchronization

/// Asks through a pinentry program, as GnuPG does: a window on the desktop, or the terminal.
public struct PinentryPrompter: Prompter {
    private let program: String
    private let place: PromptPlace
    private let trial = Trial()
    /// The end at which a question is given up.
    private(set) var end = QuestionEnd(at: nil)

    /// The time that the program may take for an answer that needs no person, in milliseconds.
    var patience: Int32 = 10_000

    /// - Parameters:
    ///   - program: a path, or a name to be looked up in `PATH`.
    ///   - place: where the person is.
    public init(program: String = "pinentry", at place: PromptPlace = .ofProcess) {
        self.program = program
        self.place = place
    }

    public func givingUp(at end: QuestionEnd) -> any Prompter {
        var prompter = self
        prompter.end = end
        return prompter
    }

    func limited(to time: ContinuousClock.Instant) -> PinentryPrompter {
        var prompter = self
        prompter.end = end.limited(to: time)
        return prompter
    }

    /// Starts the program to find out, until that has succeeded once.
    public var canAsk: Bool {
        if trial.hasSucceeded.load(ordering: .relaxed) { return true }
        guard let assuan = try? begin(on: place.terminal) else { return false }
        assuan.end()
        return true
    }

    /// Whether the program could be started.
    private final class Trial: Sendable {
        let hasSucceeded = Atomic(false)
    }

    public var canAskAgain: Bool { true }

    /// - Throws: `errSecNotAvailable` where the program cannot be used, `errSecUserCanceled`.
    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try conversing { (assuan) throws(KeychainError) in try ask(request, assuan) }
    }

    private func ask(_ request: PromptRequest, _ assuan: AssuanClient) throws(KeychainError) -> Secret {
        try assuan.command("SETTITLE", place.program)
        try assuan.command("SETDESC", request.sentence)
        try assuan.command("SETPROMPT", "\(request.field):")
        if let failure = request.failure { try assuan.command("SETERROR", failure) }
        guard request.wantsRepetition else { return try assuan.secret("GETPIN") }
        // A program that does not know these commands is asked twice.
        try? assuan.command("SETREPEAT", String(localized: "again:"))
        try? assuan.command("SETREPEATERROR", String(localized: "they differ"))
        while true {
            let answer = try assuan.secret("GETPIN")
            if assuan.hasRepeated { return answer }
            try assuan.command("SETPROMPT", String(localized: "again:"))
            if answer.equals(try assuan.secret("GETPIN")) { return answer }
            try assuan.command("SETERROR", String(localized: "they differ"))
            try assuan.command("SETPROMPT", "\(request.field):")
        }
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool {
        try conversing { (assuan) throws(KeychainError) in
            try assuan.command("SETTITLE", place.program)
            try assuan.command("SETDESC", lines: question.split(separator: "\n").map(String.init))
            // pinentry-tty has a button for No only where that has a text.
            try? assuan.command("SETOK", String(localized: "Yes"))
            try? assuan.command("SETCANCEL", String(localized: "No"))
            do throws(KeychainError) {
                try assuan.question("CONFIRM")
                return true
            } catch {
                guard error.code == .userCanceled else { throw error }
                return false
            }
        }
    }

    /// Shows the message in a window, as `ssh` does with its askpass, where the person is not at a terminal. A program that needs a
    /// terminal for it is not used: it would take the terminal from the program that waits.
    public func show(_ message: String) -> (@Sendable () -> Void)? {
        guard place.hasDisplay, !place.isAtTerminal, let assuan = try? begin(on: nil) else { return nil }
        do throws(KeychainError) {
            try assuan.command("SETTITLE", place.program)
            try assuan.command("SETDESC", message)
            try assuan.begin("MESSAGE")
        } catch {
            assuan.end()
            return nil
        }
        return assuan.stop
    }

    /// Talks to the program. Restores the terminal when this returns, and when a signal ends the process meanwhile.
    func conversing<Result: ~Copyable>(
        _ body: (AssuanClient) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        let terminal = place.terminal.flatMap { TerminalState($0) }
        // Without `SIGTSTP`, which stops the program as well: the program restores its terminal by itself then.
        let signals = HeldSignals(HeldSignals.ending, until: end)
        defer {
            terminal?.restore()
            signals.release()
        }
        let assuan = try begin(on: place.terminal, unless: signals)
        defer { assuan.end() }
        return try body(assuan)
    }

    private func begin(
        on terminal: String?, unless signals: HeldSignals? = nil
    ) throws(KeychainError) -> AssuanClient {
        let assuan = try AssuanClient(
            program: program, environment: place.environment, patience: patience, unless: signals)
        // An option that the program does not know is left out.
        if let terminal { try? assuan.command("OPTION", "ttyname=\(terminal)") }
        let options = [
            ("ttytype", ["TERM"]), ("lc-ctype", ["LC_ALL", "LC_CTYPE", "LANG"]), ("display", ["DISPLAY"]),
        ]
        for (option, variables) in options {
            guard let value = variables.lazy.compactMap(place.variable).first else { continue }
            try? assuan.command("OPTION", "\(option)=\(value)")
        }
        trial.hasSucceeded.store(true, ordering: .relaxed)
        return assuan
    }
}
