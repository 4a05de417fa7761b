internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization

/// Answers the questions for the secrets of a card: with what was given before, from the source of the management key, or by a person.
final class AdministratorAnswers: Prompter {
    private struct State {
        var pin: SharedSecret?
        var unblockingKey: SharedSecret?
        var managementKey: SharedSecret?
        /// Whether the factory's management key is given, for which no answer stands.
        var givesFactoryKey = false
        /// Whether the factory's PIN or unblocking key is given.
        var givesFactoryValue = false
    }

    private let person: any Prompter
    private let managementKeySource: SecretSource?
    private let asksForManagementKey: Bool
    let alternative: String
    private let state = Mutex(State())

    /// - Parameters:
    ///   - asksForManagementKey: whether the person is asked for the management key. A source of PINs has none.
    ///   - alternative: the other ways to give the secrets; by default those of the person's prompter.
    init(
        _ person: any Prompter, managementKeySource: SecretSource? = nil, asksForManagementKey: Bool = true,
        alternative: String? = nil
    ) {
        self.alternative = alternative ?? person.alternative
        self.person = person
        self.managementKeySource = managementKeySource
        self.asksForManagementKey = asksForManagementKey
    }

    /// Runs `body`, which changes the factory's PIN or unblocking key, and gives that to the card. Where the card refuses it, nobody is
    /// asked for another one.
    func givingFactoryValue(of secret: FactorySecret, _ body: () throws -> Void) throws {
        let value = SharedSecret(secret.secret)
        state.withLock { state in
            state.givesFactoryValue = true
            switch secret {
            case .pin: state.pin = value
            case .unblockingKey: state.unblockingKey = value
            }
        }
        defer { state.withLock { $0.givesFactoryValue = false } }
        do { try body() } catch {
            // A source has the PIN that an interrupted setup has set in its first line, which was taken for the new one.
            if person.canAskAgain { state.withLock { $0.pin = nil } }
            throw error
        }
    }

    /// Runs `body`, which gives the factory's management key to the card.
    func givingFactoryManagementKey(_ body: () throws -> Void) throws {
        state.withLock { $0.givesFactoryKey = true }
        defer { state.withLock { $0.givesFactoryKey = false } }
        try body()
    }

    var canAsk: Bool { person.canAsk || managementKeySource != nil || state.withLock(\.givesFactoryKey) }
    var canAskAgain: Bool { person.canAskAgain }
    var canConfirm: Bool { person.canConfirm }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        if request.purpose == .managementKey, state.withLock(\.givesFactoryKey) {
            return Secret(capacity: 0) { _ in }
        }
        if request.failure == nil, let known = known(request.purpose) { return known }
        if request.purpose == .managementKey, let managementKeySource {
            // The source holds one key, which all steps of a command use.
            guard request.failure == nil else {
                throw KeychainError(
                    .param, CardManagementKey.form, remedy: "give it as the tool that set it shows it")
            }
            return keep(try managementKeySource.ask(request), as: .managementKey)
        }
        if request.failure != nil, state.withLock(\.givesFactoryValue), FactorySecret(request.purpose) == nil {
            throw KeychainError(.authFailed, "it is not the factory's any more")
        }
        guard asksForManagementKey || request.purpose != .managementKey else {
            throw KeychainError(
                .interactionNotAllowed,
                "the management key of '\(request.subject)' is needed, which the card does not keep under its PIN",
                remedy: "give it with --management-key-source")
        }
        // Where a setup was interrupted after the new PIN, a source has that in the line before the new PUK.
        if request.purpose == .newUnblockingKey, known(.pin) == nil {
            _ = try ask(PromptRequest(.pin, subject: request.subject, use: String(localized: "set up the card")))
        }
        return keep(try askForOwn(request), as: request.purpose)
    }

    /// Keeps an answer for later steps of the command.
    private func keep(_ answer: consuming Secret, as purpose: PromptRequest.Purpose) -> Secret {
        let answer = SharedSecret(answer)
        state.withLock { state in
            switch purpose {
            case .pin, .newPIN: state.pin = answer
            case .managementKey: state.managementKey = answer
            default: break
            }
        }
        return answer.secret.clone()
    }

    /// Asks a person, whose new PIN or unblocking key must not be the factory's.
    private func askForOwn(_ request: PromptRequest) throws(KeychainError) -> Secret {
        var request = request
        for _ in 0..<PromptRequest.mostQuestions {
            let answer = try person.ask(request)
            guard let secret = FactorySecret(request.purpose), answer.equals(secret.secret) else { return answer }
            request = PromptRequest(
                request.purpose, subject: request.subject, use: request.use, triesLeft: request.triesLeft,
                failure: String(localized: "everybody knows this one, which is the factory's"), form: request.form)
            guard person.canAskAgain else { break }
        }
        throw KeychainError(
            .param, "the new value is the factory's, which everybody knows", remedy: "choose another one")
    }

    private func known(_ purpose: PromptRequest.Purpose) -> Secret? {
        state.withLock { state in
            switch purpose {
            case .pin: return state.pin?.secret.clone()
            case .unblockingKey: return state.unblockingKey?.secret.clone()
            case .managementKey: return state.managementKey?.secret.clone()
            default: return nil
            }
        }
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { try person.confirm(question) }
    func tell(_ message: String) { person.tell(message) }
    func show(_ message: String) -> (@Sendable () -> Void)? { person.show(message) }
}

/// The PIN or the unblocking key of a card.
enum FactorySecret {
    case pin, unblockingKey

    /// The secret that a question wants a new value for; nil for other questions.
    init?(_ purpose: PromptRequest.Purpose) {
        switch purpose {
        case .newPIN: self = .pin
        case .newUnblockingKey: self = .unblockingKey
        default: return nil
        }
    }

    /// The value that cards are delivered with. SP 800-73 leaves it to makers: these are Yubico's, which others have too.
    var secret: Secret {
        switch self {
        case .pin: Secret(copying: Array("123456".utf8).span)
        case .unblockingKey: Secret(copying: Array("12345678".utf8).span)
        }
    }
}
