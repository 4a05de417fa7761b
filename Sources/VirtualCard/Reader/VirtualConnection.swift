internal import SecureBytes
internal import Synchronization
internal import TokenKit

/// One client's connection to the card in a ``VirtualReader``.
///
/// Only the client that holds the reader's ``TurnLock`` uses `link`, `resetCount` and `epoch`.
final class VirtualConnection: CardConnection, @unchecked Sendable {
    private let reader: VirtualReader
    private let card: VirtualCard
    private let link: CardLink
    private let insertion: Int
    private var resetCount: Int
    private var epoch = 0
    private let isOpen = Atomic(true)

    init(reader: VirtualReader, card: VirtualCard, link: CardLink, insertion: Int, resetCount: Int) {
        self.reader = reader
        self.card = card
        self.link = link
        self.insertion = insertion
        self.resetCount = resetCount
    }

    deinit {
        disconnect(resetting: false)
    }

    var atr: ATR { card.atr }

    var isCardPresent: Bool { isOpen.load(ordering: .relaxed) && (try? reader.resetCount(insertion: insertion)) != nil }

    /// Holds the card from the start, whatever `hold` is.
    func withTransaction<Result: ~Copyable>(
        _ hold: CardHold, _ wait: CardWait, _ body: (inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        reader.turn.lock()
        defer { reader.turn.unlock() }
        do {
            try reconnect()
        } catch {
            throw TokenError(error)
        }
        let channel = VirtualChannel(reader: reader, card: card, insertion: insertion, resetCount: resetCount)
        var transaction = CardTransaction(on: channel, link: link, epoch: epoch)
        return try body(&transaction)
    }

    func disconnect(resetting: Bool) {
        guard isOpen.exchange(false, ordering: .relaxed) else { return }
        reader.end(insertion: insertion, resetting: resetting)
    }

    /// Records a reset since the last transaction.
    private func reconnect() throws(CardError) {
        guard isOpen.load(ordering: .relaxed) else { throw CardError(.communication, "the connection has ended") }
        let current = try reader.resetCount(insertion: insertion)
        guard current != resetCount else { return }
        resetCount = current
        epoch += 1
    }
}

/// The card, for one transaction.
private final class VirtualChannel: CardChannel {
    private let reader: VirtualReader
    private let card: VirtualCard
    private let insertion: Int
    private let resetCount: Int

    init(reader: VirtualReader, card: VirtualCard, insertion: Int, resetCount: Int) {
        self.reader = reader
        self.card = card
        self.insertion = insertion
        self.resetCount = resetCount
    }

    func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        try requireUndisturbed()
        let bytes = Array(copying: command)
        let exchange = reader.faults.exchange(bytes, with: card)
        reader.note(LoggedCommand(bytes, exchange))
        switch exchange {
        case .answer(let answer):
            // The card may have been removed or reset during the command.
            try requireUndisturbed()
            return answer
        case .noAnswer: throw CardError(.communication, "the card does not answer")
        case .reset: reader.resetByAnotherClient()
        case .removed: reader.remove()
        }
        try requireUndisturbed()
        throw CardError(.communication, "the card does not answer")
    }

    private func requireUndisturbed() throws(CardError) {
        guard try reader.resetCount(insertion: insertion) == resetCount else {
            throw CardError(.reset, "another program reset the card")
        }
    }
}
