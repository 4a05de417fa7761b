import CryptokiNames
import Glibc
import SecureBytes
import Synchronization
import TestSupport
import Testing
import TokenKit

/// The time for which a PIN that this process has presented counts. Keychain semantics 7.5.
@Suite struct PINTimeoutTests {
    private let time = Clock()
    private let card = PINCard()
    private let connection = PreparedConnection()

    private func slot(_ timeout: Duration?, _ connection: PreparedConnection? = nil) -> TokenSlot {
        TokenSlot(
            CryptokiSlotName(reader: "Reader"), reader: PreparedReader(.success(connection ?? self.connection)),
            drivers: [card],
            now: { [time] in time.now }, endingPINsAfter: { PINLimits(total: timeout) })
    }

    private func present(in slot: TokenSlot) throws {
        let pin = PIN("123456")
        let insertion = try slot.read { (token, card, insertion) throws(TokenError) in
            try token.verify(pin, lastTry: .keep, &card)
            return insertion
        }
        slot.beginLogin(with: pin, at: insertion)
    }

    private func counts(in slot: TokenSlot) throws -> Bool {
        try slot.read { (token, _, _) throws(TokenError) in token.pins.isPresented }
    }

    /// The thread that waits for the end of a PIN's time has the slot for moments.
    private func loginState(of slot: TokenSlot) -> PINSession.LoginState {
        while true {
            if let state = slot.loginState { return state }
            sched_yield()
        }
    }

    @Test func withoutATimeAPINCountsForAsLongAsTheCardIsIn() throws {
        let slot = slot(nil)
        try present(in: slot)
        time.advance(by: .seconds(1_000_000))
        #expect(try counts(in: slot))
        #expect(loginState(of: slot) == .lasting)
        #expect(card.logouts == 0)
    }

    @Test func aPINWhoseTimeIsOverIsTakenBackBeforeAnythingElse() throws {
        let slot = slot(.seconds(300))
        try present(in: slot)
        time.advance(by: .seconds(299))
        #expect(try counts(in: slot))
        time.advance(by: .seconds(1))
        #expect(try !counts(in: slot))
        #expect(card.logouts == 1)
        #expect(loginState(of: slot) == .timedOut)
        #expect(try !counts(in: slot))
        #expect(card.logouts == 1, "once is enough")
    }

    @Test func toPresentItAgainDoesNotLengthenItsTime() throws {
        let slot = slot(.seconds(300))
        try present(in: slot)
        time.advance(by: .seconds(200))
        try present(in: slot)
        time.advance(by: .seconds(100))
        #expect(try !counts(in: slot))
    }

    @Test func afterItsTimeAnotherPresentationBeginsAnew() throws {
        let slot = slot(.seconds(300))
        try present(in: slot)
        time.advance(by: .seconds(400))
        try present(in: slot)
        #expect(card.logouts == 1)
        time.advance(by: .seconds(200))
        #expect(try counts(in: slot))
        time.advance(by: .seconds(100))
        #expect(try !counts(in: slot))
        #expect(loginState(of: slot) == .timedOut)
    }

    @Test func aLogoutEndsTheTime() throws {
        let slot = slot(.seconds(300))
        try present(in: slot)
        let insertion = try slot.read { (_, _, insertion) throws(TokenError) in insertion }
        try slot.logOut(at: insertion)
        time.advance(by: .seconds(200))
        try present(in: slot)
        time.advance(by: .seconds(200))
        #expect(try counts(in: slot))
        #expect(loginState(of: slot) == .lasting)
    }

    @Test func whatTheCardForgotByItselfIsOverInTheSameTime() throws {
        let slot = slot(.seconds(300), PreparedConnection(.wellAndGood, .afterReset))
        try present(in: slot)
        #expect(try !counts(in: slot))
        time.advance(by: .seconds(200))
        try present(in: slot)
        time.advance(by: .seconds(100))
        #expect(loginState(of: slot) == .timedOut)
        #expect(try !counts(in: slot))
    }

    @Test func aCardThatIsTakenOutTakesItsPINWithIt() throws {
        let slot = slot(.seconds(300))
        try present(in: slot)
        slot.disconnect(resetting: false)
        time.advance(by: .seconds(300))
        #expect(loginState(of: slot) == .none)
        #expect(card.logouts == 0)
    }

    @Test func theCardForgetsItInTimeThoughNobodyUsesIt() throws {
        let slot = TokenSlot(
            reader: PreparedReader(.success(connection)), drivers: [card],
            endingPINsAfter: { PINLimits(total: .milliseconds(50)) })
        try present(in: slot)
        #expect(eventually { card.logouts == 1 })
        #expect(loginState(of: slot) == .timedOut)
    }

    @Test func aSlotThatNobodyHasAnyMoreIsNotKeptForItsPIN() throws {
        var kept: TokenSlot? = TokenSlot(
            reader: PreparedReader(.success(connection)), drivers: [card],
            endingPINsAfter: { PINLimits(total: .seconds(2)) })
        weak let slot = kept
        try present(in: #require(kept))
        kept = nil
        #expect(eventually { slot == nil })
    }
}

/// A clock that only the test moves.
private final class Clock: Sendable {
    private let instant = Mutex(ContinuousClock.now)

    var now: ContinuousClock.Instant { instant.withLock { $0 } }

    func advance(by duration: Duration) { instant.withLock { $0 += duration } }
}

/// A card that accepts any PIN, and counts the logouts.
private final class PINCard: TokenDriver {
    let name = "pin"
    private let count = Atomic(0)

    var logouts: Int { count.load(ordering: .relaxed) }

    func recognize(_ card: inout CardTransaction, atr: ATR) -> (any Token)? { PINToken(card: self) }

    func logOut() { count.add(1, ordering: .relaxed) }
}

private struct PINToken: Token {
    let card: PINCard
    var pins = PINSession()
    private var base: NotedToken { NotedToken(driver: "pin") }

    init(card: PINCard) { self.card = card }

    mutating func verify(_ pin: borrowing PIN, lastTry: LastTry, _: inout CardTransaction) {
        pins.accepted(pin, as: .pin)
    }
    func logOut(_: inout CardTransaction) { card.logOut() }

    func identity(_ transaction: inout CardTransaction) throws(TokenError) -> TokenIdentity {
        try base.identity(&transaction)
    }

    func inventory(_: TokenSelection, _: inout CardTransaction) -> TokenInventory { TokenInventory() }
    func facts(_: inout CardTransaction) -> [TokenFact] { [] }
    func status(of pin: PINKind, _: inout CardTransaction) -> PINStatus { PINStatus(triesLeft: nil) }

    func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry,
        _ transaction: inout CardTransaction
    ) throws(TokenError) {
        try base.change(kind, from: old, to: new, lastTry: lastTry, &transaction)
    }

    func unblock(
        with key: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, _ transaction: inout CardTransaction
    ) throws(TokenError) {
        try base.unblock(with: key, newPIN: newPIN, lastTry: lastTry, &transaction)
    }

    func perform(_ operation: TokenOperation, _ transaction: inout CardTransaction) throws(TokenError) -> Secret {
        try base.perform(operation, &transaction)
    }

    func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry,
        _ transaction: inout CardTransaction
    ) throws(TokenError) -> Secret {
        try base.perform(operation, presenting: pin, lastTry: lastTry, &transaction)
    }
}
