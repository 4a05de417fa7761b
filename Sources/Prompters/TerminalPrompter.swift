public import HostAPI
public import KeychainModel
internal import Localization
public import SecureBytes

/// Asks on the controlling terminal, whatever standard input and output are, without showing what is typed.
public struct TerminalPrompter: Prompter {
    private let place: PromptPlace
    /// The end at which a question is given up.
    private var end = QuestionEnd(at: nil)

    public init(at place: PromptPlace = .ofProcess) {
        self.place = place
    }

    public func givingUp(at end: QuestionEnd) -> any Prompter {
        var prompter = self
        prompter.end = end
        return prompter
    }

    private func terminal() -> Terminal? { place.terminalToOpen.flatMap { Terminal($0) } }

    public var canAsk: Bool { terminal() != nil }

    public var canAskAgain: Bool { true }

    /// - Throws: `errSecUserCanceled` for Ctrl-C, Ctrl-D, Ctrl-\ and a terminal that went away.
    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        guard let terminal = terminal() else { throw .cannotAsk(request, by: self, because: "there is no terminal") }
        if let failure = request.failure { terminal.writeLine(failure) }
        while true {
            let answer = try terminal.readHidden(asking: "\(request.sentence): ", until: end)
            guard request.wantsRepetition(of: answer) else { return answer }
            if answer.equals(try terminal.readHidden(asking: String(localized: "\(request.field) again: "), until: end))
            {
                return answer
            }
            terminal.writeLine(String(localized: "They differ. Once more:"))
        }
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool {
        guard let terminal = terminal() else { return false }
        terminal.write("\(question) \(String(localized: "[y/N]")) ")
        let yes = ["y", "yes"] + String(localized: "yes,y").split(separator: ",").map(String.init)
        return yes.contains(terminal.readLine(until: end).lowercased())
    }

    /// Keys that were typed before the question are discarded.
    public func askForLine(_ question: String) throws(KeychainError) -> String? {
        guard let terminal = terminal() else { return nil }
        terminal.discardTyped()
        terminal.write("\(question): ")
        return terminal.readLine(until: end)
    }

    /// Keys that were typed before the question are discarded. Another answer than the offered ones is a denial.
    ///
    /// - Throws: `errSecNotAvailable` where there is no terminal.
    public func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
        guard let terminal = terminal() else { throw KeychainError(.notAvailable, "there is no terminal") }
        for line in question.lines { terminal.writeLine(line) }
        terminal.discardTyped()
        terminal.write("\(TerminalPrompter.answers(to: question)) ")
        let patience = ContinuousClock.now + question.patience
        switch terminal.readLine(until: end.limited(to: patience)).lowercased() {
        case "a" where question.requester != nil, "allow" where question.requester != nil: return .allowOnce
        case "o", "once": return .allowOnce
        case "a" where question.offersAlways, "always" where question.offersAlways: return .allowAlways
        default: return .deny
        }
    }

    /// The letters are the same in all languages.
    private static func answers(to question: AccessQuestion) -> LocalizedText {
        switch (question.offersAlways, question.machine, question.requester) {
        case (true, nil, _): "Allow once (o), always (a), or deny (d)?"
        case (true, _?, _): "Allow once (o), always for this machine (a), or deny (d)?"
        case (false, _, nil): "Allow once (o), or deny (d)?"
        case (false, _, _?): "Allow (a), or deny (d)?"
        }
    }

    public func tell(_ message: String) {
        terminal()?.writeLine(message)
    }

    public func show(_ message: String) -> (@Sendable () -> Void)? {
        guard let terminal = terminal() else { return nil }
        terminal.writeLine(message)
        return {}
    }
}
