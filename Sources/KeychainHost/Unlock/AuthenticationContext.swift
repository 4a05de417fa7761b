public import HostAPI
public import KeychainModel
internal import Localization
internal import Platform
public import SecureBytes
internal import Synchronization
public import TokenKit

/// The way to PINs and passwords: a prompter, and the values that a program has given in advance.
///
/// It is made once and used for any number of operations. A credential that was set is used in place of any question,
/// and is forgotten once a card or keychain refused it: nothing is sent twice, and no person is asked for what the
/// program has answered until it sets or removes the credential. Keychain semantics 3.3 and 4.4.
public struct AuthenticationContext: Sendable {
    let prompter: any Prompter

    /// Whether the last try of a PIN may be spent without asking.
    let lastTry: LastTry

    /// The way to a person's permission for keys whose PIN another client has given; nil where none is wanted.
    private(set) var permission: Permission?

    /// The notices at the desktop about what the client does; nil for none.
    private(set) var notices: ClientNotices?

    /// Throws once the request is over, for waits during it.
    private(set) var check: @Sendable () throws(KeychainError) -> Void = { () throws(KeychainError) in }

    private let lookForCards: @Sendable () -> [TokenKeychain]
    private let credentials: Credentials
    /// Whether one proof of presence counts for later items as well.
    private var remembersPresence = false

    /// - Parameter cards: the cards that may open a keychain which is bound to one of them; looked for only for such a keychain.
    public init(
        prompter: any Prompter = NoPrompter(), lastTry: LastTry = .keep,
        cards: @autoclosure @escaping @Sendable () -> [TokenKeychain] = []
    ) {
        self.init(prompter: prompter, lastTry: lastTry, lookForCards: cards, credentials: Credentials())
    }

    /// A context that has a PIN and asks no questions.
    init(pin: borrowing Secret, lastTry: LastTry) {
        self.init(lastTry: lastTry)
        setCredential(pin.clone(), .pin)
    }

    private init(
        prompter: any Prompter, lastTry: LastTry, lookForCards: @escaping @Sendable () -> [TokenKeychain],
        credentials: Credentials
    ) {
        self.prompter = prompter
        self.lastTry = lastTry
        self.lookForCards = lookForCards
        self.credentials = credentials
    }

    /// Whether a script answers, which is asked each question once.
    var hasOneAnswer: Bool { prompter.canAsk && !prompter.canAskAgain }

    /// The context for secrets other than the keychain's, which was unlocked before: its prompter's ``Prompter/ask(_:)`` is
    /// ``Prompter/askForAnother(_:)``.
    var forOthers: AuthenticationContext { asking(PrompterForOthers(prompter: prompter), lastTry: lastTry) }

    /// The cards that may open a keychain which is bound to one of them, as they are now.
    var cards: [TokenKeychain] { lookForCards() }

    /// Whether the program has the PIN itself, as a credential or a script's answer, and nobody types it.
    var hasOwnPIN: Bool { hasCredential(.pin) || hasOneAnswer }

    /// Sets a credential, replacing an earlier one of the kind.
    public func setCredential(_ secret: consuming Secret, _ kind: CredentialKind) {
        credentials.set(secret, kind)
    }

    /// Forgets a credential.
    func removeCredential(_ kind: CredentialKind) {
        credentials.set(nil, kind)
    }

    /// Forgets a credential that a card or keychain refused.
    func refuseCredential(_ kind: CredentialKind) { credentials.refuse(kind) }

    /// Whether the last credential of the kind was refused.
    func isRefused(_ kind: CredentialKind) -> Bool { credentials.isRefused(kind) }

    /// - Throws: `errSecAuthFailed` where the last credential of the kind was refused.
    func checkNotRefused(_ kind: CredentialKind) throws(KeychainError) {
        guard isRefused(kind) else { return }
        throw KeychainError(
            .authFailed, "the \(kind.name) of the authentication context was refused before",
            remedy: "set another one, or take a new context")
    }

    /// Whether there is a credential of the kind.
    func hasCredential(_ kind: CredentialKind) -> Bool {
        switch credentials.clone(kind) {
        case .some: true
        case .none: false
        }
    }

    /// The context with the same credentials and presence, in which another prompter asks.
    func asking(_ prompter: any Prompter, lastTry: LastTry) -> AuthenticationContext {
        var context = AuthenticationContext(
            prompter: prompter, lastTry: lastTry, lookForCards: lookForCards, credentials: credentials)
        (context.remembersPresence, context.permission, context.check) = (remembersPresence, permission, check)
        context.notices = notices
        return context
    }

    /// The context of a request.
    func during(
        _ ticket: RequestTicket, for permission: Permission?, _ notices: ClientNotices?
    ) -> AuthenticationContext {
        var context = self
        (context.permission, context.notices) = (permission, notices)
        context.check = { () throws(KeychainError) in try ticket.check() }
        return context
    }

    /// Runs `body`, which asks for a card's PIN, once no other client asks for it.
    ///
    /// - Parameter body: is told whether another client asked meanwhile, so that the PIN may count by now.
    func inTurn<Result: ~Copyable>(
        of slot: any TokenBackend, _ body: (_ hasWaited: Bool) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        guard let turn = slot.questionTurn else { return try body(false) }
        return try turn.take(checking: check, body)
    }

    /// The context in which a person who has proved to be present is not asked again for further items of the same
    /// keychain.
    func rememberingPresence() -> AuthenticationContext {
        var context = self
        context.remembersPresence = true
        return context
    }

    /// Whether a person has proved to be present, by the password of a keychain or the PIN of a card that is bound to
    /// it.
    func knowsPresence(for keychain: KeychainIdentifier) -> Bool {
        remembersPresence && credentials.knowsPresence(for: keychain)
    }

    func notePresence(for keychain: KeychainIdentifier) {
        if remembersPresence { credentials.notePresence(for: keychain) }
    }

    /// Whether a proof of presence is possible: by a person, or by a given credential.
    var canConfirmPresence: Bool { prompter.canAsk || hasCredential(.password) || hasCredential(.pin) }

    func credential(_ kind: CredentialKind) -> Secret? { credentials.clone(kind) }
}

/// The credentials of a context, shared by its copies.
private final class Credentials: Sendable {
    private struct State: ~Copyable {
        var pin: Secret?
        var password: Secret?
        var applicationPassword: Secret?
        /// The keychains for which a person has proved to be present.
        var present: Set<KeychainIdentifier> = []
        var refused: Set<CredentialKind> = []
    }

    private let state = Mutex(State())

    func knowsPresence(for keychain: KeychainIdentifier) -> Bool { state.withLock { $0.present.contains(keychain) } }

    func notePresence(for keychain: KeychainIdentifier) { state.withLock { _ = $0.present.insert(keychain) } }

    func set(_ secret: consuming Secret?, _ kind: CredentialKind) {
        var secret = secret
        state.withLock { state in
            state.refused.remove(kind)
            switch kind {
            case .pin: state.pin = secret.take()
            case .password: state.password = secret.take()
            case .applicationPassword: state.applicationPassword = secret.take()
            }
        }
    }

    func refuse(_ kind: CredentialKind) {
        set(nil, kind)
        state.withLock { _ = $0.refused.insert(kind) }
    }

    func isRefused(_ kind: CredentialKind) -> Bool { state.withLock { $0.refused.contains(kind) } }

    func clone(_ kind: CredentialKind) -> Secret? {
        state.withLock { state in
            switch kind {
            case .pin: Credentials.copy(of: state.pin)
            case .password: Credentials.copy(of: state.password)
            case .applicationPassword: Credentials.copy(of: state.applicationPassword)
            }
        }
    }

    private static func copy(of secret: borrowing Secret?) -> Secret? {
        switch secret {
        case .some(let secret): secret.clone()
        case .none: nil
        }
    }
}

extension CredentialKind {
    fileprivate var name: String {
        switch self {
        case .pin: "PIN"
        case .password: "password"
        case .applicationPassword: "application password"
        }
    }
}
