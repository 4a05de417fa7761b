public import SecureBytes
internal import Synchronization

// The login of this client, whose PIN is in the ``PINSession`` of the card.
extension TokenSlot {
    public func beginLogin(with pin: borrowing PIN, at insertion: TokenInsertion) {
        shared.state.withLock { state in
            if state.hasCard(of: insertion) {
                state.pins.beginLogin(with: pin, of: client, isOthers: permission == .forEachUse)
            }
        }
    }

    public var hasKeptPIN: Bool {
        guard keepsPIN else { return false }
        return shared.state.withLockIfAvailable { state in
            endOverduePIN(&state)
            return state.connection?.isCardPresent == true && state.pins.hasSharedPIN
        } ?? false
    }

    public func beginLoginWithKeptPIN(at insertion: TokenInsertion) -> Bool {
        shared.state.withLock { state in
            endOverduePIN(&state)
            guard state.hasCard(of: insertion), state.connection?.isCardPresent == true else { return false }
            return state.pins.beginLoginWithKeptPIN(of: client)
        }
    }

    public func refreshLogin() { shared.state.withLock { $0.pins.refreshLogin(of: client) } }

    public func endLogin() { shared.state.withLock { $0.pins.endLogin(of: client) } }

    public var loginState: PINSession.LoginState? {
        shared.state.withLockIfAvailable { state in
            endOverduePIN(&state)
            return state.pins.loginState(of: client)
        }
    }

    public func loginPIN() -> PIN? { shared.state.withLock { $0.pins.loginPIN(of: client) } }

    public func loginPIN(for key: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> PIN {
        try performOnCard(of: insertion) { (token, card) throws(TokenError) in
            // The policy as remembered, if possible: a card may forget the PIN after any command.
            let policy = try token.inventory(.privateKey(key), &card).objects.first?.key?.pinPolicy
            return try token.pins.loginPIN(for: policy ?? .once, of: client)
        }
    }
}
