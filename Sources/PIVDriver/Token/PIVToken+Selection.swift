internal import TokenKit

// Commands go through here, so that each one reaches PIV and no other application.
extension PIVToken {
    /// Sends a command to the PIV application.
    mutating func send(
        _ command: CommandAPDU, limit: Int = CommandAPDU.anyLength, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try ensureSelected(&card)
        let response = try card.exchange(command, limit: limit)
        guard try selectIfLost(response.status, &card) else { return response }
        return try card.exchange(command, limit: limit)
    }

    /// Sends a command and takes the beginning of its answer alone.
    mutating func sendForFirstPart(
        _ command: CommandAPDU, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try ensureSelected(&card)
        let response = try card.exchangeForFirstPart(command)
        guard try selectIfLost(response.status, &card) else { return response }
        return try card.exchangeForFirstPart(command)
    }

    /// Sends a PIN to the PIV application. It is sent again only where another application answered, and none judged it.
    mutating func send(
        _ header: CommandAPDU, secret: borrowing Secret, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try ensureSelected(&card)
        let response = try card.exchange(header, secret: secret)
        guard try selectIfLost(response.status, &card) else { return response }
        return try card.exchange(header, secret: secret)
    }

    /// Selects PIV where the card was reset since.
    private mutating func ensureSelected(_ card: inout CardTransaction) throws(TokenError) {
        if selection.epoch != card.epoch {
            try select(&card)
        } else if card.commandCount == 0 {
            selection.isConfirmed = false
        }
    }

    /// Selects PIV anew where the answer tells that another program selected something else since.
    ///
    /// - Returns: whether it did, and the command is to be repeated.
    private mutating func selectIfLost(
        _ status: StatusWord, _ card: inout CardTransaction
    ) throws(TokenError) -> Bool {
        if status.isSuccess { selection.isConfirmed = true }
        guard !selection.isConfirmed, status.mayComeFromAnotherApplication else { return false }
        try select(&card)
        return true
    }

    private mutating func select(_ card: inout CardTransaction) throws(TokenError) {
        pins.forgetPresented()
        let response = try card.exchange(PIVCommand.select)
        guard response.status.isSuccess else { throw TokenError(response.status, "selecting PIV") }
        selection = Selection(epoch: card.epoch, isConfirmed: true)
        announceLengths(to: card.link)
    }
}
