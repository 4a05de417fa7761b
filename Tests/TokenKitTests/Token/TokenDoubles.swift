import SecureBytes
import Synchronization
import TestSupport
import TokenKit

/// A reader that gives out prepared connections, one for each request, and then has no card.
final class PreparedReader: CardReader {
    let name = "Reader"
    private let outcomes: Mutex<ArraySlice<Result<PreparedConnection, CardError>>>
    private let connectCount = Atomic(0)

    init(_ outcomes: Result<PreparedConnection, CardError>...) {
        self.outcomes = Mutex(outcomes[...])
    }

    var occupancy: ReaderOccupancy { ReaderOccupancy(hasCard: outcomes.withLock { !$0.isEmpty }) }

    var timesConnected: Int { connectCount.load(ordering: .relaxed) }

    func connect(trace: (any CardTrace)?, _ wait: CardWait) throws(CardError) -> any CardConnection {
        connectCount.add(1, ordering: .relaxed)
        let outcome = outcomes.withLock { $0.popFirst() } ?? .failure(CardError(.noCard, "no card"))
        return try outcome.get()
    }
}

/// A connection to a card that answers every command with 9000, and whose transactions begin as prepared.
final class PreparedConnection: CardConnection {
    enum Beginning: Sendable {
        case wellAndGood
        /// Another program has reset the card since.
        case afterReset
        case failure(CardError.Code)
    }

    private struct State {
        var beginnings: ArraySlice<Beginning>
        var epoch = 0
        var holds: [CardHold] = []
        var waits: [CardWait] = []
        var disconnections: [Bool] = []
    }

    let atr = ATR([0x3B, 0x00])
    var isCardPresent: Bool { state.withLock { $0.disconnections.isEmpty } }
    private let state: Mutex<State>

    convenience init(_ beginnings: Beginning...) {
        self.init(beginnings)
    }

    init(_ beginnings: [Beginning]) {
        state = Mutex(State(beginnings: beginnings[...]))
    }

    /// How many transactions have begun.
    var transactions: Int { holds.count }

    /// The moment from which each transaction was to keep others from the card.
    var holds: [CardHold] { state.withLock { $0.holds } }

    /// The wait of each transaction.
    var waits: [CardWait] { state.withLock { $0.waits } }

    /// Whether the card was to be reset, for each disconnection.
    var disconnections: [Bool] { state.withLock { $0.disconnections } }

    func withTransaction<Result: ~Copyable>(
        _ hold: CardHold, _ wait: CardWait, _ body: (inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        let epoch = try begin(hold, wait)
        let channel = AnsweringChannel { _ throws(CardError) in [0x90, 0x00] }
        var transaction = CardTransaction(
            on: channel, link: CardLink(atr: atr, transmissionProtocol: .t1), epoch: epoch)
        return try body(&transaction)
    }

    func disconnect(resetting: Bool) {
        state.withLock { $0.disconnections.append(resetting) }
    }

    private func begin(_ hold: CardHold, _ wait: CardWait) throws(TokenError) -> Int {
        try state.withLock { (state) throws(TokenError) in
            state.holds.append(hold)
            state.waits.append(wait)
            switch state.beginnings.popFirst() ?? .wellAndGood {
            case .wellAndGood: break
            case .afterReset: state.epoch += 1
            case .failure(let code): throw TokenError(CardError(code, "as prepared"))
            }
            return state.epoch
        }
    }
}

/// Recognises any card, or none, and counts its attempts.
final class CountingDriver: TokenDriver {
    let name: String
    private let verdict: Result<Bool, TokenError>
    private let count = Atomic(0)

    init(_ name: String = "counting", _ verdict: Result<Bool, TokenError> = .success(true)) {
        self.name = name
        self.verdict = verdict
    }

    var timesAsked: Int { count.load(ordering: .relaxed) }

    func recognize(_ card: inout CardTransaction, atr: ATR) throws(TokenError) -> (any Token)? {
        count.add(1, ordering: .relaxed)
        return try verdict.get() ? NotedToken(driver: name) : nil
    }
}

/// A token that only keeps the notes of a test.
struct NotedToken: Token {
    let driver: String
    var notes: [String] = []
    var pins = PINSession()

    var knownLabel: String? { driver }

    private static let unsupported = TokenError(.unsupported, "this token can do nothing")

    func identity(_ card: inout CardTransaction) throws(TokenError) -> TokenIdentity {
        TokenIdentity(id: TokenID(driver: driver, instance: "1"), label: driver)
    }

    func inventory(_: TokenSelection, _ card: inout CardTransaction) throws(TokenError) -> TokenInventory {
        TokenInventory()
    }

    func facts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact] { [] }

    func status(of pin: PINKind, _ card: inout CardTransaction) throws(TokenError) -> PINStatus {
        PINStatus(triesLeft: nil)
    }

    func verify(_ pin: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction) throws(TokenError) {
        throw Self.unsupported
    }

    func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) {
        throw Self.unsupported
    }

    func unblock(
        with unblockingKey: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) {
        throw Self.unsupported
    }

    func logOut(_ card: inout CardTransaction) throws(TokenError) {}

    func perform(_ operation: TokenOperation, _ card: inout CardTransaction) throws(TokenError) -> Secret {
        throw Self.unsupported
    }

    func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) -> Secret {
        throw Self.unsupported
    }
}
