public import SecureBytes
internal import Synchronization

// The login of this program, whose PIN is in the slot's ``PINSession``.
extension TokenSlot {
    public func beginLogin(with pin: borrowing PIN, at insertion: TokenInsertion) {
        state.withLock { state in
            if state.insertion == insertion, state.connection != nil { state.pins.beginLogin(with: pin) }
        }
    }

    public func refreshLogin() { state.withLock { $0.pins.refreshLogin() } }

    public func endLogin() { state.withLock { $0.pins.endLogin() } }

    public var loginState: PINSession.LoginState? {
        state.withLockIfAvailable { state in
            endOverduePIN(&state)
            return state.pins.loginState
        }
    }

    public var loginPIN: PIN? { state.withLock { $0.pins.loginPIN } }

    public func loginPIN(for key: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> PIN {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            // The policy as remembered, if possible: a card may forget the PIN after any command.
            let policy = try token.inventory(.privateKey(key), &card).objects.first?.key?.pinPolicy
            return try token.pins.loginPIN(for: policy ?? .once)
        }
    }
}
