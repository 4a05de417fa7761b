extension TokenSlot {
    /// The connection to the card, the token in it and the PIN, which the slots of all clients of a reader share.
    struct State: ~Copyable {
        var connection: (any CardConnection)?
        var token: (any Token)?
        /// Set when no driver knows the card, so that it is not probed again while it stays in.
        var refusal: TokenError?
        var insertion = TokenInsertion(number: 0)
        /// The insertion with which the card came. Later ones of the same card stand for changes of its content.
        var firstInsertion = TokenInsertion(number: 0)
        /// Lent to the token for each transaction.
        var pins: PINSession
        /// The clients that have used the connection, and not released it.
        var users: Set<PINClient> = []
        /// The reason why the card did not forget the PIN at the last logout; nil where it did.
        var logoutRefusal: TokenError?
        /// Whether the connection is kept only for a pending logout.
        var isLetGo = false
        /// Whether the service ended while the card was connected, and no card was connected since.
        var hasLostService = false
        /// Time at which another program was first seen to hold the card; nil where no program did at the last look.
        var heldSince: ContinuousClock.Instant?

        init(pins: PINSession) { self.pins = pins }

        /// Whether the card of an insertion is still in the reader. Its content may have been changed since.
        func hasCard(of insertion: TokenInsertion) -> Bool {
            connection != nil && insertion.number >= firstInsertion.number && insertion.number <= self.insertion.number
        }

        /// The wait of a call that came at `arrival` and runs now. It includes the time for which callers before it waited for
        /// the same program in vain.
        func wait(since arrival: ContinuousClock.Instant, unless cancellation: CardWait.Cancellation) -> CardWait {
            CardWait(since: heldSince.map { max($0, arrival) } ?? .now, unless: cancellation)
        }
    }
}
