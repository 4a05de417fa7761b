public import SecureBytes
public import TokenKit

// Presenting, changing and unblocking PINs. SP 800-73-5 part 2 §3.2.
extension PIVToken {
    public mutating func verify(
        _ pin: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) {
        let block = try block(presenting: pin)
        let reference = try pinReference(&card)
        try requireTry(pin, as: reference, lastTry, &card)
        try present(pin, block, as: reference, &card)
    }

    /// The data of VERIFY; empty where the reader makes it from the typed digits.
    func block(presenting pin: borrowing PIN) throws(TokenError) -> Secret {
        guard pin.origin == .given else { return Secret(capacity: 0) { _ in } }
        return try padded(pin, .pin)
    }

    /// Sends VERIFY, and no other command.
    mutating func present(
        _ pin: borrowing PIN, _ block: borrowing Secret, as reference: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) {
        let hasUntoldTries = pins.tries(of: .pin) == .unknown
        let response =
            if block.isEmpty { try enter(reference, &card) } else { try sendPIN(block, to: reference, &card) }
        try judge(response.status, pin, as: reference, "present the PIN", &card)
        pins.accepted(pin, as: .pin)
        if hasUntoldTries { forgetTries() }
    }

    private mutating func sendPIN(
        _ block: borrowing Secret, to reference: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        pins.sending(.pin)
        return try send(PIVCommand.verify(reference), secret: block, &card)
    }

    /// Sends VERIFY with the digits that are typed on the reader.
    private mutating func enter(
        _ reference: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try confirmSelection(&card)
        let believed = pins
        pins.sending(.pin)
        let response = try send(PIVCommand.verify(reference), entering: PINBlock.entry, &card)
        guard let failure = TokenError(ofPINEntry: response.status) else { return response }
        // Nothing was sent to PIV.
        pins = believed
        throw failure
    }

    public mutating func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry,
        _ card: inout CardTransaction
    ) throws(TokenError) {
        let oldBlock = try padded(old, kind)
        let newBlock = try padded(new, kind)
        let reference = try kind == .pin ? pinReference(&card) : .unblocking
        if kind == .unblockingKey { try requireLength(ofUnblockingKeys: [old.bytes.count, new.bytes.count], &card) }
        try requireTry(old, as: reference, lastTry, &card)
        pins.sending(kind)
        let response = try send(
            PIVCommand.changeReferenceData(reference), secret: PINBlock.pair(oldBlock, newBlock), &card)
        let what: LocalizedText = kind == .pin ? "change the PIN" : "change the unblocking key"
        try judge(response.status, old, as: reference, what, &card)
        replaced(kind, by: new, &card)
    }

    /// Refuses a short unblocking key, unless the card takes one. In SP 800-73 it has eight bytes. The application of YubiKeys,
    /// and its imitations, take six characters or more and pad them.
    ///
    /// SP 800-73-5 part 1 §4.4. The card is asked for its kind only where a key is short.
    private mutating func requireLength(
        ofUnblockingKeys counts: [Int], _ card: inout CardTransaction
    ) throws(TokenError) {
        guard counts.contains(where: { $0 < PINBlock.length }), !quirks.has(.tellsVersion),
            try metadata(of: .unblocking, &card) == nil
        else { return }
        throw TokenError(
            .pinFormat, "this card's unblocking key has \(PINBlock.length) characters; nothing was sent to the card")
    }

    public mutating func unblock(
        with unblockingKey: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) {
        let keyBlock = try padded(unblockingKey, .unblockingKey)
        let newBlock = try padded(newPIN, .pin)
        let reference = try pinReference(&card)
        guard cardholderPIN.isUnblockable else {
            throw TokenError(
                .unsupported, "this card's PIN belongs to all of its applications, and cannot be unblocked through PIV")
        }
        try requireLength(ofUnblockingKeys: [unblockingKey.bytes.count], &card)
        try requireTry(unblockingKey, as: .unblocking, lastTry, &card)
        pins.sending(.unblockingKey)
        let response = try send(
            PIVCommand.resetRetryCounter(reference), secret: PINBlock.pair(keyBlock, newBlock), &card)
        try judge(response.status, unblockingKey, as: .unblocking, "unblock the PIN", &card)
        pins.accepted(unblockingKey, as: .unblockingKey)
        // The unblocking key has all its tries again, which few cards tell.
        forgetRejected(.unblockingKey, &card)
        replaced(.pin, by: newPIN, &card)
    }

    private mutating func replaced(_ kind: PINKind, by pin: borrowing PIN, _ card: inout CardTransaction) {
        if kind == .pin { cardholderPIN.metadata = nil }
        pins.replaced(kind, by: pin)
        forgetRejected(kind, &card)
    }

    public mutating func logOut(_ card: inout CardTransaction) throws(TokenError) {
        pins.notPresented()
        guard !quirks.has(.noLogout) else { throw PIVToken.noLogout }
        let reference = try pinReference(&card)
        try confirmSelection(&card)
        let response = try send(PIVCommand.logOut(reference), &card)
        if response.status.isUnknownFunction { throw PIVToken.noLogout }
        guard response.status.isSuccess else { throw TokenError(response.status, "log out") }
        // A card that took the command for a query of the PIN's state still has the PIN presented.
        guard try !queryStatus(of: reference, &card) else { throw PIVToken.noLogout }
    }

    // MARK: - Before and after

    public func checkFormat(of pin: borrowing PIN, as kind: PINKind) throws(TokenError) {
        _ = try padded(pin, kind)
    }

    func padded(_ pin: borrowing PIN, _ kind: PINKind) throws(TokenError) -> Secret {
        try PINBlock.padded(pin, kind: kind, anyCharacters: quirks.has(.anyPINCharacters))
    }

    private static let noLogout = TokenError(
        .unsupported, "this card forgets a PIN only when it is reset or taken out")
}
