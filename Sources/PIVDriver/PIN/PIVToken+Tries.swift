internal import SecureBytes
public import TokenKit

// The PIN's reference and state, and the decision to spend a try.
extension PIVToken {
    public mutating func status(of pin: PINKind, _ card: inout CardTransaction) throws(TokenError) -> PINStatus {
        let reference = try pin == .pin ? likelyPINReference(&card) : .unblocking
        let isPresented = pin == .pin && pins.isPresented
        // A PIN that was just right has all its tries. Asking again would cost a command for each signature.
        if isPresented, pins.tries(of: pin) == .all, let told = cardholderPIN.metadata {
            return PINStatus(
                triesLeft: told.maximumTries, maximumTries: told.maximumTries, isVerified: true,
                isDefault: told.isDefault)
        }
        if let metadata = try metadata(of: reference, &card), metadata.triesLeft != nil {
            if let tries = metadata.triesLeft { pins.learn(.left(tries), of: pin) }
            return PINStatus(
                triesLeft: metadata.triesLeft, maximumTries: metadata.maximumTries, isVerified: isPresented,
                isDefault: metadata.isDefault)
        }
        // A query would make some cards forget the presented PIN, and there is none for an unblocking key.
        if pin == .pin, !isPresented, try queryStatus(of: reference, &card) {
            return PINStatus(triesLeft: pins.triesLeft(of: pin), isVerified: true)
        }
        var status = PINStatus(triesLeft: try believedTries(of: pin, &card), isVerified: isPresented)
        status.areTriesBelieved = pins.tries(of: pin) == .unknown && status.triesLeft != nil
        return status
    }

    /// The PIN that the cardholder knows, by the Discovery Object; without one it is that of the application.
    ///
    /// SP 800-73-5 part 1 §3.3.2. Cards that follow SP 800-73-1 have only the PIN of the whole card.
    mutating func pinReference(_ card: inout CardTransaction) throws(TokenError) -> PINReference {
        if let known = cardholderPIN.reference { return known }
        // A remembered card with metadata still has the application's PIN, which its Discovery Object has confirmed before.
        let isKnown =
            quirks.has(.onlyApplicationPIN)
            || (remembered?.tellsMetadata == true && remembered?.pinReference == .application)
        let reference = try isKnown ? .application : discoveredReference(&card)
        // The known tries are those of the remembered PIN, not of this one.
        if let likely = remembered?.pinReference, likely != reference { pins.learn(.unknown, of: .pin) }
        cardholderPIN.reference = reference
        return reference
    }

    /// The reference of the PIN whose tries are shown: the remembered reference, if there is one. Before a PIN is sent
    /// ``pinReference(_:)`` reads the Discovery Object, which also proves that PIV is still selected.
    private mutating func likelyPINReference(_ card: inout CardTransaction) throws(TokenError) -> PINReference {
        if let likely = cardholderPIN.reference ?? remembered?.pinReference { return likely }
        return try pinReference(&card)
    }

    private mutating func discoveredReference(_ card: inout CardTransaction) throws(TokenError) -> PINReference {
        if let discovery = try discovery(&card) {
            cardholderPIN.isUnblockable = !discovery.prefersGlobalPIN
            return discovery.prefersGlobalPIN ? .global : .application
        }
        // The answer may have been another application's. PIV is selected and asked again then.
        if try confirmSelection(&card) { return try discoveredReference(&card) }
        return try askStatus(of: .application, &card) == .referenceNotFound ? .global : .application
    }

    /// Checks whether a value may be sent, by the card's tries and the values that it refused to other programs.
    mutating func requireTry(
        _ pin: borrowing PIN, as reference: PINReference, _ lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) {
        let kind = reference.kind
        try checkBeforePIN(&card)
        if card.mayHaveChangedHands { pins.beginTransaction(epoch: card.epoch) }
        if pins.wantsTries(of: kind, for: pin) { try learnTries(of: reference, &card) }
        let tries = pins.tries(of: kind)
        let others = try rejectedElsewhere(&card) {
            tries != .all && $0.contains(pin, as: kind, tries) || tries == .unknown && $0.fewestTries(of: kind) != nil
        }
        try pins.requireTry(pin, as: kind, lastTry, rejectedElsewhere: others, byThisToken: !isBlank)
    }

    /// The values that this card refused to programs of the user; nil where no card refused one that matters.
    ///
    /// Finding out which card it is may cost a command.
    private mutating func rejectedElsewhere(
        _ card: inout CardTransaction, where matters: (RejectedPINs) -> Bool
    ) throws(TokenError) -> RejectedPINs? {
        guard let rejectedPINs, rejectedPINs.allRejectedPINs.contains(where: matters) else { return nil }
        return rejectedPINs.rejectedPINs(of: try tokenID(&card))
    }

    /// Forgets the tries that were left at refusals, since a card that does not tell its tries accepted the PIN. It sends no command,
    /// which could come between VERIFY and the use of a key: where there are such tries, ``requireTry(_:as:_:_:)`` has identified
    /// the card.
    func forgetTries() {
        guard let id = knowledge.identity else { return }
        rejectedPINs?.forgetTries(of: .pin, of: id)
    }

    /// Forgets the refused values of a kind, since a new value was set.
    mutating func forgetRejected(_ kind: PINKind, _ card: inout CardTransaction) {
        guard let rejectedPINs, !rejectedPINs.all().isEmpty, let id = try? tokenID(&card) else { return }
        rejectedPINs.forgetRejected(kind, of: id)
    }

    /// The remaining tries as the card told them; where it does not, the tries that were left when it last refused a value.
    private mutating func believedTries(of kind: PINKind, _ card: inout CardTransaction) throws(TokenError) -> Int? {
        guard pins.tries(of: kind) == .unknown else { return pins.triesLeft(of: kind) }
        let others = try rejectedElsewhere(&card) { $0.fewestTries(of: kind) != nil }
        // Blank cards of a kind cannot be told apart.
        return isBlank ? nil : others?.fewestTries(of: kind)
    }

    /// Evaluates the status word of a command with a PIN, and throws its error.
    mutating func judge(
        _ status: StatusWord, _ pin: borrowing PIN, as reference: PINReference, _ what: LocalizedText,
        _ card: inout CardTransaction
    ) throws(TokenError) {
        if status.isSuccess { return }
        let kind = reference.kind
        switch status {
        case _ where status.isWrongPIN:
            pins.refused(pin, as: kind, triesLeft: status.triesLeft)
            if let rejectedPINs, pin.origin == .given, let id = try? tokenID(&card) {
                rejectedPINs.remember(rejected: pin, as: kind, triesLeft: status.triesLeft, of: id)
            }
            throw TokenError.incorrect(status, kind)
        case .authenticationMethodBlocked:
            pins.blocked(kind)
            throw TokenError.blocked(kind, status: status)
        case .incorrectData, .wrongLength:
            throw TokenError(
                .pinFormat, "the card does not take a \(kind.name) of this length or with these characters",
                status: status)
        case .securityStatusNotSatisfied:
            throw TokenError(
                .conditionsNotSatisfied, "the card takes no PIN from a contactless reader (use its contacts)",
                status: status)
        default: throw TokenError(status, what)
        }
    }

    // MARK: - Asking the card

    private mutating func discovery(_ card: inout CardTransaction) throws(TokenError) -> DiscoveryObject? {
        // An unreadable Discovery Object counts as absent.
        try readable { (token) throws(TokenError) in
            try token.read(.discovery, &card).map { (content) throws(TokenError) in
                try DiscoveryObject(parsing: content)
            }
        } ?? nil
    }

    private mutating func learnTries(
        of reference: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) {
        var tries = try metadata(of: reference, &card)?.triesLeft
        // The answer may have been that of another application.
        if tries == nil, try confirmSelection(&card) { tries = try metadata(of: reference, &card)?.triesLeft }
        if let tries {
            pins.learn(.left(tries), of: reference.kind)
            return
        }
        guard reference != .unblocking, !quirks.has(.noStatusQuery) else { return }
        // While the PIN is presented, it has all its tries: a wrong value would have ended that.
        if try queryStatus(of: reference, &card) { pins.learn(.all, of: .pin) } else { pins.notPresented() }
    }

    /// Asks by VERIFY without data whether the PIN is presented.
    mutating func queryStatus(
        of reference: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) -> Bool {
        guard !quirks.has(.noStatusQuery) else { return false }
        return try askStatus(of: reference, &card) == .success
    }

    private mutating func askStatus(
        of reference: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) -> StatusWord {
        // Another application's PIN would have its own tries.
        try confirmSelection(&card)
        let status = try send(PIVCommand.verificationStatus(reference), &card).status
        if let tries = status.triesLeft { pins.learn(.left(tries), of: reference.kind) }
        return status
    }
}
