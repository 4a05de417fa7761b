public import SecureBytes
public import TokenKit

// GENERAL AUTHENTICATE with a key pair. SP 800-73-5 part 2 §3.2.4.
extension PIVToken {
    public mutating func perform(
        _ operation: TokenOperation, _ card: inout CardTransaction
    ) throws(TokenError) -> Secret {
        let target = try target(of: operation, &card)
        switch target.key.pinPolicy {
        case .never: break
        case .once where pins.isPresented: pins.noteNeed()
        default: throw TokenError(.pinRequired, "the \(target.slot.label) key wants the PIN")
        }
        // A card that waits for a touch blocks all other calls in the service, so that the transaction shows other programs that
        // it is in use.
        if target.key.touchPolicy.mayWait { do { try card.hold() } catch { throw TokenError(error) } }
        do {
            return try authenticate(target, isFresh: false, &card)
        } catch {
            guard let again = try afterReplacement(of: target, operation, error, &card) else { throw error }
            return try perform(again, &card)
        }
    }

    public mutating func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) -> Secret {
        let block = try block(presenting: pin)
        let target = try target(of: operation, &card)
        if !target.key.touchPolicy.mayWait, pins.hasJustPresented(pin) {
            // The PIN is still valid for one use of the key, unless another program used the card in between. A key that may wait
            // for a touch is not tried, since a missing touch would give the same refusal.
            do {
                return try authenticate(target, isFresh: false, &card)
            } catch  where error.status == .securityStatusNotSatisfied {
                // Another program had the card in between.
            } catch {
                return try performAgain(operation, target, after: error, pin, lastTry, &card)
            }
        }
        if pin.origin == .presented {
            guard pins.isPresented else {
                throw TokenError(.pinRequired, "the \(target.slot.label) key wants the PIN")
            }
        } else {
            let reference = try pinReference(&card)
            try requireTry(pin, as: reference, lastTry, &card)
            // Any command between VERIFY and the operation may end the PIN's validity for a key that needs it always.
            try present(pin, block, as: reference, &card)
        }
        do {
            return try authenticate(target, isFresh: pin.origin != .presented, &card)
        } catch {
            return try performAgain(operation, target, after: error, pin, lastTry, &card)
        }
    }

    /// Repeats the operation with a replaced key. The PIN was right, so that it may be presented again.
    private mutating func performAgain(
        _ operation: TokenOperation, _ target: Target, after failure: TokenError, _ pin: borrowing PIN,
        _ lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) -> Secret {
        guard pin.origin == .given, let again = try afterReplacement(of: target, operation, failure, &card) else {
            throw failure
        }
        return try perform(again, presenting: pin, lastTry: lastTry, &card)
    }

    /// The key of an operation, and the request to the card.
    private struct Target {
        let slot: PIVSlot
        let key: TokenKey
        /// Whether the key is only remembered from the card's last reading.
        let isRemembered: Bool
        let request: PrivateKeyRequest
    }

    /// The operation for the key that is in the slot now; nil where the failure has another reason. The operation names that key,
    /// so that a card which shows another key each time is not asked without end.
    ///
    /// - Throws: ``TokenError`` `.notFound` where the operation names the replaced key.
    private mutating func afterReplacement(
        of target: Target, _ operation: TokenOperation, _ failure: TokenError, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenOperation? {
        guard target.isRemembered || failure.code == .malformed, !failure.preventsAnswers else { return nil }
        let key = try keyReadAgain(in: target.slot, &card)
        try require(key, isMeantBy: operation, in: target.slot)
        let isOther = target.isRemembered ? key != target.key : key.publicKey != target.key.publicKey
        return isOther ? TokenOperation(key: operation.key, action: operation.action, publicKey: key.publicKey) : nil
    }

    /// The key of a slot as the card tells it now. Of a key without a certificate, a card without metadata tells nothing: the remembered
    /// one holds until a signature shows that it is another.
    private mutating func keyReadAgain(
        in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenKey {
        let keepsKey = !knowledge.tellsMetadata
        knowledge.forget(slot)
        forgetRemembered(slot, keepingKey: keepsKey)
        let told = try keyAlone(in: slot, &card)
        let key = if let told { told } else { try listedKey(in: slot, &card) }
        // A certificate is more than the memory of a key.
        if keepsKey, remembered?.key(in: slot)?.publicKey != key.publicKey { forgetRemembered(slot) }
        return key
    }

    private mutating func target(
        of operation: TokenOperation, _ card: inout CardTransaction
    ) throws(TokenError) -> Target {
        guard let slot = PIVSlot(operation.key) else {
            throw TokenError(
                .notFound,
                "PIV has no key '\(operation.key)' (keys are 9A, 9C, 9D, 9E, 82 to 95, and F9 for attestation)")
        }
        let key = try keyToUse(for: operation.action, in: slot, &card)
        try require(key.key, isMeantBy: operation, in: slot)
        return Target(
            slot: slot, key: key.key, isRemembered: key.isRemembered,
            request: try PrivateKeyRequest(operation.action, with: key.key, quirks: quirks))
    }

    private func require(
        _ key: TokenKey, isMeantBy operation: TokenOperation, in slot: PIVSlot
    ) throws(TokenError) {
        guard let meant = operation.publicKey, meant != key.publicKey else { return }
        throw TokenError(.notFound, "the \(slot.label) key was replaced since it was listed (list the card again)")
    }

    private mutating func keyToUse(
        for action: TokenOperation.Action, in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> KeyToUse {
        // Only a signature shows which key made it, so that a remembered key can be used.
        if case .sign = action, let key = try keyToSignWith(in: slot, &card) { return key }
        if let key = try keyAlone(in: slot, &card) { return KeyToUse(key: key, isRemembered: false) }
        return KeyToUse(key: try listedKey(in: slot, &card), isRemembered: false)
    }

    private mutating func listedKey(
        in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenKey {
        var reading = try object(in: slot, &card)
        if reading.object == nil, knowledge.identity == nil, !knowledge.tellsMetadata {
            // The memory of a key without a certificate is found by the card's identifier, which was not read yet where the card has been
            // recognized anew since it was listed.
            _ = try tokenID(&card)
            knowledge.forget(slot)
            reading = try object(in: slot, &card)
        }
        guard let key = reading.object?.key else {
            throw reading.failure ?? TokenError(.notFound, "slot \(slot.objectID) has no key")
        }
        return key
    }

    /// - Parameter isFresh: whether the PIN was presented right before the operation.
    private mutating func authenticate(
        _ target: Target, isFresh: Bool, _ card: inout CardTransaction
    ) throws(TokenError) -> Secret {
        let request = target.request
        var response = try send(request, to: target.slot, &card)
        let answer = Secret(consuming: &response.data)
        if response.status == .securityStatusNotSatisfied {
            throw try refusal(of: target, isFresh: isFresh, &card)
        }
        guard response.status.isSuccess else {
            throw TokenError(response.status, "use the \(target.slot.label) key")
        }
        do {
            let isTrusted = knowledge.hasJustSigned(target.slot)
            let result = try request.complete(AuthenticationResponse.parse(answer), isTrusted: isTrusted)
            if request.completion.isSignature, !isTrusted {
                knowledge.signed(target.slot, with: target.key)
                rememberKey(in: target.slot, &card)
            }
            return result
        } catch {
            // The known facts of the slot may be out of date, since another program may have put a new key there.
            knowledge.forget(target.slot)
            forgetRemembered(target.slot)
            throw error
        }
    }

    mutating func send(
        _ request: PrivateKeyRequest, to slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        let command = PIVCommand.generalAuthenticate(
            request.algorithm, slot, field: request.field, request.input, answerLength: request.answerLength,
            isConfidential: request.isConfidential)
        return try send(command, limit: request.answerLength + PIVCommand.templateOverhead, &card)
    }

    /// The error of 6982, with which a card answers both without the PIN and after a missing touch.
    private mutating func refusal(
        of target: Target, isFresh: Bool, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenError {
        let status = StatusWord.securityStatusNotSatisfied
        let untouched = TokenError(
            .conditionsNotSatisfied, "the \(target.slot.label) key waited for a touch that did not come",
            status: status)
        let wantsPIN = TokenError(.pinRequired, "the \(target.slot.label) key wants the PIN", status: status)
        let wasPresented = pins.isPresented
        pins.notPresented()
        switch (target.key.touchPolicy, isFresh) {
        case (.always, true), (.cached, true), (.other, true): return untouched
        case (_, true):
            return TokenError(
                .conditionsNotSatisfied,
                "the card took the PIN and refuses the \(target.slot.label) key (a touch or its contacts may be wanted)",
                status: status)
        case (.never, false), (.unknown, false): return wantsPIN
        case (_, false) where target.key.pinPolicy == .never: return untouched
        // The PIN no longer counts as presented, so that asking for its state cannot lose it.
        case (_, false):
            guard wasPresented else { return wantsPIN }
            return try queryStatus(of: try pinReference(&card), &card) ? untouched : wantsPIN
        }
    }
}
