package import KeychainModel
package import SecureBytes

/// A prompter that leaves to another one what it does not do itself. ``Prompter/decide(_:)`` is refused, and not left to the other one,
/// which may ask the program that the question is about.
package protocol ForwardingPrompter: Prompter {
    var prompter: any Prompter { get }
}

extension ForwardingPrompter {
    package var canAsk: Bool { prompter.canAsk }
    package var canAskAgain: Bool { prompter.canAskAgain }
    package var canConfirm: Bool { prompter.canConfirm }
    package var allowsPINPad: Bool { prompter.allowsPINPad }
    package var alternative: String { prompter.alternative }

    package func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { try prompter.ask(request) }

    package func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try prompter.askForAnother(request)
    }

    package func confirm(_ question: String) throws(KeychainError) -> Bool { try prompter.confirm(question) }
    package func askForLine(_ question: String) throws(KeychainError) -> String? {
        try prompter.askForLine(question)
    }

    package func tell(_ message: String) { prompter.tell(message) }
    package func tellOfPINPad(_ request: PromptRequest) { prompter.tellOfPINPad(request) }
    package func show(_ message: String) -> (@Sendable () -> Void)? { prompter.show(message) }

    package func showWait(forCardIn reader: String) -> (@Sendable () -> Void)? {
        prompter.showWait(forCardIn: reader)
    }
}
