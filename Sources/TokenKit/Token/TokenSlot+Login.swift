package import SecureBytes
internal import Synchronization

// The login of this program, whose PIN is in the slot's ``PINSession``.
extension TokenSlot {
    /// Keeps a PIN that the card at `insertion` has just taken; not where that is out.
    package func beginLogin(with pin: borrowing PIN, at insertion: TokenInsertion) {
        state.withLock { state in
            if state.insertion == insertion, state.connection != nil { state.pins.beginLogin(with: pin) }
        }
    }

    /// A person typed the PIN on the reader again, for one use of a key.
    package func refreshLogin() { state.withLock { $0.pins.refreshLogin() } }

    package func endLogin() { state.withLock { $0.pins.endLogin() } }

    /// The state of the login; nil while somebody uses the card. It waits for nobody, and nothing is sent.
    package var loginState: PINSession.LoginState? {
        state.withLockIfAvailable { state in
            endOverduePIN(&state)
            return state.pins.loginState
        }
    }

    /// The PIN of the login; nil where there is none, and for one that was typed on the reader.
    package var loginPIN: PIN? { state.withLock { $0.pins.loginPIN } }

    /// The PIN of the login for a use of a key that wants it (``PINSession/loginPIN(for:)``).
    package func loginPIN(for policy: PINPolicy) throws(TokenError) -> PIN {
        try state.withLock { (state) throws(TokenError) in try state.pins.loginPIN(for: policy) }
    }
}
