public import KeychainModel
internal import Localization
public import SecureBytes
internal import Synchronization

/// A question that the host has its client ask, as a value. It has everything that is said to a person.
public enum HostQuestion: Sendable, Hashable {
    /// For a PIN or a password.
    case secret(PromptRequest)
    /// For a secret other than a keychain's: a script that answers keeps its first line for the keychain.
    case anotherSecret(PromptRequest)
    /// To be answered by yes or no.
    case consent(String)
    /// For the ways in which the client can ask. It comes when they first matter, and not with each request: to tell, a client may have
    /// to start the program that asks.
    case abilities
}

/// The client's answer to a ``HostQuestion``.
public enum HostReply: Sendable, Equatable {
    case secret(SharedSecret)
    case consent(Bool)
    case abilities(PromptAbilities)
    /// `errSecUserCanceled` where the person declines, `errSecInteractionNotAllowed` where no person can be asked.
    case failed(KeychainError)
}

/// The ways in which a client can ask, told before other questions: whether a card is asked for its tries depends on it.
public struct PromptAbilities: Sendable, Hashable {
    public let canAsk: Bool
    public let canAskAgain: Bool
    public let canConfirm: Bool
    public let allowsPINPad: Bool
    public let alternative: String
}

extension PromptAbilities {
    public init(of prompter: some Prompter) {
        self.init(
            canAsk: prompter.canAsk, canAskAgain: prompter.canAskAgain, canConfirm: prompter.canConfirm,
            allowsPINPad: prompter.allowsPINPad, alternative: prompter.alternative)
    }
}

extension Prompter {
    /// Asks a question of the host, at the client.
    package func reply(to question: HostQuestion) -> HostReply {
        do throws(KeychainError) {
            switch question {
            case .secret(let request): return .secret(SharedSecret(try ask(request)))
            case .anotherSecret(let request): return .secret(SharedSecret(try askForAnother(request)))
            case .consent(let text): return .consent(try confirm(text))
            case .abilities: return .abilities(PromptAbilities(of: self))
            }
        } catch {
            return .failed(error)
        }
    }
}

/// Asks through the client of a host.
package struct ClientPrompter: Prompter {
    /// Carries a question to the client, and its reply back, until a time if one is given.
    package typealias Exchange =
        @Sendable (HostQuestion, _ end: ContinuousClock.Instant?) throws(KeychainError) -> HostReply

    private let known: KnownAbilities
    private let notify: @Sendable (HostNotice) -> Void
    private let exchange: Exchange
    private var end: ContinuousClock.Instant?

    /// The abilities of the client, once they are known.
    private final class KnownAbilities: Sendable {
        let value: Mutex<PromptAbilities?>

        init(_ abilities: PromptAbilities?) { value = Mutex(abilities) }
    }

    /// - Parameters:
    ///   - abilities: the client's abilities; nil to ask the client for them.
    ///   - notify: carries a notice to the client, and does not wait for the client.
    package init(
        _ abilities: PromptAbilities? = nil, notifying notify: @escaping @Sendable (HostNotice) -> Void,
        exchange: @escaping Exchange
    ) {
        known = KnownAbilities(abilities)
        self.notify = notify
        self.exchange = exchange
    }

    /// A client that does not tell its abilities has none.
    private var abilities: PromptAbilities {
        if let known = known.value.withLock(\.self) { return known }
        guard case .abilities(let told) = try? exchange(.abilities, end) else {
            return PromptAbilities(of: NoPrompter())
        }
        known.value.withLock { $0 = told }
        return told
    }

    package var canAsk: Bool { abilities.canAsk }
    package var canAskAgain: Bool { abilities.canAskAgain }
    package var canConfirm: Bool { abilities.canConfirm }
    package var allowsPINPad: Bool { abilities.allowsPINPad }
    package var alternative: String { abilities.alternative }

    /// A client that ends gives no answer, so that the end of its request needs no look.
    package func givingUp(at end: QuestionEnd) -> any Prompter {
        var prompter = self
        prompter.end = end.time
        return prompter
    }

    package func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { try secret(.secret(request)) }

    package func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try secret(.anotherSecret(request))
    }

    private func secret(_ question: HostQuestion) throws(KeychainError) -> Secret {
        switch try exchange(question, end) {
        case .secret(let shared): return shared.secret.clone()
        case .failed(let error): throw error
        case .consent, .abilities: throw ClientPrompter.unfitting
        }
    }

    package func confirm(_ question: String) throws(KeychainError) -> Bool {
        switch try exchange(.consent(question), end) {
        case .consent(let agrees): return agrees
        case .failed(let error): throw error
        case .secret, .abilities: throw ClientPrompter.unfitting
        }
    }

    package func tell(_ message: String) { notify(.remark(message)) }

    package func show(_ message: String) -> (@Sendable () -> Void)? { begin { .message(message, number: $0) } }

    package func showWait(forCardIn reader: String) -> (@Sendable () -> Void)? {
        begin { .wait(forCardIn: reader, number: $0) }
    }

    /// - Returns: the function that ends the notice.
    private func begin(_ notice: (UInt32) -> HostNotice) -> @Sendable () -> Void {
        let number = ClientPrompter.lastNotice.wrappingAdd(1, ordering: .relaxed).newValue
        notify(notice(number))
        return { [notify] in notify(.over(number)) }
    }

    private static let lastNotice = Atomic<UInt32>(0)

    private static let unfitting = KeychainError(.internal, "the client answers another question than it was asked")
}
