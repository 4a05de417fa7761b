public import KeychainModel
public import Localization
public import SecureBytes

/// Refuses every question at once.
public struct NoPrompter: Prompter {
    public var canAsk: Bool { false }
    public var canAskAgain: Bool { false }
    public let alternative: String
    public let allowsPINPad: Bool
    private let reason: LocalizedText?

    /// - Parameters:
    ///   - alternative: other ways to give the answer, for the error; by default those of a program.
    ///   - allowsPINPad: whether a PIN may be typed on a reader's own keys.
    ///   - reason: the reason why nobody is asked, for the error.
    public init(alternative: String? = nil, allowsPINPad: Bool = false, because reason: LocalizedText? = nil) {
        self.reason = reason
        self.alternative = alternative ?? String(localized: KeychainError.waysOfPrograms)
        self.allowsPINPad = allowsPINPad
    }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        throw .cannotAsk(request, by: self, because: reason)
    }

    public func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
        throw .cannotDecide(question, because: reason)
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool { false }
}
