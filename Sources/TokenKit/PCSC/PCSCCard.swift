internal import Glibc
internal import Platform
internal import SecureBytes

/// A connection to the card in a PC/SC reader.
///
/// Only a transaction reaches the card, and no transaction outlives its closure. The mutable state belongs to the thread that
/// holds ``turn``, which makes the class sendable.
final class PCSCCard: CardConnection, @unchecked Sendable {
    /// A new connection, made on any thread.
    struct Start: Sendable {
        let handle: PCSCHandle
        let atr: ATR

        init(_ reader: PCSCReader, sharing: PCSCReader.Sharing) throws(CardError) {
            // An attempt to connect to an empty reader would fail too, and cost a context.
            if StatusContext.shared.status(of: reader.name)?.isEmpty == true {
                throw CardError(.noCard, .connecting, reader: reader.name)
            }
            handle = try PCSCHandle(reader: reader.name, sharing: sharing, limit: reader.answerLimit)
            var atr: ATR?
            let code = PCSCHandle.waiting { [handle] in
                let status = handle.answerToReset()
                atr = status.atr
                return status.code
            }
            guard code == .success, let atr else { throw CardError(code, .connecting, reader: reader.name) }
            self.atr = atr
        }
    }

    let atr: ATR

    private let reader: PCSCReader
    private let handle: PCSCHandle
    private let trace: (any CardTrace)?
    private let turn = CountingSemaphore(count: 1)
    private var link: CardLink
    private var epoch = 0
    private var pinPad = PINPadSearch.open
    /// The wait of the present transaction.
    private var wait = CardWait()
    /// The reason that no further transaction can begin.
    private var end: CardError?

    init(_ start: Start, reader: PCSCReader, trace: (any CardTrace)?) {
        atr = start.atr
        handle = start.handle
        self.reader = reader
        self.trace = trace
        link = CardLink(atr: atr, transmissionProtocol: handle.initialProtocol, trace: trace)
    }

    var isCardPresent: Bool {
        turn.wait()
        defer { turn.signal() }
        guard end == nil, handle.isUsable else { return false }
        let code = handle.probe()
        // Only errors that mean the loss of the card count. Others say nothing about it.
        let isGone: [CardError.Code] = [.removed, .noCard, .noReader, .serviceUnavailable]
        return code == .success || !isGone.contains(CardError(code, reader: reader.name).code)
    }

    var isHeldElsewhere: Bool { handle.isUsable && handle.probe() == .sharingViolation }

    func takes(_ entry: PINEntry, _ wait: CardWait) -> Bool {
        // Some readers announce keys that do not work, so that the user can turn them off.
        guard PINPad.isWanted else { return false }
        turn.wait()
        defer { turn.signal() }
        self.wait = wait
        if case .open = pinPad, (try? requireConnection()) != nil, (try? waitForOthers()) != nil {
            pinPad = handle.pinPad()
        }
        return if case .found(let pad) = pinPad { pad.takes(entry) } else { false }
    }

    /// Runs `body` in a transaction. Waits for the transactions of other threads.
    ///
    /// A transaction that cannot be ended is an error, unless card, reader or service are gone by then: `body` has succeeded, and
    /// the next transaction reports the loss.
    func withTransaction<Result: ~Copyable>(
        _ hold: CardHold, _ wait: CardWait, _ body: (inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        turn.wait()
        defer { turn.signal() }
        self.wait = wait
        let channel: Channel
        do throws(CardError) {
            try requireConnection()
            channel = try Channel(self, hold)
        } catch {
            throw TokenError(error)
        }
        let result: Result
        do throws(TokenError) {
            var transaction = CardTransaction(on: channel, link: link, epoch: epoch, hold: hold)
            result = try body(&transaction)
        } catch {
            if channel.isHeld { try? endTransaction() }
            throw explanation(of: error)
        }
        guard channel.isHeld else { return result }
        do { try endTransaction() } catch { throw TokenError(error) }
        return result
    }

    func disconnect(resetting: Bool) {
        guard resetting else { return handle.disconnect(.leave) }
        // The service delays the reset until another program's transaction ends. After `patience` this call returns, and the card
        // is reset later all the same.
        let handle = handle
        _ = BlockingThread.run(atMost: reader.patience) { handle.disconnect(.reset) }
    }

    // MARK: - Begin and end

    private func requireConnection() throws(CardError) {
        if let end { throw end }
        guard handle.isUsable else {
            throw CardError(.serviceUnavailable, "the connection to the card has ended (connect again)")
        }
    }

    private func beginTransaction() throws(CardError) {
        // The card may be reset again while the first reset is being acknowledged.
        for _ in 0..<3 {
            try waitForOthers()
            let code = handle.begin()
            if code == .success { return }
            guard code == .resetCard else { throw failure(code) }
            let acknowledged = try waitingForOthers { acknowledgeReset() }
            guard acknowledged == .success else { throw failure(acknowledged) }
        }
        throw CardError(.resetCard, reader: reader.name)
    }

    /// The result of `call` once no other program holds a transaction.
    private func waitingForOthers(_ call: () -> PCSCCode) throws(CardError) -> PCSCCode {
        while true {
            let code = call()
            guard code == .sharingViolation else { return code }
            try rest()
        }
    }

    /// Waits while another program holds a transaction.
    ///
    /// SCardBeginTransaction would wait inside libpcsclite, without limit, and so would SCardTransmit unless ``PCSCBlocking`` is
    /// forbidden. They can still do so, for as long as an answer may take, where a transaction begins between this check and the
    /// call.
    private func waitForOthers() throws(CardError) {
        while handle.probe() == .sharingViolation { try rest() }
    }

    private func waitToTransmit() throws(CardError) {
        if !PCSCBlocking.isForbidden { try waitForOthers() }
    }

    /// Pauses for 10 ms of the wait for the card.
    ///
    /// - Throws: ``CardError`` `.cancelled` where the wait was ended, `.inUse` where the reader's patience is over.
    private func rest() throws(CardError) {
        guard !wait.isCancelled else { throw CardError(.cancelled, reader: reader.name) }
        guard wait.rest(of: reader.patience) > .zero else { throw CardError(.sharingViolation, reader: reader.name) }
        usleep(10_000)
    }

    private func failure(_ code: PCSCCode) -> CardError {
        guard code == .timeout else { return CardError(code, reader: reader.name) }
        return CardError.silence(for: reader.answerLimit, reader: reader.name)
    }

    private func acknowledgeReset() -> PCSCCode {
        let (code, transmissionProtocol) = handle.reconnect()
        guard code == .success else { return code }
        epoch += 1
        if transmissionProtocol != link.transmissionProtocol {
            link = CardLink(atr: atr, transmissionProtocol: transmissionProtocol, trace: trace)
        }
        return code
    }

    private func endTransaction() throws(CardError) {
        guard handle.isUsable else { return }
        var code = handle.end()
        if code == .resetCard {
            // The service keeps the lock of a transaction in which the card was reset, until the reset is acknowledged.
            code = acknowledgeReset()
            if code == .success { code = handle.end() }
        }
        guard code != .success else { return }
        // The service keeps the lock of a card that was removed or fell silent, which blocks the next program, until this
        // connection ends.
        handle.disconnect(.leave)
        let error = failure(code)
        guard error.code == .removed || error.code == .serviceUnavailable else { throw error }
        end = error
    }

    /// Finds out whether a card that does not answer has been taken out.
    ///
    /// The service polls its readers every 0.4 seconds. Until then, a removed card looks like one that does not answer.
    private func explanation(of error: TokenError) -> TokenError {
        guard error.code == .card(.communication) || error.code == .pinPadFailed else { return error }
        if let end { return TokenError(end) }
        guard handle.isUsable else { return error }
        for _ in 0..<30 {
            let now = CardError(handle.probe(), reader: reader.name)
            if now.code == .removed { return TokenError(now) }
            usleep(20_000)
        }
        return error
    }

    /// The card while a transaction lasts.
    private final class Channel: CardChannel {
        private let card: PCSCCard
        private var wasUsed = false
        private(set) var isHeld = false

        init(_ card: PCSCCard, _ hold: CardHold) throws(CardError) {
            self.card = card
            guard hold == .fromTheStart else { return }
            try card.beginTransaction()
            isHeld = true
        }

        func hold() throws(CardError) {
            guard !isHeld else { return }
            let epoch = card.epoch
            try card.beginTransaction()
            isHeld = true
            // The card was reset: selection and PIN state of the transaction's first command are gone.
            if card.epoch != epoch { throw CardError(.resetCard, reader: card.reader.name) }
        }

        func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
            if wasUsed { try hold() } else if !isHeld { try card.waitToTransmit() }
            wasUsed = true
            var (code, response) = card.handle.transmit(command, card.link.transmissionProtocol)
            // The service has not passed the command on.
            while code == .sharingViolation, !isHeld {
                try card.rest()
                (code, response) = card.handle.transmit(command, card.link.transmissionProtocol)
            }
            guard code == .success else { throw card.failure(code) }
            return response
        }

        func transmit(_ header: CommandAPDU, entering entry: PINEntry) throws(CardError) -> [UInt8] {
            try hold()
            guard case .found(let pad) = card.pinPad else {
                throw CardError(.communication, "the reader has no keys to type a PIN on")
            }
            wasUsed = true
            let (code, response) = card.handle.control(
                pad.code, PINPad.request(header, entry), limit: ResponseAPDU.maximumLength, atMost: PINPad.answerLimit)
            guard code == .success else { throw card.failure(code) }
            return response
        }
    }
}
