public import KeychainModel
package import Localization
internal import Platform
public import SecureBytes

/// A way to ask the person at the machine for a PIN or password.
///
/// One protocol for the terminal, pinentry, a file descriptor, and the refusal of every question. It is never called
/// while a card is held.
public protocol Prompter: Sendable {
    /// Whether a question can be answered. If not, no card is sent a command in advance.
    var canAsk: Bool { get }

    /// Whether a wrong answer may be followed by another question. A file gives the same answer again.
    var canAskAgain: Bool { get }

    /// Asks for a secret.
    ///
    /// - Throws: `errSecUserCanceled` when the person declines, `errSecInteractionNotAllowed` when no person can be asked.
    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret

    /// Asks for a secret other than a keychain's, whether that keychain is unlocked before or after.
    func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret

    /// Asks a yes-or-no question; one that cannot be answered counts as no.
    func confirm(_ question: String) throws(KeychainError) -> Bool

    /// Asks for a line that is shown while it is typed.
    ///
    /// - Returns: nil where there is no terminal for it.
    func askForLine(_ question: String) throws(KeychainError) -> String?

    /// Asks a person whether a program may use a key or a secret. No answer in the question's time is a denial.
    ///
    /// - Throws: `errSecInteractionNotAllowed` where no person can be asked by the host itself: the program would be asked about itself.
    func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision

    /// Whether a person may be there to agree or decline. Where not, a card is not asked for its tries.
    var canConfirm: Bool { get }

    /// Whether a person may be there to type a PIN on the reader's own keys, also where no question can be asked here.
    var allowsPINPad: Bool { get }

    /// Shows a message that wants no answer, where there is a place for it.
    func tell(_ message: String)

    /// Tells the person to type the answer on the reader's own keys.
    func tellOfPINPad(_ request: PromptRequest)

    /// Shows a message until it is taken away.
    ///
    /// - Returns: a function that takes the message away, without effect where messages stay, as on a terminal; nil where there is no
    ///   place for a message.
    func show(_ message: String) -> (@Sendable () -> Void)?

    /// Shows that a card is waited for, which another program may be using, until the wait is over. It is called in the middle of the
    /// wait, so that neither it nor its result may take long.
    ///
    /// - Returns: a function that ends it; nil where waits are not shown.
    func showWait(forCardIn reader: String) -> (@Sendable () -> Void)?

    /// The prompter whose questions end without an answer at the given end, with an error of the prompter's choice, so that none stays with the
    /// person. A prompter that cannot end a question is returned as it is.
    func givingUp(at end: QuestionEnd) -> any Prompter

    /// The other ways to give the answer, for the error of a question that cannot be asked: a program has other ways than a command.
    var alternative: String { get }
}

extension Prompter {
    /// Asks like ``ask(_:)``: the request tells a person which secret is meant.
    public func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret { try ask(request) }

    public func askForLine(_ question: String) throws(KeychainError) -> String? { nil }

    /// Refuses: only a prompter that reaches a person by itself can decide.
    public func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
        throw .cannotDecide(question)
    }

    /// False for a script or a file, which has the PIN itself.
    public var allowsPINPad: Bool { canAskAgain }

    /// False for a script or a file, which cannot agree.
    public var canConfirm: Bool { canAskAgain }

    public func tell(_ message: String) {}

    public func tellOfPINPad(_ request: PromptRequest) {
        if let failure = request.failure { tell(failure) }
        tell(request.instruction)
    }

    public func show(_ message: String) -> (@Sendable () -> Void)? {
        tell(message)
        return {}
    }

    public func givingUp(at end: QuestionEnd) -> any Prompter { self }

    public func showWait(forCardIn reader: String) -> (@Sendable () -> Void)? { nil }

    public var alternative: String { String(localized: KeychainError.waysOfPrograms) }
}

extension KeychainError {
    /// The ways in which a program gives a PIN or password where no person can be asked.
    package static let waysOfPrograms: LocalizedText =
        "give it by LAContext, SecKeychainUnlock or C_Login, or run where a prompt can be shown"

    package static let reasonOfMoreRights: LocalizedText =
        "a program with more rights than the user who started it asks nobody"

    /// The error of a question that cannot be asked: names the secret that is needed, and the prompter's other ways.
    ///
    /// - Parameter reason: the reason. In a process that has more rights than its caller, those rights are the reason.
    package static func cannotAsk(
        _ request: PromptRequest, by prompter: some Prompter, because reason: LocalizedText? = nil
    ) -> KeychainError {
        let reason = Environment.isUntrusted ? reasonOfMoreRights : reason
        return KeychainError(
            .interactionNotAllowed,
            reason.map { "\(request.sentence) is needed, but \($0)" } ?? "\(request.sentence) is needed",
            remedy: "\(prompter.alternative)")
    }

    /// The error of a use that a person has to allow, where no person can be asked.
    package static func cannotDecide(_ question: AccessQuestion, because reason: LocalizedText? = nil) -> KeychainError
    {
        let reason = Environment.isUntrusted ? reasonOfMoreRights : reason ?? "nobody can be asked"
        return KeychainError(
            .interactionNotAllowed,
            "'\(question.program.name)' may not yet \(question.use.words(with: question.item)), and \(reason)",
            remedy: "run it where a prompt can be shown, or have the program give the PIN or password itself")
    }
}
