internal import SecureBytes
public import TokenKit

// Which PIN it is, how it stands, and whether a try may be spent on it.
extension PIVToken {
    public mutating func status(of pin: PINKind, _ card: inout CardTransaction) throws(TokenError) -> PINStatus {
        let reference = try pin == .pin ? likelyPINReference(&card) : .unblocking
        let isPresented = pin == .pin && isPINPresented(in: card)
        // A PIN that was just right has all its tries; asking again would be a command more for each signature.
        if isPresented, pins.tries(of: reference) == .all, let told = pins.metadata {
            return PINStatus(
                triesLeft: told.maximumTries, maximumTries: told.maximumTries, isVerified: true,
                isDefault: told.isDefault)
        }
        if let metadata = try metadata(of: reference, &card), metadata.triesLeft != nil {
            if let tries = metadata.triesLeft { pins.learn(.left(tries), of: reference) }
            return PINStatus(
                triesLeft: metadata.triesLeft, maximumTries: metadata.maximumTries, isVerified: isPresented,
                isDefault: metadata.isDefault)
        }
        // Asking would make some cards forget what was presented, and there is no asking for an unblocking key.
        guard pin == .pin, !isPresented else {
            return PINStatus(triesLeft: try believedTries(of: reference, &card), isVerified: isPresented)
        }
        let isVerified = try queryStatus(of: reference, &card)
        return PINStatus(triesLeft: pins.triesLeft(of: reference), isVerified: isVerified)
    }

    /// Whether the card takes the PIN as presented, as far as this process knows.
    public func isPINPresented(in card: borrowing CardTransaction) -> Bool {
        pins.isPresented && selection.epoch == card.epoch
    }

    /// The PIN that the cardholder knows, by the Discovery Object; without one it is that of the application.
    ///
    /// SP 800-73-5 part 1 §3.3.2. Cards after SP 800-73-1 have only the PIN of the whole card.
    mutating func pinReference(_ card: inout CardTransaction) throws(TokenError) -> PINReference {
        if let known = pins.reference { return known }
        // A card with metadata has the application's PIN. That its Discovery Object says nothing else has been seen before.
        let isKnown =
            quirks.has(.onlyApplicationPIN)
            || (remembered?.tellsMetadata == true && remembered?.pinReference == .application)
        let reference = try isKnown ? .application : discoveredReference(&card)
        pins.reference = reference
        return reference
    }

    /// The reference of the PIN whose tries are shown: the remembered one, if there is one. Before a PIN is sent ``pinReference(_:)``
    /// reads the Discovery Object, which also proves that PIV is still selected.
    private mutating func likelyPINReference(_ card: inout CardTransaction) throws(TokenError) -> PINReference {
        if let likely = pins.reference ?? remembered?.pinReference { return likely }
        return try pinReference(&card)
    }

    private mutating func discoveredReference(_ card: inout CardTransaction) throws(TokenError) -> PINReference {
        if let discovery = try discovery(&card) {
            pins.isUnblockable = !discovery.prefersGlobalPIN
            return discovery.prefersGlobalPIN ? .global : .application
        }
        // If it was another application that had no Discovery Object, PIV itself is asked now.
        if try confirmSelection(&card) { return try discoveredReference(&card) }
        return try askStatus(of: .application, &card) == .referenceNotFound ? .global : .application
    }

    /// Throws where the value must not be sent: the card is not to be given a PIN, the value was refused before, no try is
    /// left, or nobody agreed to spend the last one.
    mutating func requireTry(
        of reference: PINReference, _ block: borrowing Secret, _ lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) {
        try checkBeforePIN(&card)
        let fingerprint = PINState.fingerprint(block, of: reference)
        if card.mayHaveChangedHands { pins.beginTransaction() }
        if selection.epoch != card.epoch || pins.wantsTries(of: reference, for: fingerprint) {
            try learnTries(of: reference, &card)
        }
        let count = try believedTries(of: reference, &card)
        guard count != 0 else { throw TokenError.blocked(reference) }
        guard !pins.hasRejected(fingerprint, of: reference) else {
            throw TokenError(
                .pinKnownIncorrect, "the card refused this \(reference.noun) before, so it was not sent again",
                triesLeft: count)
        }
        if pins.tries(of: reference) == .all { return }
        guard count != 1 || lastTry == .spend else {
            throw TokenError(
                .pinLastTry,
                "only one try of the \(reference.noun) is left, so nothing was sent (allow the last try to be spent)",
                triesLeft: 1)
        }
        guard try !isRejectedElsewhere(block, of: reference, triesLeft: count, &card) else {
            throw TokenError(
                .pinKnownIncorrect, "the card refused this \(reference.noun) before, so it was not sent again",
                triesLeft: count)
        }
    }

    /// The tries that are left, as the card told them, or where it does not tell, as it did when it last refused a value.
    private mutating func believedTries(
        of reference: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) -> Int? {
        guard pins.tries(of: reference) == .unknown else { return pins.triesLeft(of: reference) }
        return try rememberedTries(of: reference, &card)
    }

    /// Takes the status word of a command that held a PIN.
    mutating func judge(
        _ status: StatusWord, _ block: borrowing Secret, of reference: PINReference, _ what: String,
        _ card: inout CardTransaction
    ) throws(TokenError) {
        if status.isSuccess { return }
        switch status {
        case _ where status.isWrongPIN:
            pins.refused(
                PINState.fingerprint(block, of: reference), of: reference, triesLeft: status.triesLeft)
            rememberRejection(of: block, reference, triesLeft: status.triesLeft, &card)
            throw TokenError.incorrect(status, reference)
        case .authenticationMethodBlocked:
            pins.refused(nil, of: reference, triesLeft: 0)
            throw TokenError.blocked(reference, status: status)
        case .incorrectData, .wrongLength:
            throw TokenError(
                .pinFormat, "the card does not take a \(reference.noun) of this length or with these characters",
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
        // One that cannot be read tells as little as none.
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
        // It may have been another application that told nothing.
        if tries == nil, try confirmSelection(&card) { tries = try metadata(of: reference, &card)?.triesLeft }
        if let tries {
            pins.learn(.left(tries), of: reference)
            return
        }
        guard reference != .unblocking, !quirks.has(.noStatusQuery) else { return }
        // While the card has the PIN no try is lost: a wrong value would have taken it back.
        if try queryStatus(of: reference, &card) { pins.learn(.all, of: reference) } else { pins.notPresented() }
    }

    /// VERIFY without data. Returns whether the card says that the PIN is presented.
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
        if let tries = status.triesLeft { pins.learn(.left(tries), of: reference) }
        return status
    }
}
