package import KeychainModel
internal import Localization
package import SecureBytes

/// Asks like another prompter, and says what each answer is for, in words that are made only where a question is asked.
package struct DescribingPrompter: ForwardingPrompter {
    package let prompter: any Prompter
    private let program: String?
    private let describe: @Sendable () -> String?

    /// - Parameters:
    ///   - program: the program that a secret is asked for; nil where the purpose, or the place of the question, names it.
    ///   - describe: the purpose, as ``RequestContext/purpose`` has it, in place of that of a request; nil for the request's own.
    package init(
        _ prompter: any Prompter, for program: String? = nil, _ describe: @escaping @Sendable () -> String?
    ) {
        (self.prompter, self.program, self.describe) = (prompter, program, describe)
    }

    package func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try prompter.ask(described(request))
    }

    package func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try prompter.askForAnother(described(request))
    }

    package func tellOfPINPad(_ request: PromptRequest) { prompter.tellOfPINPad(described(request)) }

    package func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
        // The data are described for a use that happens now: a permission for later uses has no data yet, and a question about another
        // machine describes them itself.
        guard question.requester == nil, question.machine == nil, let purpose = describe() else {
            return try prompter.decide(question)
        }
        return try prompter.decide(
            AccessQuestion(
                question.use, of: question.item, by: question.program, for: purpose,
                offersAlways: question.offersAlways, hasChanged: question.hasChanged, patience: question.patience))
    }

    package func givingUp(at end: QuestionEnd) -> any Prompter {
        DescribingPrompter(prompter.givingUp(at: end), for: program, describe)
    }

    private func described(_ request: PromptRequest) -> PromptRequest {
        guard let own = request.use else { return request }
        let use = describe().map { String(localized: "\(own): \($0)") } ?? own
        return PromptRequest(
            request.purpose, subject: request.subject,
            use: program.map { String(localized: "\(use) for '\($0)'") } ?? use, triesLeft: request.triesLeft,
            failure: request.failure, form: request.form)
    }
}
