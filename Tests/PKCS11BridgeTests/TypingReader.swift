import SecureBytes
import Synchronization
import TestSupport
import TokenKit
import VirtualCard

/// A reader with its own keypad, and a person who types a PIN on it.
final class TypingReader: CardReader {
    let name = "Typing Reader"
    private let connection: Connection

    init(_ card: VirtualCard) {
        connection = Connection(card)
    }

    var occupancy: ReaderOccupancy { ReaderOccupancy(hasCard: true, changeCount: 1) }

    func connect(trace: (any CardTrace)?, _ wait: CardWait) -> any CardConnection { connection }

    /// Sets the PIN that is typed; empty for a reader that fails.
    func type(_ pin: String) { connection.state.withLock { $0.typed = pin } }

    /// The number of PINs that were typed.
    var timesTyped: Int { connection.state.withLock { $0.timesTyped } }

    /// Resets the card, as another program does.
    func reset() { connection.disconnect(resetting: true) }

    private final class Connection: CardConnection {
        struct State {
            var typed = "123456"
            var timesTyped = 0
            var epoch = 0
        }

        let state = Mutex(State())
        private let card: VirtualCard

        init(_ card: VirtualCard) {
            self.card = card
        }

        var atr: ATR { card.atr }
        var isCardPresent: Bool { true }

        func takes(_ entry: PINEntry, _ wait: CardWait) -> Bool { true }

        func withTransaction<Result: ~Copyable>(
            _ hold: CardHold, _ wait: CardWait, _ body: (inout CardTransaction) throws(TokenError) -> Result
        ) throws(TokenError) -> Result {
            let epoch = state.withLock { $0.epoch }
            let link = CardLink(atr: atr, transmissionProtocol: .t1)
            var transaction = CardTransaction(on: Channel(card, self), link: link, epoch: epoch)
            return try body(&transaction)
        }

        func disconnect(resetting: Bool) {
            guard resetting else { return }
            card.reset()
            state.withLock { $0.epoch += 1 }
        }
    }

    private final class Channel: CardChannel {
        private let card: VirtualCard
        private let connection: Connection

        init(_ card: VirtualCard, _ connection: Connection) {
            (self.card, self.connection) = (card, connection)
        }

        func transmit(_ command: Span<UInt8>) -> [UInt8] { card.process(Array(copying: command)) }

        func transmit(_ header: CommandAPDU, entering entry: PINEntry) throws(CardError) -> [UInt8] {
            let typed = connection.state.withLock { state in
                state.timesTyped += 1
                return Array(state.typed.utf8)
            }
            guard !typed.isEmpty else { throw CardError(.communication, "the keys are broken") }
            var command = header
            command.data = typed + entry.block.dropFirst(typed.count)
            let bytes = try command.encoded(.short)
            return transmit(bytes.span)
        }
    }
}
