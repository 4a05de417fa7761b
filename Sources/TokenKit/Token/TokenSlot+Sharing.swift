public import Platform
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
        let questionTurn = QuestionTurn()
        private let clients = Atomic(0)
        /// The first slot, on which threads wait that are to outlast a client.
        private let first = Mutex(Weak())

        private struct Weak {
            weak var slot: TokenSlot?
        }

        var firstSlot: TokenSlot? {
            get { first.withLock { $0.slot } }
            set { first.withLock { [newValue] in $0.slot = newValue } }
        }

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
        let (shared, client) = (shared, client)
        // Another client's use of the card may wait for a touch.
        if keepsPIN, shared.state.withLockIfAvailable({ TokenSlot.release(&$0, by: client) }) != nil { return }
        if keepsPIN, BlockingThread.start({ shared.state.withLock { TokenSlot.release(&$0, by: client) } }) { return }
        shared.state.withLock { TokenSlot.release(&$0, by: client) }
    }

    private static func release(_ state: inout State, by client: PINClient) {
        state.pins.endLogin(of: client)
        state.pins.givers.remove(client)
        state.users.remove(client)
        guard state.users.isEmpty, !state.pins.hasSharedPIN || state.pins.logoutPending else { return }
        state.isLetGo = state.pins.logoutPending
        if !state.isLetGo { drop(&state) }
    }

    public var questionTurn: QuestionTurn? { keepsPIN ? shared.questionTurn : nil }

    // MARK: The PIN of all clients

    /// Whether a PIN counts for all clients. Does not wait, and asks no reader: true while the card is in use.
    package var hasSharedPIN: Bool {
        shared.state.withLockIfAvailable { state in
            endOverduePIN(&state)
            return state.pins.hasSharedPIN
        } ?? true
    }

    /// Ends the logins of all clients, and has the card forget the PIN as soon as it is free.
    package func forgetPIN() {
        let insertion = shared.state.withLock { state -> TokenInsertion? in
            let isPresented = state.connection != nil && state.pins.hasSharedPIN
            state.pins.forgetPIN()
            return isPresented ? state.insertion : nil
        }
        if let insertion { try? logOut(at: insertion) }
        release()
    }
}
