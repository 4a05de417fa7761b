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

    /// The card may have been taken out since, or its service started anew. A card that is in use is in.
    func noticeEndOfLogin() {
        guard isLoggedIn else { return }
        _ = state.withLockIfAvailable { state in
            if let insertion = state.card?.insertion, !slot.holds(insertion) { endLogin(&state) }
            noticeOverduePIN(&state)
        }
    }

    /// The PIN may have counted for as long as it is to, here as on the card.
    func noticeOverduePIN(_ state: inout State) {
        guard isLoggedIn else { return }
        slot.noticeOverduePIN()
        guard state.login.timedOutPINCount != slot.timedOutPINCount else { return }
        log.write("the user is logged out: the time for which the PIN counts is over (tokenctl card pin timeout)")
        endLogin(&state)
    }

    func endLogin(_ state: inout State) {
        currentLogin.store(0, ordering: .releasing)
        state.login = Login()
    }

    func logIn(_ pin: consuming Secret?) throws(CryptokiError) {
        let isGiven = pin != nil
        var given = pin
        try inSession { state throws(CryptokiError) in
            _ = try present(&state)
            guard !isLoggedIn else { throw CryptokiError(CKR_USER_ALREADY_LOGGED_IN) }
            state.login.pin = try authenticate(given.take(), "log in", &state)
            state.login.isFresh = true
            state.login.isPINFromProgram = isGiven
            state.login.timedOutPINCount = slot.timedOutPINCount
            let number = logins.add(1, ordering: .relaxed).newValue
            currentLogin.store(number, ordering: .releasing)
        }
    }

    /// A program that gave the PIN to log in need not keep it: an empty one stands for it. NSS asks its program for the PIN a second
    /// time, and poppler has none to give.
    func logInForOneUse(_ pin: consuming Secret?) throws(CryptokiError) -> Secret? {
        var given = pin
        return try inSession { state throws(CryptokiError) -> Secret? in
            _ = try present(&state)
            guard isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
            // The card has said that it is right, and gets it with the use of the key, where it has to.
            if state.login.isPINFromProgram, state.login.isKnown(given) { return state.login.clonedPIN() }
            let pin = try authenticate(given.take(), "use the key once", &state)
            // Nobody is to type it twice: that it was presented has to do.
            if pin == nil { state.login.isFresh = true }
            return pin
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

    /// Presents the PIN that a program gave, or else that of the person who is asked: on the reader where it has keys.
    ///
    /// - Returns: the PIN; nil for one that was typed on the reader.
    private func authenticate(
        _ given: consuming Secret?, _ use: String, _ state: inout State
    ) throws(CryptokiError) -> Secret? {
        if let given = given.take() {
            try verify(given, &state)
            return given
        }
        let hasPINPad = hasPINPad(state)
        guard hasPINPad || behaviour.hasProtectedPath else {
            throw CryptokiError(CKR_ARGUMENTS_BAD, "no PIN, and nobody to ask")
        }
        let label = (try? identity(&state))?.label ?? name
        let request = PromptRequest(.pin, subject: "\(label) in \(name)", use: behaviour.use(use))
        if hasPINPad, try enter(request, &state) { return nil }
        let pin = try CryptokiError.mapping { () throws(KeychainError) in try behaviour.prompter.ask(request) }
        try verify(pin, &state)
        return pin
    }

    /// Whether the PIN can be typed on the reader.
    func hasPINPad(_ state: borrowing State) -> Bool {
        guard let card = state.card else { return false }
        return card.insertion.map { slot.takesTypedPIN(at: $0, since: state.arrival) } ?? card.hasPINPad
    }

    /// Has the PIN typed on the reader.
    ///
    /// - Returns: false where the reader failed at it, and somebody else can be asked.
    private func enter(_ request: PromptRequest, _ state: inout State) throws(CryptokiError) -> Bool {
        request.tellOfPINPad(behaviour.prompter)
        forgetPINStatus(&state)
        let insertion = try connection(&state)
        do throws(TokenError) {
            try slot.perform(at: insertion, since: state.arrival) { (token, card) throws(TokenError) in
                try token.verify(.typed, lastTry: .keep, &card)
            }
            state.card?.hasPINPadFailed = false
            return true
        } catch {
            if error.code == .pinPadFailed { state.card?.hasPINPadFailed = true }
            guard error.code == .pinPadFailed, behaviour.hasProtectedPath else { throw CryptokiError(error) }
            return false
        }
    }

    /// Has the tries that are left asked for anew, by whatever program wants to know them.
    func forgetPINStatus(_ state: inout State) {
        state.card?.pinStatus = nil
        knownCards?.forgetPINStatus(name)
    }

    func verify(_ secret: borrowing Secret, _ state: inout State) throws(CryptokiError) {
        let pin = PIN(secret.clone())
        forgetPINStatus(&state)
        try reading(&state) { (token, card) throws(TokenError) in try token.verify(pin, lastTry: .keep, &card) }
    }

    /// What it means that the PIN of the login was presented once more and failed: where another program has changed it, the
    /// login is over.
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
        let newPIN = PIN(new.clone())
        // What is as long as it must be, and is not sent, has characters that it must not have.
        let isLongEnough = (6...8).contains(oldPIN.bytes.count) && (6...8).contains(newPIN.bytes.count)
        var replacement: Secret? = new
        try inSession { state throws(CryptokiError) in
            forgetPINStatus(&state)
            do throws(CryptokiError) {
                try reading(&state) { (token, card) throws(TokenError) in
                    try token.change(.pin, from: oldPIN, to: newPIN, lastTry: .keep, &card)
                }
            } catch {
                guard error.code == CKR_PIN_LEN_RANGE, isLongEnough else { throw error }
                throw CryptokiError(CKR_PIN_INVALID, error.reason)
            }
            if isLoggedIn { state.login.pin = replacement.take() }
        }
    }
}

extension CardSlot.Login {
    /// Whether a PIN is that of the login, or an empty one that stands for it.
    borrowing func isKnown(_ given: borrowing Secret?) -> Bool {
        switch given {
        case .none: return false
        case .some(let given):
            switch pin {
            case .none: return false
            case .some(let pin): return given.isEmpty || given.equals(pin)
            }
        }
    }

    borrowing func clonedPIN() -> Secret? {
        switch pin {
        case .some(let pin): pin.clone()
        case .none: nil
        }
    }
}
