internal import Synchronization
public import TokenKit

/// A reader without a service behind it: clients in this process connect to a virtual card through it.
///
/// It behaves as a PC/SC reader does: several clients share the card, one transaction at a time; connections to a card that
/// was taken out never work again; a reset by one client is reported to the others.
public final class VirtualReader: CardReader {
    struct State {
        var card: VirtualCard?
        var insertion = 0
        var resetCount = 0
        var connectionCount = 0
        var isHeldExclusively = false
        var powersDownWhenUnused = false
        var log: [LoggedCommand] = []
    }

    public let name: String

    /// The faults of the reader.
    public let faults = FaultPlan()

    let turn = TurnLock()
    private let state: Mutex<State>

    public init(name: String = "Virtual Reader", card: VirtualCard? = nil) {
        self.name = name
        state = Mutex(State(card: card))
    }

    // MARK: - Actions of a person

    /// Inserts a card, in place of a present one.
    public func insert(_ card: VirtualCard) {
        remove()
        state.withLock { $0.card = card }
    }

    /// Takes the card out. Connections to it end with `.removed`, also in the middle of a transaction.
    public func remove() {
        let card = state.withLock { state in
            state.insertion += 1
            defer { state.card = nil }
            return state.card
        }
        card?.reset()
    }

    // MARK: - Actions of other clients and the service

    /// Resets the card as another client would: selections and verifications are gone, and transactions report the reset.
    public func resetByAnotherClient() {
        let card = state.withLock { state in
            state.resetCount += 1
            return state.card
        }
        card?.reset()
    }

    /// The number of connected clients.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// Whether another client holds the card for itself, so that connecting fails.
    public var isHeldExclusively: Bool {
        get { state.withLock { $0.isHeldExclusively } }
        set { state.withLock { $0.isHeldExclusively = newValue } }
    }

    /// Whether the card loses its power when the last client has left; pcscd does so after about a second.
    public var powersDownWhenUnused: Bool {
        get { state.withLock { $0.powersDownWhenUnused } }
        set { state.withLock { $0.powersDownWhenUnused = newValue } }
    }

    // MARK: - Log

    /// Every command since the start or the last ``clearLog()``, chained and continuing ones included.
    public var log: [LoggedCommand] { state.withLock { $0.log } }

    public func clearLog() {
        state.withLock { $0.log = [] }
    }

    // MARK: - CardReader

    public var occupancy: ReaderOccupancy {
        state.withLock { ReaderOccupancy(hasCard: $0.card != nil, changeCount: $0.insertion) }
    }

    public func connect(trace: (any CardTrace)?, _ wait: CardWait) throws(CardError) -> any CardConnection {
        let (card, insertion, resetCount) = try begin()
        let link = CardLink(
            atr: card.atr, transmissionProtocol: card.profile.transport.transmissionProtocol == .t0 ? .t0 : .t1,
            trace: trace)
        return VirtualConnection(
            reader: self, card: card, link: link, insertion: insertion, resetCount: resetCount)
    }

    private func begin() throws(CardError) -> (VirtualCard, insertion: Int, resetCount: Int) {
        try state.withLock { state throws(CardError) in
            guard let card = state.card else { throw CardError(.noCard, "no card in \(name): insert one") }
            guard !state.isHeldExclusively else {
                throw CardError(.inUse, "another program holds the card in \(name): close it or wait")
            }
            state.connectionCount += 1
            return (card, state.insertion, state.resetCount)
        }
    }

    /// Ends a connection.
    func end(insertion: Int, resetting: Bool) {
        let card = state.withLock { state -> VirtualCard? in
            state.connectionCount -= 1
            guard insertion == state.insertion else { return nil }
            if resetting { state.resetCount += 1 }
            return resetting || (state.powersDownWhenUnused && state.connectionCount == 0) ? state.card : nil
        }
        card?.reset()
    }

    /// The number of resets of the card, for a connection of that insertion.
    func resetCount(insertion: Int) throws(CardError) -> Int {
        try state.withLock { state throws(CardError) in
            guard insertion == state.insertion else {
                throw CardError(.removed, "the card was taken out of \(name): insert it again")
            }
            return state.resetCount
        }
    }

    func note(_ command: LoggedCommand) {
        state.withLock { $0.log.append(command) }
    }
}
