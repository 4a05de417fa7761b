public import HostAPI
public import KeychainModel
internal import Platform
public import SecureBytes

extension KeychainError {
    static let canceled = KeychainError(.userCanceled, "canceled")

    static func cannotAsk(
        _ request: PromptRequest, by prompter: some Prompter, because reason: String? = nil
    ) -> KeychainError {
        let reason =
            Environment.isUntrusted ? "a program with more rights than the user who started it asks nobody" : reason
        return KeychainError(
            .interactionNotAllowed, "\(request.sentence) is needed\(reason.map { ", but \($0)" } ?? "")",
            remedy: prompter.alternative)
    }
}

/// Refuses every question at once.
public struct NoPrompter: Prompter {
    public var canAsk: Bool { false }
    public var canAskAgain: Bool { false }
    public let alternative: String
    public let allowsPINPad: Bool

    /// - Parameters:
    ///   - alternative: other ways to give the answer, for the error; by default those of a program.
    ///   - allowsPINPad: whether a PIN may be typed on a reader's own keys.
    public init(alternative: String? = nil, allowsPINPad: Bool = false) {
        self.alternative = alternative ?? KeychainError.waysOfPrograms
        self.allowsPINPad = allowsPINPad
    }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        throw .cannotAsk(request, by: self)
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool { false }
}

/// Asks the first of several prompters that can ask; if it turns out to be unavailable, the next one.
public struct FirstAvailablePrompter: Prompter {
    private let prompters: [any Prompter]
    public let alternative: String

    /// - Parameter alternative: other ways to give the answer where none of them can ask; by default those of a program.
    init(_ prompters: [any Prompter], alternative: String? = nil) {
        self.prompters = prompters
        self.alternative = alternative ?? KeychainError.waysOfPrograms
    }

    public var canAsk: Bool { prompters.contains(where: \.canAsk) }
    public var canAskAgain: Bool { prompters.first(where: \.canAsk)?.canAskAgain ?? false }
    public var allowsPINPad: Bool { prompters.contains(where: \.allowsPINPad) }
    public var canConfirm: Bool { prompters.contains { $0.canAsk && $0.canConfirm } }

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
}

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
