package import SecureBytes

// The PIN of a login (PKCS #11 §5.6.8). A caller gives it once, to log in. While the login lasts, it is presented again where
// another program or the service made the card forget it, and once, right after the login, for a key that needs it before each
// use.
extension PINSession {
    enum Login: Sendable {
        case none
        /// - Parameters:
        ///   - pin: nil for one that was typed on the reader.
        ///   - isFresh: whether the PIN may be used for a key that needs it before each use.
        case lasting(pin: SharedSecret?, isFresh: Bool)
        /// The login ended with the term of its PIN.
        case timedOut
    }

    /// The state of a login, without its PIN.
    public enum LoginState: Sendable {
        case none, lasting, timedOut
    }

    package var loginState: LoginState {
        switch login {
        case .none: .none
        case .lasting: .lasting
        case .timedOut: .timedOut
        }
    }

    /// Keeps a PIN that the card has just accepted, as that of the login. During a login, the PIN takes the place of the former one.
    package mutating func beginLogin(with pin: borrowing PIN) {
        let kept = pin.origin == .given ? SharedSecret(pin.secret.clone()) : nil
        let isFresh = if case .lasting(_, let isFresh) = login { isFresh } else { true }
        login = .lasting(pin: kept, isFresh: isFresh)
    }

    /// Notes that a person typed the PIN on the reader again, for one use of a key.
    package mutating func refreshLogin() {
        if case .lasting(let pin, _) = login { login = .lasting(pin: pin, isFresh: true) }
    }

    package mutating func endLogin() { login = .none }

    /// The PIN of the login; nil where there is none, and for one that was typed on the reader.
    package var loginPIN: PIN? {
        guard case .lasting(let pin?, _) = login else { return nil }
        return PIN(pin.secret.clone())
    }

    /// The PIN of the login, for a use of a key that needs it.
    ///
    /// A PIN that was typed on the reader cannot be presented again: the login ends where that is needed.
    ///
    /// - Throws: ``TokenError`` `.pinRequired`.
    package mutating func loginPIN(for policy: PINPolicy) throws(TokenError) -> PIN {
        guard case .lasting(let pin, let isFresh) = login else {
            throw TokenError(.pinRequired, "nobody is logged in")
        }
        guard !policy.isAlways || isFresh else {
            throw TokenError(.pinRequired, "the key wants a login for each use (CKU_CONTEXT_SPECIFIC)")
        }
        guard pin != nil || policy.isAlways else {
            login = .none
            throw TokenError(.pinRequired, "the card has forgotten the PIN")
        }
        if policy.isAlways { login = .lasting(pin: pin, isFresh: false) }
        return pin.map { PIN($0.secret.clone()) } ?? .presented
    }

    /// Replaces the PIN of the login by a new one.
    mutating func replaceLoginPIN(by pin: borrowing PIN) {
        guard case .lasting(_, let isFresh) = login, pin.origin == .given else { return }
        login = .lasting(pin: SharedSecret(pin.secret.clone()), isFresh: isFresh)
    }
}
