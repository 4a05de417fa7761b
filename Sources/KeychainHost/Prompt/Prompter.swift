public import KeychainModel
internal import Platform
public import SecureBytes

/// How the person at the machine is asked for a PIN or password.
///
/// One protocol for the terminal, pinentry, a file descriptor, and nobody. It is never called while a card is held.
public protocol Prompter: Sendable {
    /// Whether anything can come of asking; where not, nothing is sent to a card on behalf of a question.
    var canAsk: Bool { get }

    /// Whether a wrong answer may be followed by another question. A file gives the same answer again.
    var canAskAgain: Bool { get }

    /// Asks for a secret.
    ///
    /// - Throws: `errSecUserCanceled` when the person declines, `errSecInteractionNotAllowed` when nobody can be asked.
    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret

    /// Asks a yes-or-no question; what cannot be answered is a no.
    func confirm(_ question: String) throws(KeychainError) -> Bool

    /// Whether somebody may be there who answers it otherwise. Where not, a card is not asked how its PIN stands for that.
    var canConfirm: Bool { get }

    /// Whether somebody may be there who types a PIN on the reader's own keys, also where nothing can be asked here.
    var allowsPINPad: Bool { get }

    /// Shows a message that wants no answer, where there is a place for it.
    func tell(_ message: String)

    /// How else the answer can be given, for the error of what cannot be asked: a program has other ways than a command.
    var alternative: String { get }
}

extension Prompter {
    /// A script or a file has the answer itself.
    public var allowsPINPad: Bool { canAskAgain }

    /// A script or a file agrees to nothing.
    public var canConfirm: Bool { canAskAgain }

    public func tell(_ message: String) {}

    public var alternative: String { KeychainError.waysOfPrograms }
}

/// What is asked for, and what a person must know to answer.
public struct PromptRequest: Sendable {
    public enum Purpose: Sendable, Hashable {
        case pin
        case newPIN
        case unblockingKey
        case newUnblockingKey
        case password
        case newPassword
    }

    public let purpose: Purpose

    /// The card or keychain it belongs to, by the name people know it under.
    public let subject: String

    /// What it will be used for, `sign report.pdf`; nil where the purpose says it all.
    public let use: String?

    /// How many tries are left, where that is known.
    public let triesLeft: Int?

    /// Why the last answer would not do.
    public let failure: String?

    /// Whether an answer has a form that will do; one that has not is not asked for a second time.
    let accepts: (@Sendable (borrowing Secret) -> Bool)?

    /// How often one thing is asked for, as many cards count tries: whoever knows no better by then is not helped by another
    /// question, and a program that answers in a person's place would be asked for ever.
    static let mostQuestions = 3

    public init(
        _ purpose: Purpose, subject: String, use: String? = nil, triesLeft: Int? = nil, failure: String? = nil,
        accepts: (@Sendable (borrowing Secret) -> Bool)? = nil
    ) {
        self.purpose = purpose
        self.subject = subject
        self.use = use
        self.triesLeft = triesLeft
        self.failure = failure
        self.accepts = accepts
    }

    /// Whether it is typed twice, since a slip would lock its owner out.
    public var wantsRepetition: Bool {
        switch purpose {
        case .newPIN, .newUnblockingKey, .newPassword: true
        case .pin, .unblockingKey, .password: false
        }
    }

    /// One word for the field.
    var field: String {
        switch purpose {
        case .pin: "PIN"
        case .newPIN: "new PIN"
        case .unblockingKey: "PUK"
        case .newUnblockingKey: "new PUK"
        case .password: "password"
        case .newPassword: "new password"
        }
    }

    /// The sentence above the field: what for, where, and how many tries are left.
    var sentence: String { "\(matter)\(tries)" }

    /// The same where it is typed on the reader's own keys.
    var instruction: String { "Enter the \(matter) on the reader's keypad\(tries)" }

    /// Has whoever is to type it on the reader told so.
    package func tellOfPINPad(_ prompter: any Prompter) {
        if let failure { prompter.tell(failure) }
        prompter.tell(instruction)
    }

    private var matter: String { "\(field) for '\(subject)'\(use.map { " to \($0)" } ?? "")" }

    private var tries: String { triesLeft.map { $0 == 1 ? ", last try" : ", \($0) tries left" } ?? "" }
}

extension KeychainError {
    static let canceled = KeychainError(.userCanceled, "canceled")

    fileprivate static let waysOfPrograms =
        "give it by LAContext, SecKeychainUnlock or C_Login, or run where a prompt can be shown"

    static func cannotAsk(
        _ request: PromptRequest, by prompter: some Prompter, because reason: String? = nil
    ) -> KeychainError {
        let reason =
            Environment.isUntrusted ? "a program that has more rights than who started it asks nobody" : reason
        return KeychainError(
            .interactionNotAllowed, "\(request.sentence) is needed\(reason.map { ", but \($0)" } ?? "")",
            remedy: prompter.alternative)
    }
}

/// Asks nobody: every question fails at once.
public struct NoPrompter: Prompter {
    public var canAsk: Bool { false }
    public var canAskAgain: Bool { false }
    public let alternative: String
    public let allowsPINPad: Bool

    /// - Parameters:
    ///   - alternative: how the answer can be given all the same; a program's ways unless the caller has others.
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

/// Asks the first of several that can ask; where that turns out to fail, the next one.
public struct FirstAvailablePrompter: Prompter {
    private let prompters: [any Prompter]
    public let alternative: String

    /// - Parameter alternative: how the answer can be given where none of them can ask; a program's ways unless the caller has
    ///   others.
    public init(_ prompters: [any Prompter], alternative: String? = nil) {
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

    public func confirm(_ question: String) throws(KeychainError) -> Bool {
        for prompter in prompters where prompter.canAsk {
            do throws(KeychainError) { return try prompter.confirm(question) } catch {
                guard error.code == .notAvailable else { throw error }
            }
        }
        return false
    }
}
