internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

// Private keys. They are used without presenting a PIN first, and with the PIN of the login where the card asks for it.
extension CardPlace {
    func key(_ reference: PersistentReference, for request: KeyRequest?) throws(KeychainError) -> (any KeychainKey)? {
        try inTurn { state throws(KeychainError) in
            let (item, object) = try item(reference, &state)
            return CardPlaceKey(
                place: self, generation: generation, item: item, object: object,
                isAuthorized: request?.isAuthorized == true)
        }
    }

    func accessItem(_ key: PersistentReference) throws(KeychainError) -> AccessItem {
        try inTurn { state throws(KeychainError) in
            let (item, object) = try item(key, &state)
            let card = try accessNames(&state)
            return AccessItem(object, item.der ?? [], on: card.place, named: card.name)
        }
    }

    private func item(
        _ key: PersistentReference, _ state: inout State
    ) throws(KeychainError) -> (item: Item, object: TokenObjectID) {
        var item = state.card?.keys[key]
        if item == nil {
            _ = try objects(TokenItemSelection([.privateKeys], reference: key), &state)
            item = state.card?.keys[key]
        }
        guard let item, let object = key.tokenObject else {
            throw KeychainError(.itemNotFound, "the card has another key in this place", failure: .noKey)
        }
        return (item, object)
    }

    fileprivate func perform(
        _ operation: TokenOperation, with key: CardPlaceKey, use: String, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        let touch = key.item.tokenTraits?.touchUse ?? .unknown
        let notice: OperationNotice = { [name, touchPrompter] in
            let notice = TouchNotice(touch, of: name, touchPrompter, authentication.notices)
            return { notice.end() }
        }
        if key.item.tokenTraits?.pinUse == .never, authentication.permission != nil {
            let card = try accessNames()
            try authentication.requirePermission(toPerformWithoutPIN: operation, on: card.place, named: card.name)
        }
        var operation = operation
        let answersBefore = answers.load(ordering: .acquiring)
        /// The result without a question for the PIN, perhaps with one for a permission; nil where the card needs the PIN.
        func performPermitted() throws(KeychainError) -> Secret? {
            do throws(KeychainError) {
                return try performUnasked(operation, with: key, notice, authentication)
            } catch {
                guard error.failure == .permissionRequired, !operation.isPermitted else { throw error }
                let card = try accessNames()
                operation = try authentication.permitted(operation, on: card.place, named: card.name)
                return try performUnasked(operation, with: key, notice, authentication)
            }
        }
        func performAsking() throws(KeychainError) -> Secret {
            if authentication.permission != nil {
                let card = try accessNames()
                try authentication.refuseDenied(operation, on: card.place, named: card.name)
            }
            let insertion = try inTurn { state throws(KeychainError) in try connection(of: key.generation, &state) }
            let purpose: LocalizedText =
                touch == .expected
                ? "\(use) with key \(operation.key) (then touch the card)" : "\(use) with key \(operation.key)"
            var question = PINQuestion(
                .pin, use: String(localized: purpose), slot: slot, insertion: insertion,
                authentication: authentication)
            let result = try question.present { (pin, lastTry) throws(TokenError) in
                let notice = pin.origin == .typed ? nil : notice
                return try slot.perform(operation, presenting: pin, lastTry: lastTry, at: insertion, notice: notice)
            }
            state.withLock { noteGiven(authentication, &$0) }
            return result
        }
        if let result = try performPermitted() { return result }
        return try questionGate.withLock { _ throws(KeychainError) in
            // The card may have the PIN by now, from another thread that asked.
            if answers.load(ordering: .acquiring) != answersBefore, let result = try performPermitted() {
                return result
            }
            let result = try authentication.inTurn(of: slot) { hasWaited throws(KeychainError) in
                if hasWaited, let result = try performPermitted() { return result }
                return try performAsking()
            }
            answers.add(1, ordering: .releasing)
            return result
        }
    }

    /// - Returns: nil where a person has to be asked for the PIN first.
    private func performUnasked(
        _ operation: TokenOperation, with key: CardPlaceKey, _ notice: @escaping OperationNotice,
        _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret? {
        do throws(KeychainError) {
            return try inTurn { state throws(KeychainError) in
                do throws(KeychainError) {
                    return try perform(operation, with: key, notice, &state)
                } catch {
                    // The card has another key in this place by now, and maybe another certificate.
                    if error.failure == .noKey {
                        state.card?.items = nil
                        state.card?.keys[key.item.reference] = nil
                        knownCards?.forget(name)
                        noteReading(state)
                    }
                    throw error
                }
            }
        } catch {
            guard error.failure == .loginRequired, !isLoggedIn,
                authentication.prompter.canAsk || authentication.prompter.allowsPINPad
            else { throw error }
            return nil
        }
    }

    private func perform(
        _ operation: TokenOperation, with key: CardPlaceKey, _ notice: @escaping OperationNotice, _ state: inout State
    ) throws(KeychainError) -> Secret {
        if !key.isAuthorized, let result = try performAtOnce(operation, with: key, notice, &state) { return result }
        let insertion = try connection(of: key.generation, &state)
        // After a restart of the card service, it is unknown whether the PIN was given for this card: the login has ended then.
        guard isLoggedIn else { throw .notLoggedIn }
        let pin = try loginPIN(for: operation, isAuthorized: key.isAuthorized, insertion, &state)
        do throws(KeychainError) {
            forgetPINStatus(&state)
            return try KeychainError.mapping { () throws(TokenError) in
                try slot.perform(
                    operation, presenting: pin, lastTry: .keep, at: insertion.waiting(since: state.arrival),
                    notice: notice)
            }
        } catch {
            throw refused(error, &state)
        }
    }

    /// The result without a PIN; nil where the key needs the PIN first.
    private func performAtOnce(
        _ operation: TokenOperation, with key: CardPlaceKey, _ notice: @escaping OperationNotice,
        _ state: inout State
    ) throws(KeychainError) -> Secret? {
        // The transaction shows whether the card is still in. Asking beforehand would cost a call of the service for each
        // signature.
        var known = key.generation == generation ? state.card?.insertion : nil
        while true {
            let insertion = if let known { known } else { try connection(of: key.generation, &state) }
            do throws(TokenError) {
                return try slot.perform(operation, at: insertion.waiting(since: state.arrival), notice: notice)
            } catch {
                if error.code == .pinRequired { return nil }
                let isGone: [TokenError.Code] = [
                    .card(.removed), .card(.noCard), .card(.noReader), .card(.serviceUnavailable),
                ]
                guard known != nil, isGone.contains(error.code) else { throw KeychainError(error) }
                known = nil
            }
        }
    }

    /// The PIN of the login for a key. It may be presented again, or was just typed on the reader.
    private func loginPIN(
        for operation: TokenOperation, isAuthorized: Bool, _ insertion: TokenInsertion, _ state: inout State
    ) throws(KeychainError) -> PIN {
        if isAuthorized, let pin = loginPIN() { return pin }
        do throws(TokenError) {
            return try slot.loginPIN(for: operation.key, at: insertion.waiting(since: state.arrival))
        } catch {
            noticeTimeOut(&state)
            if slot.loginState == PINSession.LoginState.none { endLogin(&state) }
            throw KeychainError(error)
        }
    }
}

/// A private key on the card of a place.
private struct CardPlaceKey: KeychainKey {
    let place: CardPlace
    /// The generation of the place in which the key is.
    let generation: Int
    let item: Item
    let object: TokenObjectID
    /// Whether a login for this one use came before.
    let isAuthorized: Bool

    var keychainName: String { place.name }
    var name: String { object.rawValue }
    var publicKey: [UInt8] { item.der ?? [] }
    var certificate: [UInt8]? { nil }

    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        guard let permission = operation.permission else { return false }
        // Hashing a message and deriving a key are done outside of the token.
        return item[permission]?.isTrue == true && TokenOperation.Action(AlgorithmStep(operation, algorithm), []) != nil
    }

    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        try place.perform(
            TokenOperation(key: object, action: action, publicKey: publicKey), with: self, use: use, authentication)
    }
}
