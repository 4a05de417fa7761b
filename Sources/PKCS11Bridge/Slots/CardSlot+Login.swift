internal import KeychainModel
internal import CCryptoki
internal import KeychainHost
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

// The login, and the PIN that it takes.
extension CardSlot {
    var login: Int? {
        let number = currentLogin.load(ordering: .acquiring)
        return number == 0 ? nil : number
    }

    /// Ends the login where the card was taken out, or the card service was restarted. A card that is in use counts as present.
    func noticeEndOfLogin() {
        guard isLoggedIn else { return }
        _ = state.withLockIfAvailable { state in
            if let insertion = state.card?.insertion, !slot.holds(insertion) { endLogin(&state) }
            noticeTimeOut(&state)
        }
    }

    /// Ends the login where the time for which its PIN counts is over.
    func noticeTimeOut(_ state: inout State) {
        guard isLoggedIn, slot.loginState == .timedOut else { return }
        log.write("the user is logged out: the time for which the PIN counts is over (tokenctl card pin timeout)")
        endLogin(&state)
    }

    func endLogin(_ state: inout State) {
        guard isLoggedIn else { return }
        currentLogin.store(0, ordering: .releasing)
        state.login = Login()
        slot.endLogin()
    }

    func logIn(_ pin: consuming Secret?) throws(CryptokiError) {
        guard pin != nil else { return try logInAsking() }
        var given = pin
        try inSession { state throws(CryptokiError) in
            let insertion = try connection(&state)
            try requireLogin(false)
            guard let secret = given.take() else { return }
            let pin = PIN(secret)
            try verify(pin, &state)
            beginLogin(pin, at: insertion, isFromProgram: true, &state)
        }
    }

    /// Logs in by asking a person, once for all threads that log in at the same time.
    private func logInAsking() throws(CryptokiError) {
        try questionGate.withLock { () throws(CryptokiError) in
            let answer = try askForPIN(to: "log in", loggedIn: false)
            try inSession { state throws(CryptokiError) in
                let insertion = try connection(of: answer.generation, &state)
                // Another thread may have brought the PIN meanwhile.
                try requireLogin(false)
                beginLogin(answer.pin, at: insertion, isFromProgram: false, &state)
            }
        }
    }

    private func requireLogin(_ isWanted: Bool) throws(CryptokiError) {
        guard isLoggedIn != isWanted else { return }
        throw CryptokiError(isWanted ? CKR_USER_NOT_LOGGED_IN : CKR_USER_ALREADY_LOGGED_IN)
    }

    private func beginLogin(
        _ pin: borrowing PIN, at insertion: TokenInsertion, isFromProgram: Bool, _ state: inout State
    ) {
        slot.beginLogin(with: pin, at: insertion)
        state.login.isPINFromProgram = isFromProgram
        let number = logins.add(1, ordering: .relaxed).newValue
        currentLogin.store(number, ordering: .releasing)
    }

    /// Takes a PIN for one use. An empty one stands for the PIN of the login, so that programs need not keep it: NSS
    /// asks its program for the PIN a second time, and poppler has none to give.
    func logInForOneUse(_ pin: consuming Secret?) throws(CryptokiError) -> Secret? {
        guard pin != nil else { return try logInForOneUseAsking() }
        var given = pin
        return try inSession { state throws(CryptokiError) -> Secret? in
            _ = try present(&state)
            try requireLogin(true)
            guard let secret = given.take() else { return nil }
            // The card has accepted this PIN before, and gets it again with the use of the key where necessary.
            if state.login.isPINFromProgram, let known = loginPIN(), secret.isEmpty || secret.equals(known) {
                return known
            }
            try verify(PIN(secret.clone()), &state)
            return secret
        }
    }

    /// The PIN of the login; nil where it was typed on the reader.
    func loginPIN() -> Secret? { CardSlot.clone(slot.loginPIN) }

    private static func clone(_ pin: borrowing PIN?) -> Secret? {
        switch pin {
        case .some(let pin): pin.secret.clone()
        case .none: nil
        }
    }

    private func logInForOneUseAsking() throws(CryptokiError) -> Secret? {
        let answer = try questionGate.withLock { () throws(CryptokiError) in
            try askForPIN(to: "use the key once", loggedIn: true)
        }
        let isTyped = answer.pin.origin == .typed
        try inSession { state throws(CryptokiError) in
            _ = try connection(of: answer.generation, &state)
            try requireLogin(true)
            // A PIN that was typed on the reader is not asked for twice: that the card accepted it suffices.
            if isTyped { slot.refreshLogin() }
        }
        return isTyped ? nil : answer.pin.secret.clone()
    }

    /// A PIN that the card took.
    private struct Answer: ~Copyable {
        let pin: PIN
        /// The card that took it.
        let generation: Int
    }

    /// Asks a person for the PIN, on the reader's keys where it has some, and presents the PIN. Neither the slot's state nor the
    /// card is held meanwhile.
    ///
    /// - Parameters:
    ///   - use: completes "PIN to …".
    ///   - loggedIn: whether the user must be logged in, or must not be.
    private func askForPIN(to use: String, loggedIn: Bool) throws(CryptokiError) -> Answer {
        let card = try inSession { state throws(CryptokiError) in try cardToAskAbout(loggedIn: loggedIn, &state) }
        var question = PINQuestion(
            .pin, use: promptPolicy.use(use), slot: slot, insertion: card.insertion,
            authentication: AuthenticationContext(prompter: promptPolicy.prompter))
        do throws(KeychainError) {
            let pin = try question.present { (pin, lastTry) throws(TokenError) in
                try slot.verify(pin, lastTry: lastTry, at: card.insertion)
                return pin.clone()
            }
            noteAnswer(isPINPadBroken: card.hasPINPad && pin.origin != .typed)
            return Answer(pin: pin, generation: card.generation)
        } catch {
            let refusal = question.refusal
            noteAnswer(isPINPadBroken: refusal?.code == .pinPadFailed)
            // Where the card is out, the error says so.
            try inSession { state throws(CryptokiError) in _ = try connection(of: card.generation, &state) }
            throw CryptokiError(question: error, refusal)
        }
    }

    private func cardToAskAbout(
        loggedIn: Bool, _ state: inout State
    ) throws(CryptokiError) -> (insertion: TokenInsertion, generation: Int, hasPINPad: Bool) {
        let insertion = try connection(&state)
        try requireLogin(loggedIn)
        let hasPINPad = hasPINPad(state)
        guard hasPINPad || promptPolicy.hasProtectedPath else {
            throw CryptokiError(CKR_ARGUMENTS_BAD, "no PIN, and nobody to ask")
        }
        // The question names the card.
        _ = try? identity(&state)
        return (insertion, knownGeneration, hasPINPad)
    }

    private func noteAnswer(isPINPadBroken: Bool) {
        state.withLock { state in
            forgetPINStatus(&state)
            state.card?.hasPINPadFailed = isPINPadBroken
        }
    }

    func logOut() {
        state.withLock { state in
            endLogin(&state)
            guard let insertion = state.card?.insertion, slot.holds(insertion) else { return }
            do throws(TokenError) {
                try slot.logOut(at: insertion)
            } catch {
                let later = error.code == .card(.inUse) ? ", which is done as soon as the card is free" : ""
                log.write("the user is logged out, and the card was not locked\(later): \(error)")
            }
        }
    }

    func endWaits() { slot.endWaits() }

    func letGo() {
        if isLoggedIn { logOut() }
        state.withLock { $0.card = nil }
        slot.disconnect(resetting: false)
    }

    /// Whether the PIN can be typed on the reader.
    func hasPINPad(_ state: borrowing State) -> Bool {
        guard let card = state.card else { return false }
        return card.insertion.map { slot.takesTypedPIN(at: $0.waiting(since: state.arrival)) } ?? card.hasPINPad
    }

    /// Drops the known number of tries, for all programs of the host.
    func forgetPINStatus(_ state: inout State) {
        state.card?.pinStatus = nil
        knownCards?.forgetPINStatus(name)
    }

    func verify(_ pin: borrowing PIN, _ state: inout State) throws(CryptokiError) {
        forgetPINStatus(&state)
        try reading(&state) { (insertion) throws(TokenError) in
            try slot.verify(pin, lastTry: .keep, at: insertion)
        }
    }

    /// The error after the login's PIN was presented again. A wrong PIN ends the login, since another program has changed it.
    func refused(_ error: CryptokiError, _ state: inout State) -> CryptokiError {
        guard [CKR_PIN_INCORRECT, CKR_PIN_LOCKED].contains(error.code) else { return error }
        endLogin(&state)
        return CryptokiError(CKR_USER_NOT_LOGGED_IN, "the PIN of the login is no longer right: \(error.reason)")
    }

    func setPIN(from old: consuming Secret?, to new: consuming Secret?) throws(CryptokiError) {
        guard let old = old.take(), let new = new.take() else {
            throw CryptokiError(CKR_ARGUMENTS_BAD, "a PIN is missing: nobody is asked for a new one here")
        }
        let oldPIN = PIN(old)
        let newPIN = PIN(new)
        try inSession { state throws(CryptokiError) in
            forgetPINStatus(&state)
            do throws(CryptokiError) {
                try reading(&state) { (insertion) throws(TokenError) in
                    try slot.change(.pin, from: oldPIN, to: newPIN, lastTry: .keep, at: insertion)
                }
            } catch {
                // A PIN of permitted length that was refused unsent has forbidden characters.
                let lengths = state.card?.pinLengths ?? 0...255
                guard error.code == CKR_PIN_LEN_RANGE, lengths.contains(oldPIN.count), lengths.contains(newPIN.count)
                else { throw error }
                throw CryptokiError(CKR_PIN_INVALID, error.reason)
            }
        }
    }
}
