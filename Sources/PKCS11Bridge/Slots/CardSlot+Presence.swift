internal import CCryptoki
internal import Synchronization
internal import TokenKit

// Which card is in, and the connection to it: made when something is asked of the card that no program of the host has read yet.
extension CardSlot {
    /// The card that is in; looked at anew where it is not the one that was.
    func present(_ state: inout State) throws(CryptokiError) -> Card {
        if let card = state.card, isIn(card) { return card }
        let previous = state.card
        endLogin(&state)
        let known = knownCards?.card(in: name, hidesLogin: promptPolicy.asksItself)
        var card: Card
        if let known { card = known } else { card = try read(after: previous, state) }
        if let identity = card.identity, identity.id == previous?.identity?.id {
            if let previous, known == nil {
                (card.objects, card.readingBegan) = (previous.objects, previous.readingBegan)
                card.data = previous.data.withoutContents
            }
        } else {
            generations.add(1, ordering: .releasing)
        }
        state.card = card
        seen.withLock { $0 = nil }
        return card
    }

    private func isIn(_ card: Card) -> Bool {
        if let insertion = card.insertion { return slot.holds(insertion) }
        return card.place != nil && card.place == knownCards?.insertion(name)
    }

    /// Connects to the card that is in. Which one it is, is read where there was one before.
    private func read(after previous: Card?, _ state: borrowing State) throws(CryptokiError) -> Card {
        let wantsIdentity = previous?.identity != nil
        let (occupancy, place) = (slot.occupancy, knownCards?.insertion(name))
        return try CryptokiError.mapping { () throws(TokenError) in
            try slot.read(since: state.arrival) { (token, transaction, insertion) throws(TokenError) in
                let identity = wantsIdentity ? try token.identity(&transaction) : nil
                return Card(
                    insertion: insertion, occupancy: occupancy, place: place, identity: identity,
                    version: token.knownVersion, keyLimits: token.knownKeyLimits, pinLengths: token.pinRules.lengths)
            }
        }
    }

    /// A connection to the card that is in.
    func connection(_ state: inout State) throws(CryptokiError) -> TokenInsertion {
        let card = try present(&state)
        if let insertion = card.insertion { return insertion }
        let insertion = try CryptokiError.mapping { () throws(TokenError) in
            try slot.read(since: state.arrival) { (_, _, insertion) throws(TokenError) in insertion }
        }
        // It may have been exchanged meanwhile.
        guard isIn(card) else { return try connection(&state) }
        state.card?.insertion = insertion
        return insertion
    }

    /// The card that a session is with.
    ///
    /// - Throws: `CKR_DEVICE_REMOVED` where it is out, or another has come.
    func connection(of generation: Int, _ state: inout State) throws(CryptokiError) -> TokenInsertion {
        let insertion = try CryptokiError.removed { () throws(CryptokiError) in try connection(&state) }
        guard knownGeneration == generation else { throw CryptokiError(CKR_DEVICE_REMOVED, "another card has come") }
        return insertion
    }

    /// Which card is in.
    ///
    /// - Parameter withPINStatus: whether the tries that are left are wanted next, which are read in the same transaction: in another
    ///   one the card's application would have to be confirmed again.
    /// - Throws: `CKR_TOKEN_NOT_PRESENT` for a card that this copy of the module does not show.
    func identity(_ state: inout State, withPINStatus: Bool = false) throws(CryptokiError) -> TokenIdentity {
        var known = try present(&state).identity
        if known == nil {
            let (identity, status) = try reading(&state) { (token, card) throws(TokenError) in
                let identity = try token.identity(&card)
                let isWanted = withPINStatus && filter.wants(card: CryptokiTokenName(identity).serialNumber)
                return (identity, isWanted ? try? token.status(of: .pin, &card) : nil)
            }
            known = identity
            state.card?.identity = identity
            if let status { state.card?.pinStatus = (status, .now) }
        }
        guard let known, filter.wants(card: CryptokiTokenName(known).serialNumber) else {
            throw CryptokiError(CKR_TOKEN_NOT_PRESENT, "the card in the reader is not shown")
        }
        return known
    }

    func reading<Result: Sendable>(
        _ state: inout State, _ body: (inout any Token, inout CardTransaction) throws(TokenError) -> Result
    ) throws(CryptokiError) -> Result {
        let insertion = try connection(&state)
        let (result, keyLimits, version) = try CryptokiError.mapping { () throws(TokenError) in
            try slot.perform(at: insertion, since: state.arrival) { (token, card) throws(TokenError) in
                (try body(&token, &card), token.knownKeyLimits, token.knownVersion)
            }
        }
        // What is learned by the way is not asked for when somebody waits for it.
        if let keyLimits { state.card?.keyLimits = keyLimits }
        if let version { state.card?.version = version }
        return result
    }
}
