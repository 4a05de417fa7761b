internal import HostAPI
internal import KeychainModel
internal import SecureBytes

/// Shows on the command's terminal that a card is waited for, in a line that is removed when the wait is over. Another prompter asks.
struct WaitShowingPrompter: Prompter {
    var prompter: any Prompter

    var canAsk: Bool { prompter.canAsk }
    var canAskAgain: Bool { prompter.canAskAgain }
    var canConfirm: Bool { prompter.canConfirm }
    var allowsPINPad: Bool { prompter.allowsPINPad }
    var alternative: String { prompter.alternative }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { try prompter.ask(request) }

    func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try prompter.askForAnother(request)
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { try prompter.confirm(question) }

    func givingUp(at end: ContinuousClock.Instant) -> any Prompter {
        WaitShowingPrompter(prompter: prompter.givingUp(at: end))
    }

    func tell(_ message: String) { prompter.tell(message) }
    func show(_ message: String) -> (@Sendable () -> Void)? { prompter.show(message) }

    func showWait(forCardIn reader: String) -> (@Sendable () -> Void)? {
        guard StandardError.isInteractive, Warnings.areWanted else { return nil }
        StandardError.replaceLine("waiting for the card in '\(reader)', which another program may be using")
        return { StandardError.replaceLine("") }
    }
}
