internal import HostAPI
internal import Localization

/// Shows on the command's terminal that a card is waited for, in a line that is removed when the wait is over. Another prompter asks.
struct WaitShowingPrompter: ForwardingPrompter {
    let prompter: any Prompter

    func givingUp(at end: QuestionEnd) -> any Prompter {
        WaitShowingPrompter(prompter: prompter.givingUp(at: end))
    }

    func showWait(forCardIn reader: String) -> (@Sendable () -> Void)? {
        guard StandardError.isInteractive, Warnings.areWanted else { return nil }
        StandardError.replaceLine(
            String(localized: "waiting for the card in '\(reader)', which another program may be using"))
        return { StandardError.replaceLine("") }
    }
}
