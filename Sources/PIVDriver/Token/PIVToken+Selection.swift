internal import TokenKit

// Commands go through here, so that each one reaches PIV and no other application.
extension PIVToken {
    /// Sends a command to the PIV application.
    ///
    /// - Parameter doubtsAbsence: whether 6A82, too, is asked about once more where another application may have said it.
    mutating func send(
        _ command: CommandAPDU, limit: Int = CommandAPDU.anyLength, doubtsAbsence: Bool = true,
        _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try sending(
            doubting: { $0.mayComeFromAnotherApplication || (doubtsAbsence && $0 == .objectNotFound) }, &card
        ) { (card) throws(TokenError) in try card.exchange(command, limit: limit) }
    }

    /// Sends a command and takes the beginning of its answer alone.
    mutating func sendForFirstPart(
        _ command: CommandAPDU, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try sending(doubting: { $0.mayComeFromAnotherApplication || $0 == .objectNotFound }, &card) {
            (card) throws(TokenError) in try card.exchangeForFirstPart(command)
        }
    }

    /// Sends a PIN to the PIV application. It is sent again only where another application answered, and none judged it.
    mutating func send(
        _ header: CommandAPDU, secret: borrowing Secret, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try sending(doubting: \.mayComeFromAnotherApplication, &card) { (card) throws(TokenError) in
            try card.exchange(header, secret: secret)
        }
    }

    /// Sends a PIN that is typed on the reader to the PIV application. Where another application answered, it is typed again.
    mutating func send(
        _ header: CommandAPDU, entering entry: PINEntry, _ card: inout CardTransaction
    ) throws(TokenError) -> ResponseAPDU {
        try sending(doubting: \.mayComeFromAnotherApplication, &card) { (card) throws(TokenError) in
            try card.exchange(header, entering: entry)
        }
    }

    /// Runs `body`, and runs it once more where the answer may be that of an application which another program selected
    /// since the last transaction.
    private mutating func sending(
        doubting isDoubtful: (StatusWord) -> Bool, _ card: inout CardTransaction,
        _ body: (inout CardTransaction) throws(TokenError) -> ResponseAPDU
    ) throws(TokenError) -> ResponseAPDU {
        try ensureSelected(&card)
        let first = try body(&card)
        if first.status.isSuccess { selection.isConfirmed = true }
        guard !selection.isConfirmed, isDoubtful(first.status) else { return first }
        let believed = pins
        try select(&card)
        var second = try body(&card)
        // The service may have let another program's command wait while ours had no transaction, and pass it on in this one.
        if !card.isHeldFromTheStart, isDoubtful(second.status) {
            try select(&card)
            second = try body(&card)
        }
        // The same again: PIV was selected all the time, and selecting it once more takes no PIN back.
        if second.status == first.status { pins = believed }
        return second
    }

    /// Selects PIV where the card was reset since.
    private mutating func ensureSelected(_ card: inout CardTransaction) throws(TokenError) {
        if selection.epoch != card.epoch {
            try select(&card)
        } else if card.mayHaveChangedHands {
            selection.isConfirmed = false
            pins.beginTransaction()
        }
    }

    private mutating func select(_ card: inout CardTransaction) throws(TokenError) {
        pins.forgetPresented()
        let response = try card.exchange(PIVCommand.select)
        guard response.status.isSuccess else { throw TokenError(response.status, "selecting PIV") }
        selection = Selection(epoch: card.epoch, isConfirmed: true, count: selection.count &+ 1)
        announceLengths(to: card.link)
    }
}
