internal import SecureBytes
internal import TokenKit

// All commands are sent here, so that each one reaches PIV and no other application.
extension PIVToken {
    /// Sends a command to the PIV application.
    mutating func send(
        _ command: CommandAPDU, limit: Int = CommandAPDU.anyLength, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try sending(&card) { (card) throws(TokenError) in try card.exchange(command, limit: limit) }
    }

    /// Sends a command and takes only the beginning of its answer.
    mutating func sendForFirstPart(
        _ command: CommandAPDU, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try sending(&card) { (card) throws(TokenError) in try card.exchangeForFirstPart(command) }
    }

    /// Sends a PIN to the PIV application, once.
    mutating func send(
        _ header: CommandAPDU, secret: borrowing Secret, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try confirmSelection(&card)
        return try card.exchange(header, secret: secret)
    }

    /// Sends a PIN that is typed on the reader to the PIV application.
    mutating func send(
        _ header: CommandAPDU, entering entry: PINEntry, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try confirmSelection(&card)
        return try card.exchange(header, entering: entry)
    }

    /// Selects PIV, unless something in this transaction has shown that it is selected: another program may have selected an
    /// application that has a PIN of the same number, and its own tries.
    ///
    /// - Returns: whether former answers in this transaction may have come from another application.
    @discardableResult
    mutating func confirmSelection(_ card: inout CardTransaction) throws(TokenError) -> Bool {
        do { try card.hold() } catch { throw TokenError(error) }
        try ensureSelected(&card)
        guard !selection.isConfirmed else { return false }
        // Selecting PIV while it is selected keeps the PIN presented (SP 800-73-5 part 2 §3.1.1).
        pins.sendingAnother()
        let believed = pins
        try select(&card)
        pins = believed
        return true
    }

    /// Runs `body`, and runs it once more where the answer may be that of an application which another program selected
    /// since the last transaction.
    private mutating func sending(
        _ card: inout CardTransaction, _ body: (inout CardTransaction) throws(TokenError) -> ResponseAPDU
    ) throws(TokenError) -> ResponseAPDU {
        try ensureSelected(&card)
        pins.sendingAnother()
        let first = try body(&card)
        // Other applications know VERIFY too, but its answer has no data.
        if first.status.isSuccess, !first.data.isEmpty { selection.isConfirmed = true }
        guard !selection.isConfirmed, first.status.mayComeFromAnotherApplication else { return first }
        let believed = pins
        try select(&card)
        var second = try body(&card)
        // Another program's command may have waited in the service while this program had no transaction, and was passed on
        // within this one.
        if !card.isHeldFromTheStart, second.status.mayComeFromAnotherApplication {
            try select(&card)
            second = try body(&card)
        }
        // With the same answer, PIV was selected all the time, and selecting it again has kept the PIN presented.
        if second.status == first.status { pins = believed }
        return second
    }

    /// Selects PIV where the card was reset since.
    private mutating func ensureSelected(_ card: inout CardTransaction) throws(TokenError) {
        if selection.epoch != card.epoch {
            try select(&card)
        } else if card.mayHaveChangedHands {
            selection.isConfirmed = false
            pins.beginTransaction(epoch: card.epoch)
        }
    }

    private mutating func select(_ card: inout CardTransaction) throws(TokenError) {
        pins.forgetPresented()
        let response = try card.exchange(PIVCommand.select)
        guard response.status.isSuccess else { throw TokenError(response.status, "select the PIV application") }
        selection = Selection(epoch: card.epoch, isConfirmed: true)
        announceLengths(to: card.link)
    }
}
