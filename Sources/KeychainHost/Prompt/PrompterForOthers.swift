internal import HostAPI
internal import KeychainModel
internal import SecureBytes

/// Asks for secrets other than a keychain's.
struct PrompterForOthers: ForwardingPrompter {
    let prompter: any Prompter

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { try prompter.askForAnother(request) }
}
