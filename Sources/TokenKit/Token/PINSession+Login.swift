package import SecureBytes

// The PINs of logins (PKCS #11 §5.6.8), and the one that is kept for all clients. A caller gives a PIN once, to log in. While the login
// lasts, it is presented again where another program or the service made the card forget it, and once, right after the login, for a key
// that needs it before each use.
extension PINSession {
    enum Login: Sendable {
        case none
        /// - Parameters:
        ///   - pin: nil for one that was typed on the reader.
        ///   - isFresh: whether the PIN may be used for a key that needs it before each use.
        ///   - isOthers: whether another client gave the PIN.
        case lasting(pin: SharedSecret?, isFresh: Bool, isOthers: Bool = false)
        /// The login ended with the term of its PIN.
        case timedOut
    }

    /// The state of a login, without its PIN.
    public enum LoginState: Sendable {
        case none, lasting, timedOut
    }

    private func login(of client: PINClient) -> Login { logins[client] ?? .none }

    package func loginState(of client: PINClient = .only) -> LoginState {
        switch login(of: client) {
        case .none: .none
        case .lasting: .lasting
        case .timedOut: .timedOut
        }
    }

    /// Keeps a PIN that the card has just accepted, as that of the login. During a login, the PIN takes the place of the former one.
    ///
    /// - Parameter isOthers: whether the PIN counts as another client's.
    package mutating func beginLogin(
        with pin: borrowing PIN, of client: PINClient = .only, isOthers: Bool = false
    ) {
        // It may have been forgotten since the card accepted it.
        guard !keepsPIN || (hasSharedPIN && !logoutPending && !isForgotten(pin)) else { return }
        let kept = pin.origin == .given ? SharedSecret(pin.secret.clone()) : nil
        let isFresh = if case .lasting(_, let isFresh, _) = login(of: client) { isFresh } else { true }
        logins[client] = .lasting(pin: kept, isFresh: isFresh, isOthers: isOthers)
    }

    /// Notes that a person typed the PIN on the reader again, for one use of a key.
    package mutating func refreshLogin(of client: PINClient = .only) {
        guard case .lasting(let pin, _, let isOthers) = login(of: client) else { return }
        logins[client] = .lasting(pin: pin, isFresh: true, isOthers: isOthers)
    }

    package mutating func endLogin(of client: PINClient = .only) { logins[client] = nil }

    /// The PIN of the login; nil where there is none, and for one that was typed on the reader.
    package func loginPIN(of client: PINClient = .only) -> PIN? {
        guard case .lasting(let pin?, _, let isOthers) = login(of: client) else { return nil }
        return PIN(pin.secret.clone(), kept: mark(isOthers: isOthers))
    }

    /// The PIN of the login, for a use of a key that needs it.
    ///
    /// A PIN that was typed on the reader cannot be presented again: the login ends where that is needed.
    ///
    /// - Throws: ``TokenError`` `.pinRequired`.
    package mutating func loginPIN(for policy: PINPolicy, of client: PINClient = .only) throws(TokenError) -> PIN {
        guard case .lasting(let pin, let isFresh, let isOthers) = login(of: client) else {
            throw TokenError(.pinRequired, "nobody is logged in")
        }
        guard !policy.isAlways || isFresh else {
            throw TokenError(.pinRequired, "the key wants a login for each use (CKU_CONTEXT_SPECIFIC)")
        }
        guard pin != nil || policy.isAlways else {
            logins[client] = nil
            throw TokenError(.pinRequired, "the card has forgotten the PIN")
        }
        if policy.isAlways { logins[client] = .lasting(pin: pin, isFresh: false, isOthers: isOthers) }
        guard let pin else { return .presented }
        return PIN(pin.secret.clone(), kept: mark(isOthers: isOthers))
    }

    /// Replaces the PIN of all logins, and the kept one, by a new one.
    mutating func replaceLoginPIN(by pin: borrowing PIN) {
        guard pin.origin == .given else { return }
        let new = SharedSecret(pin.secret.clone())
        for (client, login) in logins {
            guard case .lasting(_, let isFresh, let isOthers) = login else { continue }
            logins[client] = .lasting(pin: new, isFresh: isFresh, isOthers: isOthers)
        }
        if kept != nil { kept = new }
    }

    // MARK: The kept PIN

    /// Whether a PIN counts for all clients: one that is kept, or was typed on the reader and is not forgotten.
    var hasSharedPIN: Bool { keepsPIN && (kept != nil || wasPresented) }

    var keptPIN: PIN? {
        guard let kept else { return nil }
        return PIN(kept.secret.clone(), kept: mark(isOthers: true))
    }

    private func mark(isOthers: Bool) -> PIN.Kept? {
        keepsPIN ? PIN.Kept(after: forgettings, isOthers: isOthers) : nil
    }

    /// Whether a kept PIN was forgotten since it was taken from here.
    func isForgotten(_ pin: borrowing PIN) -> Bool { pin.kept.map { $0.forgettings != forgettings } ?? false }

    /// Notes that a client has presented a right PIN. One that was kept may be another client's.
    mutating func noteGift(_ pin: borrowing PIN, of client: PINClient) {
        if keepsPIN, pin.kept == nil { givers.insert(client) }
    }

    /// Whether a PIN counts that a client has not given itself.
    func hasPIN(ofOthersThan client: PINClient) -> Bool {
        hasSharedPIN && !givers.contains(client)
    }

    func isKept(_ pin: borrowing PIN) -> Bool {
        guard let kept, pin.origin == .given else { return false }
        return kept.secret.equals(pin.secret)
    }

    /// Begins a login with the PIN that another client gave. A key that needs the PIN before each use needs it anew.
    ///
    /// - Returns: false where there is none that counts.
    mutating func beginLoginWithKeptPIN(of client: PINClient) -> Bool {
        guard hasSharedPIN else { return false }
        logins[client] = .lasting(pin: kept, isFresh: false, isOthers: true)
        return true
    }

    /// Forgets the kept PIN and those of all logins.
    mutating func forgetPIN(leaving state: Login = .none) {
        (kept, givers, term) = (nil, [], .none)
        forgettings += 1
        for (client, login) in logins {
            if case .lasting = login { logins[client] = state }
        }
    }
}
