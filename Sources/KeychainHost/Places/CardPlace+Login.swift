internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization
internal import TokenKit

// The login, and the PIN that it takes.
extension CardPlace {
    var login: Int? {
        let number = currentLogin.load(ordering: .acquiring)
        return number == 0 ? nil : number
    }

    var isLoggedIn: Bool { login != nil }

    /// Ends the login where the card was taken out, or the card service was restarted. A card that is in use counts as present.
    func noticeEndOfLogin() {
        guard isLoggedIn || administration != nil else { return }
        _ = state.withLockIfAvailable { state in
            if let insertion = state.card?.insertion, !slot.holds(insertion) { endLogin(&state) }
            noticeTimeOut(&state)
        }
    }

    /// Ends the login where the time for which its PIN counts is over, or another client had the card forget the PIN.
    func noticeTimeOut(_ state: inout State) {
        guard isLoggedIn else { return }
        let login = slot.loginState
        if login == .timedOut {
            log("the user is logged out: the time for which the PIN counts is over (tokenctl card pin timeout)")
        }
        if login == .timedOut || (slot.keepsPIN && login == PINSession.LoginState.none) { endLogin(&state) }
    }

    func endLogin(_ state: inout State) {
        endAdministration(&state)
        guard isLoggedIn else { return }
        currentLogin.store(0, ordering: .releasing)
        state.login = Login()
        slot.endLogin()
    }

    func logIn(use: String, _ authentication: AuthenticationContext) throws(KeychainError) {
        guard authentication.hasCredential(.pin) else { return try logInAsking(use, authentication) }
        try inTurn { state throws(KeychainError) in
            let insertion = try connection(&state)
            try requireLogin(false)
            guard let given = authentication.credential(.pin) else { return }
            let pin = PIN(given)
            try verify(pin, &state)
            beginLogin(pin, at: insertion, isFromClient: true, &state)
            noteGiven(authentication, &state)
        }
    }

    /// Logs in by asking a person, once for all threads that log in at the same time.
    private func logInAsking(_ use: String, _ authentication: AuthenticationContext) throws(KeychainError) {
        try questionGate.withLock { _ throws(KeychainError) in
            if try beginLoginWithKeptPIN(authentication) { return }
            try authentication.inTurn(of: slot) { hasWaited throws(KeychainError) in
                if hasWaited, try beginLoginWithKeptPIN(authentication) { return }
                let answer = try askForPIN(to: use, loggedIn: false, authentication)
                try accept(answer) { insertion, state throws(KeychainError) in
                    // Another thread may have brought the PIN meanwhile.
                    try requireLogin(false)
                    beginLogin(answer.pin, at: insertion, isFromClient: false, &state)
                    noteGiven(authentication, &state)
                }
            }
        }
    }

    /// - Returns: false where no other client has given the PIN.
    private func beginLoginWithKeptPIN(_ authentication: AuthenticationContext) throws(KeychainError) -> Bool {
        // Without a person to allow anything, the login would be worth nothing.
        guard slot.keepsPIN, authentication.permission?.canAsk != false else { return false }
        return try inTurn { state throws(KeychainError) in
            let insertion = try connection(&state)
            try requireLogin(false)
            guard slot.beginLoginWithKeptPIN(at: insertion) else { return false }
            noteLogin(isPINFromClient: false, &state)
            return true
        }
    }

    /// The card in decisions about programs, and its name for people.
    func accessNames() throws(KeychainError) -> (place: String, name: String) {
        try inTurn { state throws(KeychainError) in try accessNames(&state) }
    }

    func accessNames(_ state: inout State) throws(KeychainError) -> (place: String, name: String) {
        let card = try identity(&state)
        return (slot.accessPlace(of: card.id.description), card.label)
    }

    /// Notes that the client's program has given the right PIN.
    func noteGiven(_ authentication: AuthenticationContext, _ state: inout State) {
        guard authentication.permission != nil, let card = try? identity(&state) else { return }
        authentication.noteGiven(for: slot.accessPlace(of: card.id.description))
    }

    private func requireLogin(_ isWanted: Bool) throws(KeychainError) {
        guard isLoggedIn != isWanted else { return }
        throw isWanted ? KeychainError.notLoggedIn : KeychainError.loggedIn
    }

    private func beginLogin(
        _ pin: borrowing PIN, at insertion: TokenInsertion, isFromClient: Bool, _ state: inout State
    ) {
        slot.beginLogin(with: pin, at: insertion)
        noteLogin(isPINFromClient: isFromClient, &state)
    }

    private func noteLogin(isPINFromClient: Bool, _ state: inout State) {
        state.login.isPINFromClient = isPINFromClient
        let number = logins.add(1, ordering: .relaxed).newValue
        currentLogin.store(number, ordering: .releasing)
    }

    /// Takes a PIN for one use. An empty one stands for the PIN of the login, so that programs need not keep it: NSS
    /// asks its program for the PIN a second time, and poppler has none to give.
    func logInForOneUse(use: String, _ authentication: AuthenticationContext) throws(KeychainError) {
        guard authentication.hasCredential(.pin) else { return try logInForOneUseAsking(use, authentication) }
        try inTurn { state throws(KeychainError) in
            let insertion = try connection(&state)
            try requireLogin(true)
            guard let given = authentication.credential(.pin) else { return }
            // The card has accepted this PIN before, and gets it again with the use of the key where necessary.
            if state.login.isPINFromClient, equalsLoginPIN(given) { return }
            let pin = PIN(given)
            try verify(pin, &state)
            slot.beginLogin(with: pin, at: insertion)
        }
    }

    /// The PIN of the login; nil where it was typed on the reader.
    func loginPIN() -> PIN? { slot.loginPIN() }

    /// Whether a PIN is that of the login, for which an empty one stands.
    private func equalsLoginPIN(_ given: borrowing Secret) -> Bool {
        CardPlace.equal(loginPIN(), given)
    }

    private static func equal(_ known: borrowing PIN?, _ given: borrowing Secret) -> Bool {
        switch known {
        case .some(let known): given.isEmpty || given.equals(known.secret)
        case .none: false
        }
    }

    private func logInForOneUseAsking(_ use: String, _ authentication: AuthenticationContext) throws(KeychainError) {
        let answer = try questionGate.withLock { _ throws(KeychainError) in
            try askForPIN(to: use, loggedIn: true, authentication)
        }
        try accept(answer) { insertion, state throws(KeychainError) in
            try requireLogin(true)
            // A PIN that was typed on the reader is not asked for twice: that the card accepted it suffices.
            if answer.pin.origin == .typed {
                slot.refreshLogin()
            } else {
                slot.beginLogin(with: answer.pin, at: insertion)
            }
        }
    }

    /// Runs `body` with a PIN that the card took. Locks the card again where `body` fails while the client has no login: it may have
    /// logged out while the person was asked.
    private func accept(
        _ answer: borrowing Answer, _ body: (TokenInsertion, inout State) throws(KeychainError) -> Void
    ) throws(KeychainError) {
        try inTurn { state throws(KeychainError) in
            do throws(KeychainError) {
                try body(connection(of: answer.generation, &state), &state)
            } catch {
                if !isLoggedIn, generation == answer.generation { logOut(&state) }
                throw error
            }
        }
    }

    /// A PIN that the card took.
    private struct Answer: ~Copyable {
        let pin: PIN
        /// The card that took it.
        let generation: Int
    }

    /// Asks a person for the PIN, on the reader's keys where it has some, and presents the PIN. Neither the place's state nor the
    /// card is held meanwhile.
    ///
    /// - Parameters:
    ///   - use: completes "PIN to …".
    ///   - loggedIn: whether the client must be logged in, or must not be.
    private func askForPIN(
        to use: String, loggedIn: Bool, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Answer {
        let card = try inTurn { state throws(KeychainError) in
            let insertion = try connection(&state)
            try requireLogin(loggedIn)
            let hasPINPad = self.hasPINPad(state)
            guard hasPINPad || authentication.prompter.canAsk else { throw .nobodyToAsk }
            // The question names the card.
            _ = try? identity(&state)
            return (insertion: insertion, generation: generation, hasPINPad: hasPINPad)
        }
        var question = PINQuestion(
            .pin, use: use, slot: slot, insertion: card.insertion, authentication: authentication)
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
            try inTurn { state throws(KeychainError) in _ = try connection(of: card.generation, &state) }
            if error.code == .userCanceled { throw error }
            if let refusal { throw error.failing(KeychainError(refusal).failure) }
            throw error.code == .authFailed ? error.failing(.pinLocked) : error
        }
    }

    private func noteAnswer(isPINPadBroken: Bool) {
        state.withLock { state in
            forgetPINStatus(&state)
            state.card?.hasPINPadFailed = isPINPadBroken
        }
    }

    func logOut() { state.withLock { logOut(&$0) } }

    /// Ends the client's login. Only a card that no other client uses forgets its PIN with that.
    private func logOut(_ state: inout State) {
        endLogin(&state)
        guard !slot.keepsPIN, let insertion = state.card?.insertion, slot.holds(insertion) else { return }
        do throws(TokenError) {
            try slot.logOut(at: insertion)
        } catch {
            let later = error.code == .card(.inUse) ? ", which is done as soon as the card is free" : ""
            log("the user is logged out, and the card was not locked\(later): \(error)")
        }
    }

    func endWaits() { slot.endWaits() }

    func letGo() {
        if isLoggedIn || administration != nil { logOut() }
        state.withLock { $0.card = nil }
        slot.disconnect(resetting: false)
    }

    /// Whether the PIN can be typed on the reader.
    func hasPINPad(_ state: borrowing State) -> Bool {
        guard let card = state.card else { return false }
        return card.insertion.map { slot.takesTypedPIN(at: $0.waiting(since: state.arrival)) } ?? card.hasPINPad
    }

    /// Drops the known number of tries, for all clients of the host.
    func forgetPINStatus(_ state: inout State) {
        state.card?.pinStatus = nil
        knownCards?.forgetPINStatus(name)
    }

    func verify(_ pin: borrowing PIN, _ state: inout State) throws(KeychainError) {
        forgetPINStatus(&state)
        try reading(&state) { (insertion) throws(TokenError) in
            try slot.verify(pin, lastTry: .keep, at: insertion)
        }
    }

    /// The error after the login's PIN was presented again. A wrong PIN ends the login, since another program has changed it.
    func refused(_ error: KeychainError, _ state: inout State) -> KeychainError {
        guard error.failure == .pinIncorrect || error.failure == .pinLocked else { return error }
        endLogin(&state)
        return KeychainError(
            .notLoggedIn, "the PIN of the login is no longer right: \(error.reason)", failure: .loginRequired)
    }

    func changePIN(from old: borrowing Secret, to new: borrowing Secret) throws(KeychainError) {
        let oldPIN = PIN(old.clone())
        let newPIN = PIN(new.clone())
        try inTurn { state throws(KeychainError) in
            forgetPINStatus(&state)
            do throws(KeychainError) {
                try reading(&state) { (insertion) throws(TokenError) in
                    try slot.change(.pin, from: oldPIN, to: newPIN, lastTry: .keep, at: insertion)
                }
            } catch {
                throw telling(error, of: oldPIN.count, newPIN.count, in: state)
            }
        }
    }

    /// The error about PINs of these lengths: one of a permitted length that was refused unsent has forbidden characters.
    func telling(_ error: KeychainError, of counts: Int..., in state: borrowing State) -> KeychainError {
        let lengths = state.card?.pinLengths ?? 0...255
        let isCharacters = error.failure == .pinFormat && counts.allSatisfy(lengths.contains)
        return isCharacters ? error.failing(.pinCharacters) : error
    }
}
