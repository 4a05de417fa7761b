internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

// The card's administrator, whom PKCS #11 calls the security officer: a login of its own, or a user who is logged in, and proves to be the
// administrator too.
extension CardPlace {
    var administration: Int? {
        let number = currentAdministration.load(ordering: .acquiring)
        return number == 0 ? nil : number
    }

    func endAdministration(_ state: inout State) {
        currentAdministration.store(0, ordering: .releasing)
        state.administration = nil
    }

    func logInAsAdministrator(
        _ key: SharedSecret?, _ authentication: AuthenticationContext
    ) throws(KeychainError) {
        let (insertion, status, generation) = try inTurn { state throws(KeychainError) in
            let insertion = try connection(&state)
            guard !isLoggedIn, administration == nil else { throw KeychainError.loggedIn }
            let status = try reading(&state) { (insertion) throws(TokenError) in
                try slot.managementKey(at: insertion)
            }
            return (insertion, status, self.generation)
        }
        guard let key else {
            guard authentication.prompter.canAsk else { throw .nobodyToAsk }
            let administrator = try TokenKeychain(slot).askAdministrator(status, at: insertion, authentication)
            return try begin(administrator, status, generation)
        }
        let administrator = try given(key.secret, status)
        _ = try KeychainError.mapping { () throws(TokenError) in
            try slot.perform(.authenticate, by: administrator, at: insertion)
        }
        try begin(administrator, status, generation)
    }

    private func begin(
        _ administrator: borrowing TokenAdministrator, _ status: ManagementKeyStatus, _ generation: Int
    ) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            // Another thread may have logged in while a person was asked.
            guard !isLoggedIn, administration == nil else { throw KeychainError.loggedIn }
            try accept(administrator, status, generation, &state)
            currentAdministration.store(logins.add(1, ordering: .relaxed).newValue, ordering: .releasing)
        }
    }

    private func accept(
        _ administrator: borrowing TokenAdministrator, _ status: ManagementKeyStatus, _ generation: Int,
        _ state: inout State
    ) throws(KeychainError) {
        forgetPINStatus(&state)
        // The card may have been exchanged while a person was asked.
        _ = try connection(of: generation, &state)
        state.administration = Administration(administrator: administrator.clone(), status: status)
    }

    /// Has a user who is logged in prove to be the card's administrator too, once in a login.
    private func requireAdministrator(_ authentication: AuthenticationContext) throws(KeychainError) {
        let (insertion, status, generation) = try inTurn { state throws(KeychainError) in
            let insertion = try connection(&state)
            if let known = administeredStatus(state) { return (insertion, known, nil as Int?) }
            guard isLoggedIn else { throw KeychainError.notLoggedIn }
            let status = try reading(&state) { (insertion) throws(TokenError) in
                try slot.managementKey(at: insertion)
            }
            return (insertion, status, self.generation)
        }
        guard let generation else { return }
        let administrator = try administrator(status, at: insertion, authentication)
        try state.withLock { state throws(KeychainError) in
            guard isLoggedIn else { throw KeychainError.notLoggedIn }
            try accept(administrator, status, generation, &state)
        }
    }

    /// The user as administrator: by the PIN that the client gave at its login where the card keeps its key, else by a question, since
    /// another program's PIN is not this one's to administer with.
    private func administrator(
        _ status: ManagementKeyStatus, at insertion: TokenInsertion, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> TokenAdministrator {
        if status.isKeptOnToken, state.withLock({ $0.login.isPINFromClient }) {
            switch loginPIN() {
            case .some(let pin): return TokenAdministrator(.onToken, pin.clone(), .keep)
            case .none: break
            }
        }
        guard authentication.prompter.canAsk else { throw .nobodyToAsk }
        return try TokenKeychain(slot).askAdministrator(status, at: insertion, authentication)
    }

    private func administeredStatus(_ state: borrowing State) -> ManagementKeyStatus? {
        switch state.administration {
        case .some(let administration): administration.status
        case .none: nil
        }
    }

    private func given(
        _ key: borrowing Secret, _ status: ManagementKeyStatus
    ) throws(KeychainError) -> TokenAdministrator {
        if let key = Secret(managementKey: key) { return TokenAdministrator(.value(key)) }
        guard status.isKeptOnToken else {
            throw KeychainError(
                .authFailed,
                "\(CardManagementKey.form) (the PIN does where the card keeps the key)", failure: .pinFormat)
        }
        return TokenAdministrator(.onToken, PIN(key.clone()), .keep)
    }

    func keyPlaces(_ authentication: AuthenticationContext) throws(KeychainError) -> [AdministeredKeyPlace] {
        try requireAdministrator(authentication)
        return try inTurn { state throws(KeychainError) in
            _ = try present(&state)
            return try status(state).keyPlaces.compactMap { place in
                place.cryptokiID.map { AdministeredKeyPlace(place.id.rawValue, for: place.use, cryptokiID: $0) }
            }
        }
    }

    private func status(_ state: borrowing State) throws(KeychainError) -> ManagementKeyStatus {
        guard let status = administeredStatus(state) else { throw .notLoggedIn }
        return status
    }

    private func administrator(_ state: borrowing State) throws(KeychainError) -> TokenAdministrator {
        switch state.administration {
        case .some(let administration): administration.administrator.clone()
        case .none: throw .notLoggedIn
        }
    }

    func change(
        _ change: CardChange, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> CardChangeOutcome {
        try requireAdministrator(authentication)
        return try inTurn { state throws(KeychainError) in
            return try perform(change, &state)
        }
    }

    private func perform(_ change: CardChange, _ state: inout State) throws(KeychainError) -> CardChangeOutcome {
        let insertion = try connection(&state)
        let administrator = try administrator(state)
        let change = try change.tokenChange(status(state))
        defer { goOn(after: insertion, &state) }
        let outcome = try KeychainError.mapping { () throws(TokenError) in
            try slot.perform(change, by: administrator, at: insertion.waiting(since: state.arrival))
        }
        return CardChangeOutcome(outcome)
    }

    func changeManagementKey(from old: borrowing Secret, to new: borrowing Secret) throws(KeychainError) {
        guard let key = Secret(managementKey: new) else {
            throw KeychainError(.authFailed, CardManagementKey.form, failure: .pinFormat)
        }
        let newKey = SharedSecret(key)
        try inTurn { state throws(KeychainError) in
            guard Self.isLogin(with: old, state) else {
                throw KeychainError(
                    .authFailed, "it is not the management key of this login", failure: .pinIncorrect)
            }
            let change = CardManagementKey(nil, newKey, touch: .never, isKeptOnCard: false)
            _ = try perform(.setManagementKey(change), &state)
            let status = try status(state)
            state.administration = Administration(
                administrator: TokenAdministrator(.value(newKey.secret.clone())), status: status)
        }
    }

    /// Whether a key in hexadecimal digits is that with which the administrator has logged in.
    private static func isLogin(with digits: borrowing Secret, _ state: borrowing State) -> Bool {
        guard let key = Secret(managementKey: digits) else { return false }
        switch state.administration {
        case .some(let administration):
            switch administration.administrator.key {
            case .value(let own): return own.equals(key)
            default: return false
            }
        case .none: return false
        }
    }

    /// Goes on with the card after a change of its content, whose facts are read again. The login and the sessions go on with it, since the
    /// reader has had no other card meanwhile.
    private func goOn(after insertion: TokenInsertion, _ state: inout State) {
        forgetPINStatus(&state)
        knownCards?.forget(name)
        guard let card = state.card, !slot.holds(insertion), slot.occupancy == card.occupancy,
            let arrival = try? KeychainError.mapping({ () throws(TokenError) in
                try slot.connect(identifying: true, since: state.arrival)
            })
        else { return }
        state.card = Card(
            insertion: arrival.insertion, occupancy: card.occupancy, place: card.place, identity: arrival.identity,
            version: card.version, keyLimits: card.keyLimits, pinLengths: card.pinLengths,
            data: CardData(possible: arrival.facts.possibleData))
        seen.withLock { $0 = nil }
    }

    func initializePIN(
        to new: SharedSecret?, _ authentication: AuthenticationContext
    ) throws(KeychainError) {
        try inTurn { state throws(KeychainError) in
            _ = try connection(&state)
            _ = try status(state)
        }
        defer { state.withLock { forgetPINStatus(&$0) } }
        let keychain = TokenKeychain(slot)
        do throws(KeychainError) {
            if let new {
                try keychain.unblock(newPIN: new.secret, authentication: authentication)
            } else {
                try keychain.unblock(authentication: authentication)
            }
        } catch {
            if error.code == .interactionNotAllowed { throw error.failing(.nobodyToAsk) }
            throw state.withLock { telling(error, of: new?.secret.count ?? 0, in: $0) }
        }
    }
}
