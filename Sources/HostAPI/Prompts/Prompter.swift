public import KeychainModel
public import SecureBytes

/// A way to ask the person at the machine for a PIN or password.
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

    /// Asks for the secret of another thing than a keychain, be that keychain unlocked before or after.
    func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret

    /// Asks a yes-or-no question; what cannot be answered is a no.
    func confirm(_ question: String) throws(KeychainError) -> Bool

    /// Whether somebody may be there who answers it otherwise. Where not, a card is not asked how its PIN stands for that.
    var canConfirm: Bool { get }

    /// Whether somebody may be there who types a PIN on the reader's own keys, also where nothing can be asked here.
    var allowsPINPad: Bool { get }

    /// Shows a message that wants no answer, where there is a place for it.
    func tell(_ message: String)

    /// The other ways to give the answer, for the error of a question that cannot be asked: a program has other ways than a command.
    var alternative: String { get }
}

extension Prompter {
    /// A person is told the thing that is asked for.
    public func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret { try ask(request) }

    /// A script or a file has the answer itself.
    public var allowsPINPad: Bool { canAskAgain }

    /// A script or a file agrees to nothing.
    public var canConfirm: Bool { canAskAgain }

    public func tell(_ message: String) {}

    public var alternative: String { KeychainError.waysOfPrograms }
}

extension KeychainError {
    /// The ways of a program to give a PIN or password that nobody can be asked for.
    package static let waysOfPrograms =
        "give it by LAContext, SecKeychainUnlock or C_Login, or run where a prompt can be shown"
}
