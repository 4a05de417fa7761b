internal import Synchronization

/// A client of a card, among those that share its slot.
package struct PINClient: Hashable, Sendable {
    let number: Int

    /// The client of a token that is not shared.
    package static let only = PINClient(number: 0)
}

// The connection to a card, and its PIN, which the slots of several clients may have in common.
extension TokenSlot {
    /// The card of the reader, for all clients that share it.
    final class Shared: Sendable {
        let state: Mutex<State>
        private let clients = Atomic(0)

        init(keepingPIN keepsPIN: Bool) { state = Mutex(State(pins: PINSession(keepingPIN: keepsPIN))) }

        func newClient() -> PINClient { PINClient(number: clients.add(1, ordering: .relaxed).newValue) }
    }

    /// Releases the card, with a pending logout only after the logout. A card that other clients use, or whose PIN is kept, stays
    /// connected.
    ///
    /// - Parameter resetting: whether the card is reset, so that it forgets a presented PIN.
    public func disconnect(resetting: Bool) {
        guard resetting else { return release() }
        shared.state.withLock { TokenSlot.drop(&$0, resetting: true) }
    }

    func release() {
        shared.state.withLock { state in
            state.pins.endLogin(of: client)
            state.pins.givers.remove(client)
            state.users.remove(client)
            guard state.users.isEmpty, !state.pins.hasKeptPIN else { return }
            state.isLetGo = state.pins.logoutPending
            if !state.isLetGo { TokenSlot.drop(&state) }
        }
    }

    // MARK: The PIN of all clients

    /// Whether a PIN is kept. Forgets one whose card is out. Does not wait: a card that is in use is in.
    package func keepsPINOfPresentCard() -> Bool {
        shared.state.withLockIfAvailable { state in
            if let connection = state.connection, !connection.isCardPresent { TokenSlot.drop(&state) }
            endOverduePIN(&state)
            return state.pins.hasKeptPIN
        } ?? true
    }

    /// Ends the logins of all clients, and has the card forget the PIN as soon as it is free.
    package func forgetPIN() {
        let insertion = shared.state.withLock { state -> TokenInsertion? in
            guard state.connection != nil, state.pins.isPresented || state.pins.hasKeptPIN else { return nil }
            return state.insertion
        }
        if let insertion { try? logOut(at: insertion) }
    }
}
