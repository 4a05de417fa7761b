internal import HostAPI
internal import KeychainModel
internal import SecureBytes

/// Asks for secrets other than a keychain's.
struct PrompterForOthers: Prompter {
    let prompter: any Prompter

    var canAsk: Bool { prompter.canAsk }
    var canAskAgain: Bool { prompter.canAskAgain }
    var canConfirm: Bool { prompter.canConfirm }
    var allowsPINPad: Bool { prompter.allowsPINPad }
    var alternative: String { prompter.alternative }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { try prompter.askForAnother(request) }
    func confirm(_ question: String) throws(KeychainError) -> Bool { try prompter.confirm(question) }
    func tell(_ message: String) { prompter.tell(message) }
    func show(_ message: String) -> (@Sendable () -> Void)? { prompter.show(message) }
}
