internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import Synchronization

/// Answers the first question for the PIN of the URI's token with the URI's pin-value, and leaves all others to another.
final class GivenPIN: Prompter {
    private struct State: ~Copyable {
        var pin: Secret?
    }

    private let state: Mutex<State>
    private let purposes: Set<PromptRequest.Purpose>
    private let other: any Prompter

    init(_ pin: consuming Secret, for purposes: Set<PromptRequest.Purpose>, others other: any Prompter) {
        state = Mutex(State(pin: pin))
        self.purposes = purposes
        self.other = other
    }

    /// The questions that a URI's PIN answers: a keychain's password is never tried on a card that the keychain is
    /// bound to.
    static func purposes(of uri: PKCS11URI, _ access: HostAccess) throws -> Set<PromptRequest.Purpose> {
        let isKeychain = try access.host.keychains(.files, .silent).found.contains { uri.matches(PKCS11URI.Place($0)) }
        guard isKeychain else { return [.pin] }
        return uri.token == PKCS11URI.Token() ? [.pin, .password] : [.password]
    }

    var canAsk: Bool { true }
    var canAskAgain: Bool { false }
    var canConfirm: Bool { other.canConfirm }
    var alternative: String { other.alternative }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        if purposes.contains(request.purpose), let pin = state.withLock({ $0.pin.take() }) { return pin }
        return try other.ask(request)
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { try other.confirm(question) }
    func tell(_ message: String) { other.tell(message) }
    func show(_ message: String) -> (@Sendable () -> Void)? { other.show(message) }
}
