import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import Synchronization

/// A person who types prepared answers, and gives up when there are no more.
final class TypesInTurn: Prompter {
    private struct State {
        var answers: ArraySlice<String>
        var requests: [PromptRequest] = []
        var questions: [String] = []
        var messages: [String] = []
    }

    private let state: Mutex<State>
    private let agrees: Bool
    private let whileAsked: @Sendable () -> Void

    /// - Parameters:
    ///   - agrees: the answer to yes-or-no questions.
    ///   - whileAsked: runs before each answer.
    init(_ answers: String..., agrees: Bool = false, whileAsked: @escaping @Sendable () -> Void = {}) {
        state = Mutex(State(answers: answers[...]))
        self.agrees = agrees
        self.whileAsked = whileAsked
    }

    var requests: [PromptRequest] { state.withLock { $0.requests } }
    var questions: [String] { state.withLock { $0.questions } }
    var messages: [String] { state.withLock { $0.messages } }

    var canAsk: Bool { true }
    var canAskAgain: Bool { true }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        whileAsked()
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers.popFirst()
        }
        guard let answer else { throw KeychainError(.userCanceled) }
        return .of(answer)
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool {
        state.withLock { $0.questions.append(question) }
        return agrees
    }

    func tell(_ message: String) { state.withLock { $0.messages.append(message) } }
}

/// A program that gives the same answer to every question, as pinentry does with a cached PIN.
final class AnswersForEver: Prompter {
    private let answer: String
    private let count = Atomic(0)

    init(_ answer: String) { self.answer = answer }

    /// How often it was asked.
    var timesAsked: Int { count.load(ordering: .relaxed) }

    var canAsk: Bool { true }
    var canAskAgain: Bool { true }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        count.add(1, ordering: .relaxed)
        return .of(answer)
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { true }
}

/// A script that has prepared answers and cannot be asked again.
final class AnswersByScript: Prompter {
    private let answers: Mutex<ArraySlice<String>>
    private let count = Atomic(0)

    init(_ answers: String...) {
        self.answers = Mutex(answers[...])
    }

    /// How often it was asked.
    var timesAsked: Int { count.load(ordering: .relaxed) }

    var canAsk: Bool { true }
    var canAskAgain: Bool { false }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        count.add(1, ordering: .relaxed)
        guard let answer = answers.withLock({ $0.popFirst() }) else { throw KeychainError(.interactionNotAllowed) }
        return .of(answer)
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { false }
}

/// A person who knows the password of every keychain, and of every item.
final class AnswersByPurpose: Prompter {
    private let keychain: String
    private let item: String
    private let asked = Mutex<[String]>([])

    init(keychain: String, item: String) {
        (self.keychain, self.item) = (keychain, item)
    }

    /// The subjects of the questions, in order.
    var subjects: [String] { asked.withLock { $0 } }

    var canAsk: Bool { true }
    var canAskAgain: Bool { true }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        asked.withLock { $0.append(request.subject) }
        return .of(request.subject == "test" ? keychain : item)
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { false }
}

/// A program that starts and then does not work.
struct BreaksWhenAsked: Prompter {
    var canAsk: Bool { true }
    var canAskAgain: Bool { true }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.notAvailable) }
    func confirm(_ question: String) throws(KeychainError) -> Bool { throw KeychainError(.notAvailable) }
}
