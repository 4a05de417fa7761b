internal import KeychainModel
internal import CCryptoki
internal import KeychainHost
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

// Private keys. They are used without presenting a PIN first, and with the PIN of the login where the card asks for it.
extension CardSlot {
    func perform(
        _ use: KeyUse, with key: CryptokiObject, of generation: Int, pin: borrowing Secret?
    ) throws(CryptokiError) -> Secret {
        guard let object = key.name.tokenObject, let action = TokenOperation.Action(use.step, use.input) else {
            throw CryptokiError(CKR_KEY_HANDLE_INVALID)
        }
        let operation = TokenOperation(key: object, action: action, publicKey: key.publicKey?.spki)
        let notice = touchNotice(key.touchUse)
        var once: Secret? =
            switch pin {
            case .some(let pin): pin.clone()
            case .none: nil
            }
        if promptPolicy.asksItself {
            try inSession { state throws(CryptokiError) in _ = try connection(of: generation, &state) }
            return try performAsking(operation, to: use.verb)
        }
        return try inSession { state throws(CryptokiError) in
            do throws(CryptokiError) {
                return try perform(operation, of: generation, pin: once.take(), notice, &state)
            } catch {
                // The card has another key in this place by now, and maybe another certificate.
                if error.code == CKR_KEY_HANDLE_INVALID {
                    state.card?.objects = nil
                    knownCards?.forget(name)
                    noteReading(state)
                }
                throw error
            }
        }
    }

    private func perform(
        _ operation: TokenOperation, of generation: Int, pin: consuming Secret?, _ notice: @escaping OperationNotice,
        _ state: inout State
    ) throws(CryptokiError) -> Secret {
        if let pin {
            let insertion = try connection(of: generation, &state)
            // After a restart of the card service, it is unknown whether the PIN was given for this card: the login has ended
            // then.
            guard isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN, "the login is over") }
            do throws(CryptokiError) {
                return try perform(operation, with: PIN(pin), at: insertion, notice, &state)
            } catch {
                throw refused(error, &state)
            }
        }
        if let result = try performAtOnce(operation, of: generation, notice, &state) { return result }
        let insertion = try connection(of: generation, &state)
        let pin = try loginPIN(for: operation, insertion, &state)
        do throws(CryptokiError) {
            return try perform(operation, with: pin, at: insertion, notice, &state)
        } catch {
            throw refused(error, &state)
        }
    }

    /// The result without a PIN; nil where the key needs the PIN first.
    private func performAtOnce(
        _ operation: TokenOperation, of generation: Int, _ notice: @escaping OperationNotice, _ state: inout State
    ) throws(CryptokiError) -> Secret? {
        // The transaction shows whether the card is still in. Asking beforehand would cost a call of the service for each
        // signature.
        var known = knownGeneration == generation ? state.card?.insertion : nil
        while true {
            let insertion = if let known { known } else { try connection(of: generation, &state) }
            do throws(TokenError) {
                return try slot.perform(
                    operation, at: insertion.waiting(since: state.arrival), notice: notice)
            } catch {
                if error.code == .pinRequired { return nil }
                let isGone: [TokenError.Code] = [
                    .card(.removed), .card(.noCard), .card(.noReader), .card(.serviceUnavailable),
                ]
                guard known != nil, isGone.contains(error.code) else { throw CryptokiError(error) }
                known = nil
            }
        }
    }

    private func perform(
        _ operation: TokenOperation, with pin: borrowing PIN, at insertion: TokenInsertion,
        _ notice: @escaping OperationNotice, _ state: inout State
    ) throws(CryptokiError) -> Secret {
        forgetPINStatus(&state)
        return try CryptokiError.mapping { () throws(TokenError) in
            try slot.perform(
                operation, presenting: pin, lastTry: .keep, at: insertion.waiting(since: state.arrival),
                notice: notice)
        }
    }

    private func touchNotice(_ touch: TokenTraits.TouchUse) -> OperationNotice {
        { [name, prompter = promptPolicy.touchPrompter] in
            let notice = TouchNotice(touch, of: name, prompter)
            return { notice.end() }
        }
    }

    /// The PIN of the login for a key. It may be presented again, or was just typed on the reader.
    private func loginPIN(
        for operation: TokenOperation, _ insertion: TokenInsertion, _ state: inout State
    ) throws(CryptokiError) -> PIN {
        let pin: PIN
        do throws(TokenError) {
            pin = try slot.loginPIN(for: operation.key, at: insertion.waiting(since: state.arrival))
        } catch {
            noticeTimeOut(&state)
            if slot.loginState == PINSession.LoginState.none { endLogin(&state) }
            throw CryptokiError(error)
        }
        return pin
    }

    /// Uses a key, for which the module itself asks for the PIN. The card is not held meanwhile.
    private func performAsking(_ operation: TokenOperation, to verb: String) throws(CryptokiError) -> Secret {
        let keychain = TokenKeychain(slot)
        let context = AuthenticationContext(prompter: promptPolicy.prompter)
        return try CryptokiError.mapping { () throws(KeychainError) in
            guard let key = try keychain.keys(.name(operation.key.rawValue)).first else {
                throw KeychainError(.itemNotFound)
            }
            return try key.perform(
                operation.action, use: promptPolicy.use(verb), authentication: context)
        }
    }
}
