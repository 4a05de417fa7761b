public import HostAPI
public import KeychainModel
internal import Localization
public import SecureBytes

/// Asks the first of several prompters that can ask; if it turns out to be unavailable, the next one.
public struct FirstAvailablePrompter: Prompter {
    private let prompters: [any Prompter]
    public let alternative: String

    /// - Parameter alternative: other ways to give the answer where none of them can ask; by default those of a program.
    init(_ prompters: [any Prompter], alternative: String? = nil) {
        self.prompters = prompters
        self.alternative = alternative ?? String(localized: KeychainError.waysOfPrograms)
    }

    public var canAsk: Bool { prompters.contains(where: \.canAsk) }
    public var canAskAgain: Bool { prompters.first(where: \.canAsk)?.canAskAgain ?? false }
    public var allowsPINPad: Bool { prompters.contains(where: \.allowsPINPad) }
    public var canConfirm: Bool { prompters.contains { $0.canAsk && $0.canConfirm } }

    public func givingUp(at end: QuestionEnd) -> any Prompter {
        FirstAvailablePrompter(prompters.map { $0.givingUp(at: end) }, alternative: alternative)
    }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        for prompter in prompters where prompter.canAsk {
            do throws(KeychainError) { return try prompter.ask(request) } catch {
                guard error.code == .notAvailable else { throw error }
            }
        }
        throw .cannotAsk(request, by: self)
    }

    public func tell(_ message: String) {
        for prompter in prompters { prompter.tell(message) }
    }

    /// Shows it in the first place that there is.
    public func show(_ message: String) -> (@Sendable () -> Void)? {
        for prompter in prompters {
            if let end = prompter.show(message) { return end }
        }
        return nil
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool {
        for prompter in prompters where prompter.canAsk {
            do throws(KeychainError) { return try prompter.confirm(question) } catch {
                guard error.code == .notAvailable else { throw error }
            }
        }
        return false
    }

    /// Asks on the terminal, whatever comes before it: pinentry shows no line.
    public func askForLine(_ question: String) throws(KeychainError) -> String? {
        for prompter in prompters {
            if let line = try prompter.askForLine(question) { return line }
        }
        return nil
    }

    public func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
        for prompter in prompters where prompter.canAsk {
            do throws(KeychainError) { return try prompter.decide(question) } catch {
                guard error.code == .notAvailable else { throw error }
            }
        }
        throw .cannotDecide(question)
    }
}
