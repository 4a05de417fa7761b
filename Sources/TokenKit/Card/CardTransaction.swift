public import SecureBytes

/// An exclusive transaction with the card: the channel of drivers.
///
/// Command chaining, GET RESPONSE, a corrected Le and the choice between short and extended form are done here, once for
/// every channel. ISO/IEC 7816-4 §5.1 and §5.3; SP 800-73-5 part 2 §2.4.
public struct CardTransaction: ~Copyable {
    private let channel: any CardChannel

    /// The known limits of this card's transport.
    public let link: CardLink

    /// A number that changes with each reset of the card: selections and verifications of another epoch are gone.
    public let epoch: Int

    /// The number of commands that have been sent, chained and continuing ones included.
    public private(set) var commandCount = 0

    /// Whether other programs were kept from the card before the first command.
    public var isHeldFromTheStart: Bool { commandsBeforeHold == 1 }

    /// Whether other programs may have had the card since the last command, or since the last transaction.
    public var mayHaveChangedHands: Bool { commandCount < commandsBeforeHold }

    private var commandsBeforeHold: Int

    public init(on channel: any CardChannel, link: CardLink, epoch: Int, hold: CardHold = .fromTheStart) {
        self.channel = channel
        self.link = link
        self.epoch = epoch
        commandsBeforeHold = hold == .fromTheStart ? 1 : 2
    }

    /// Keeps other programs from the card from now on, if they are not kept from it already.
    public mutating func hold() throws(CardError) {
        try channel.hold()
        commandsBeforeHold = min(commandsBeforeHold, commandCount + 1)
    }

    /// Sends a command and collects its whole answer.
    ///
    /// - Parameters:
    ///   - command: an `expectedLength` of ``CommandAPDU/anyLength`` takes an answer of any length.
    ///   - limit: bytes that the answer's data may have.
    /// - Throws: ``CardError`` `.responseTooLarge` when the card offers more than `limit`, and the channel's errors. A status
    ///   word of a failure is returned, not thrown.
    public mutating func send(_ command: CommandAPDU, limit: Int = CommandAPDU.anyLength) throws(CardError)
        -> ResponseAPDU
    {
        var response: ResponseAPDU
        if needsExtendedForm(command), link.usesExtendedLength, command.data.count + 9 <= link.commandLimit {
            response = try sendExtended(command)
        } else {
            response = try sendShort(command)
        }
        try collect(&response, after: command, limit: limit)
        return response
    }

    /// Sends a command in short form and takes only the first part of its answer.
    ///
    /// The card drops the rest of the answer with the next command. So reading the beginning of a large object costs one command.
    ///
    /// - Returns: the first part, of at most 256 bytes where the card keeps to the short form; with ``StatusWord/success`` also
    ///   where more would follow.
    public mutating func sendForFirstPart(_ command: CommandAPDU) throws(CardError) -> ResponseAPDU {
        var response = try sendShort(command)
        if response.data.isEmpty, let remaining = response.status.remainingResponseLength {
            response = try sendShort(
                CommandAPDU(cla: command.cla, ins: 0xC0, p1: 0, p2: 0, expectedLength: remaining))
        }
        if response.status.remainingResponseLength != nil { response.status = .success }
        return response
    }

    /// Sends a command whose data, such as a PIN or a private key, is in no other memory: a short one, or several that are chained.
    ///
    /// The command is never repeated, whatever the answer.
    public mutating func send(_ header: CommandAPDU, secret: borrowing Secret) throws(CardError) -> ResponseAPDU {
        try hold()
        guard header.data.isEmpty, (1...CommandAPDU.maximumExtendedData).contains(secret.count) else {
            throw CardError(.invalidCommand, "a secret of \(secret.count) bytes does not fit a command")
        }
        var start = 0
        while secret.count - start > CommandAPDU.maximumShortData {
            var block = header
            block.cla |= CardTransaction.chainingBit
            let end = start + CommandAPDU.maximumShortData
            let response = try sendBlock(block, secret.bytes.extracting(start..<end))
            guard response.status == .success else { return response }
            start = end
        }
        return try sendBlock(header, secret.bytes.extracting(start..<secret.count))
    }

    private mutating func sendBlock(_ header: CommandAPDU, _ bytes: Span<UInt8>) throws(CardError) -> ResponseAPDU {
        let count = bytes.count
        let encoded = Secret(capacity: 5 + count) { output in
            output.append([header.cla, header.ins, header.p1, header.p2, UInt8(truncatingIfNeeded: count)])
            output.append(bytes)
        }
        commandCount += 1
        var masked = header
        masked.confidentiality.insert(.command)
        return try traced(masked, shownCount: count) { () throws(CardError) in try channel.transmit(encoded.bytes) }
    }

    /// Sends a short command with a PIN that a person types on the reader's own keys.
    ///
    /// Returns after the entry, or when the reader stops waiting for it. No other program has the card meanwhile.
    ///
    /// - Returns: the card's answer, or one of the reader's such as ``StatusWord/pinEntryCancelled``.
    public mutating func send(_ header: CommandAPDU, entering entry: PINEntry) throws(CardError) -> ResponseAPDU {
        try hold()
        commandCount += 1
        var masked = header
        masked.confidentiality.insert(.command)
        return try traced(masked, shownCount: entry.block.count) { () throws(CardError) in
            try channel.transmit(header, entering: entry)
        }
    }

    // MARK: - One command

    private func needsExtendedForm(_ command: CommandAPDU) -> Bool {
        command.data.count > CommandAPDU.maximumShortData
            || command.expectedLength.map { $0 > CommandAPDU.maximumShortResponse } ?? false
    }

    /// Falls back to the short form, for the rest of the insertion, where card or reader refuses the extended one.
    private mutating func sendExtended(_ command: CommandAPDU) throws(CardError) -> ResponseAPDU {
        do {
            let response = try transmitCorrectingLength(command, .extended)
            let refusals: [StatusWord] = [.wrongLength, .lastCommandOfChainExpected, .commandChainingNotSupported]
            guard refusals.contains(response.status) else { return response }
        } catch  where error.code == .communication {
            // Some readers know no extended APDU and fail the transmission itself.
        }
        link.refuseExtendedLength()
        return try sendShort(command)
    }

    private mutating func sendShort(_ command: CommandAPDU) throws(CardError) -> ResponseAPDU {
        var block = command
        var rest = command.data[...]
        // No other command may come between the parts of a command, nor between T=0's answer and the command that
        // fetches it.
        if rest.count > CommandAPDU.maximumShortData || link.transmissionProtocol == .t0 { try hold() }
        while rest.count > CommandAPDU.maximumShortData {
            block.cla = command.cla | CardTransaction.chainingBit
            block.data = Array(rest.prefix(CommandAPDU.maximumShortData))
            block.expectedLength = nil
            let response = try transmit(block, .short)
            guard response.status == .success else { return response }
            rest = rest.dropFirst(CommandAPDU.maximumShortData)
        }
        block.cla = command.cla
        block.data = Array(rest)
        block.expectedLength = command.expectedLength
        // T=0 has no Le beside data (ISO/IEC 7816-3 §12.2.4); the card answers 61xx instead.
        if link.transmissionProtocol == .t0, !block.data.isEmpty { block.expectedLength = nil }
        return try transmitCorrectingLength(block, .short)
    }

    /// Repeats the command once where the card asks for another Le (6Cxx).
    private mutating func transmitCorrectingLength(
        _ command: CommandAPDU, _ form: CommandAPDU.Form
    ) throws(CardError) -> ResponseAPDU {
        let response = try transmit(command, form)
        let hasRoomForLength = link.transmissionProtocol == .t1 || command.data.isEmpty
        guard hasRoomForLength, let length = response.status.correctExpectedLength else { return response }
        var corrected = command
        corrected.expectedLength = length
        return try transmit(corrected, form)
    }

    /// Follows 61xx with GET RESPONSE until the card has no more.
    private mutating func collect(
        _ response: inout ResponseAPDU, after command: CommandAPDU, limit: Int
    ) throws(CardError) {
        guard response.data.count <= limit else { throw CardTransaction.tooLarge(limit) }
        let isConfidential = command.confidentiality.contains(.response)
        while let remaining = response.status.remainingResponseLength {
            let next = CommandAPDU(
                cla: command.cla, ins: 0xC0, p1: 0, p2: 0, expectedLength: remaining,
                confidentiality: command.confidentiality.intersection(.response))
            var part = try sendShort(next)
            // Some cards announce more data than they have, and then fail with 6A80.
            if part.status == .incorrectData, !response.data.isEmpty, part.data.isEmpty { part.status = .success }
            guard !part.data.isEmpty || part.status.remainingResponseLength == nil else {
                throw CardError(.malformed, "the card announces more data and sends none")
            }
            guard response.data.count + part.data.count <= limit else { throw CardTransaction.tooLarge(limit) }
            response.append(&part, wiping: isConfidential)
        }
    }

    private mutating func transmit(_ command: CommandAPDU, _ form: CommandAPDU.Form) throws(CardError) -> ResponseAPDU {
        let bytes = try command.encoded(form)
        commandCount += 1
        return try traced(command, shownCount: command.data.count) { () throws(CardError) in
            try channel.transmit(bytes.span)
        }
    }

    private static let chainingBit: UInt8 = 0x10

    private static func tooLarge(_ limit: Int) -> CardError {
        CardError(.responseTooLarge, "the card offers more than the \(limit) bytes that the object may have")
    }

    // MARK: - Trace

    private func traced(
        _ command: CommandAPDU, shownCount: Int, _ transmit: () throws(CardError) -> [UInt8]
    ) throws(CardError) -> ResponseAPDU {
        guard let trace = link.trace else { return try ResponseAPDU(parsing: try transmit()) }
        let shown = CardTransaction.shown(command, count: shownCount)
        do {
            let response = try ResponseAPDU(parsing: try transmit())
            let data =
                command.confidentiality.contains(.response) && !response.data.isEmpty
                ? "[\(response.data.count) bytes] " : Hex.encode(response.data)
            trace.exchanged(command: shown, response: data + Hex.encode([response.status.sw1, response.status.sw2]))
            return response
        } catch {
            trace.exchanged(command: shown, response: "\(error.code)")
            throw error
        }
    }

    private static func shown(_ command: CommandAPDU, count: Int) -> String {
        let header = Hex.encode([command.cla, command.ins, command.p1, command.p2])
        let le = command.expectedLength.map { " Le \($0)" } ?? ""
        guard count > 0 else { return header + le }
        let data = command.confidentiality.contains(.command) ? "[\(count) bytes]" : Hex.encode(command.data)
        return "\(header) Lc \(count) \(data)\(le)"
    }
}
