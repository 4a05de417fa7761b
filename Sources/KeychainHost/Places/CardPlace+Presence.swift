internal import KeychainModel
internal import Synchronization
internal import TokenKit

// The present card, and the connection to it, which is made for the first fact that no client of the host has read yet.
extension CardPlace {
    /// The present card. A card that was taken out and put back may have been changed meanwhile, so that searches read its items again.
    /// Handles and sessions go on with it, unless other cards may have its identifier.
    func present(_ state: inout State) throws(KeychainError) -> Card {
        if let card = state.card, isIn(card) { return card }
        let previous = state.card
        endLogin(&state)
        let known = knownCards?.card(in: name)
        let card: Card
        if let known { card = known } else { card = try read(after: previous, state) }
        let isSame = card.identity.map { !$0.isShared && $0.id == previous?.identity?.id } ?? false
        if !isSame { generations.add(1, ordering: .releasing) }
        state.card = card
        seen.withLock { $0 = nil }
        return card
    }

    private func isIn(_ card: Card) -> Bool {
        if let insertion = card.insertion { return slot.holds(insertion) }
        return card.place != nil && card.place == knownCards?.insertion(name)
    }

    /// Connects to the present card. Its identity is read where the previous card's is known, for a comparison.
    private func read(after previous: Card?, _ state: borrowing State) throws(KeychainError) -> Card {
        let (occupancy, place) = (slot.occupancy, knownCards?.insertion(name))
        let arrival = try connect(identifying: previous?.identity != nil, state)
        return Card(
            insertion: arrival.insertion, occupancy: occupancy, place: place, identity: arrival.identity,
            version: arrival.facts.version, keyLimits: arrival.facts.keyLimits,
            pinLengths: arrival.facts.pinRules.lengths, data: CardData(possible: arrival.facts.possibleData))
    }

    private func connect(identifying: Bool, _ state: borrowing State) throws(KeychainError) -> TokenArrival {
        try KeychainError.mapping { () throws(TokenError) in
            try slot.connect(identifying: identifying, since: state.arrival)
        }
    }

    /// A connection to the present card.
    func connection(_ state: inout State) throws(KeychainError) -> TokenInsertion {
        let card = try present(&state)
        if let insertion = card.insertion { return insertion }
        let insertion = try connect(identifying: false, state).insertion
        // The card may have been exchanged meanwhile.
        guard isIn(card) else { return try connection(&state) }
        state.card?.insertion = insertion
        // Another client has read the card. Its driver finds what it remembers of the card by the identity.
        if let identity = card.identity { slot.identify(as: identity, at: insertion) }
        return insertion
    }

    /// A connection to the card of a generation.
    ///
    /// - Throws: a failure of kind ``TokenFailure/removed`` where the card is out, or another is in.
    func connection(of generation: Int, _ state: inout State) throws(KeychainError) -> TokenInsertion {
        let insertion: TokenInsertion
        do throws(KeychainError) { insertion = try connection(&state) } catch {
            throw error.failure == .noToken ? error.failing(.removed) : error
        }
        guard self.generation == generation else { throw .anotherToken }
        return insertion
    }

    /// The identity of the inserted card.
    ///
    /// - Parameter withPINStatus: whether the remaining tries are read too, in the same transaction: in another one, the card's
    ///   application would have to be confirmed again.
    func identity(_ state: inout State, withPINStatus: Bool = false) throws(KeychainError) -> TokenIdentity {
        if let known = try present(&state).identity { return known }
        let (identity, status) = try reading(&state) { (insertion) throws(TokenError) in
            try slot.identity(at: insertion) { _ in withPINStatus }
        }
        state.card?.identity = identity
        if let status { state.card?.pinStatus = (status, .now) }
        return identity
    }

    /// Runs `body`, which is one call to the inserted card.
    func reading<Result: ~Copyable>(
        _ state: inout State, _ body: (TokenInsertion) throws(TokenError) -> Result
    ) throws(KeychainError) -> Result {
        let insertion = try connection(&state).waiting(since: state.arrival)
        let result = try KeychainError.mapping { () throws(TokenError) in try body(insertion) }
        // Facts that the call has learned on the way need not be asked for later.
        if let facts = slot.knownFacts(at: insertion) {
            if let keyLimits = facts.keyLimits { state.card?.keyLimits = keyLimits }
            if let version = facts.version { state.card?.version = version }
        }
        return result
    }
}

extension KeychainError {
    static func mapping<Result: ~Copyable>(
        _ body: () throws(TokenError) -> Result
    ) throws(KeychainError) -> Result {
        do throws(TokenError) { return try body() } catch { throw KeychainError(error) }
    }
}
