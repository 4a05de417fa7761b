import HostAPI
import KeychainModel
import SecureBytes
import Synchronization

/// A person who types prepared answers, and gives up when there are no more.
public final class TypesInTurn: Prompter {
    private struct State {
        var answers: ArraySlice<String>
        var requests: [PromptRequest] = []
        var questions: [String] = []
        var messages: [String] = []
        var waits: [String] = []
    }

    private let state: Mutex<State>
    private let agrees: Bool
    private let whileAsked: @Sendable () -> Void

    /// - Parameters:
    ///   - agrees: the answer to yes-or-no questions.
    ///   - whileAsked: runs before each answer.
    public init(_ answers: String..., agrees: Bool = false, whileAsked: @escaping @Sendable () -> Void = {}) {
        state = Mutex(State(answers: answers[...]))
        self.agrees = agrees
        self.whileAsked = whileAsked
    }

    public var requests: [PromptRequest] { state.withLock { $0.requests } }
    public var questions: [String] { state.withLock { $0.questions } }
    public var messages: [String] { state.withLock { $0.messages } }
    /// The readers whose cards were waited for, each followed by "over" at the end of the wait.
    public var waits: [String] { state.withLock { $0.waits } }

    public var canAsk: Bool { true }
    public var canAskAgain: Bool { true }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        whileAsked()
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers.popFirst()
        }
        guard let answer else { throw KeychainError(.userCanceled) }
        return Secret(copying: Array(answer.utf8).span)
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool {
        state.withLock { $0.questions.append(question) }
        return agrees
    }

    public func tell(_ message: String) { state.withLock { $0.messages.append(message) } }

    public func showWait(forCardIn reader: String) -> (@Sendable () -> Void)? {
        state.withLock { $0.waits.append(reader) }
        return { self.state.withLock { $0.waits.append("over") } }
    }
}

/// A program that gives the same answer to every question, as pinentry does with a cached PIN.
public final class AnswersForEver: Prompter {
    private let answer: String
    private let count = Atomic(0)

    public init(_ answer: String) { self.answer = answer }

    /// How often it was asked.
    public var timesAsked: Int { count.load(ordering: .relaxed) }

    public var canAsk: Bool { true }
    public var canAskAgain: Bool { true }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        count.add(1, ordering: .relaxed)
        return Secret(copying: Array(answer.utf8).span)
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool { true }
}

/// A script that has prepared answers and cannot be asked again.
public final class AnswersByScript: Prompter {
    private let answers: Mutex<ArraySlice<String>>
    private let count = Atomic(0)

    public init(_ answers: String...) {
        self.answers = Mutex(answers[...])
    }

    /// How often it was asked.
    public var timesAsked: Int { count.load(ordering: .relaxed) }

    public var canAsk: Bool { true }
    public var canAskAgain: Bool { false }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        count.add(1, ordering: .relaxed)
        guard let answer = answers.withLock({ $0.popFirst() }) else { throw KeychainError(.interactionNotAllowed) }
        return Secret(copying: Array(answer.utf8).span)
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool { false }
}

/// A person who knows the password of every keychain, and of every item.
public final class AnswersByPurpose: Prompter {
    private let keychain: String
    private let item: String
    private let asked = Mutex<[String]>([])

    public init(keychain: String, item: String) {
        (self.keychain, self.item) = (keychain, item)
    }

    /// The subjects of the questions, in order.
    public var subjects: [String] { asked.withLock { $0 } }

    public var canAsk: Bool { true }
    public var canAskAgain: Bool { true }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        asked.withLock { $0.append(request.subject) }
        return Secret(copying: Array((request.subject == "test" ? keychain : item).utf8).span)
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool { false }
}

/// A program that starts and then does not work.
public struct BreaksWhenAsked: Prompter {
    public init() {}

    public var canAsk: Bool { true }
    public var canAskAgain: Bool { true }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.notAvailable) }
    public func confirm(_ question: String) throws(KeychainError) -> Bool { throw KeychainError(.notAvailable) }
}

/// A person who decides about programs in this order, and denies after that.
public final class Decides: Prompter {
    private struct State {
        var decisions: ArraySlice<AccessDecision>
        var questions: [AccessQuestion] = []
    }

    private let state: Mutex<State>
    private let whileAsked: @Sendable (AccessQuestion) -> Void

    /// - Parameter whileAsked: runs before each answer.
    public init(_ decisions: AccessDecision..., whileAsked: @escaping @Sendable (AccessQuestion) -> Void = { _ in }) {
        state = Mutex(State(decisions: decisions[...]))
        self.whileAsked = whileAsked
    }

    public var questions: [AccessQuestion] { state.withLock { $0.questions } }

    public var canAsk: Bool { true }
    public var canAskAgain: Bool { true }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.userCanceled) }
    public func confirm(_ question: String) throws(KeychainError) -> Bool { false }

    public func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
        let decision = state.withLock { state in
            state.questions.append(question)
            return state.decisions.popFirst() ?? .deny
        }
        whileAsked(question)
        return decision
    }
}
