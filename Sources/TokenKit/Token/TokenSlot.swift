internal import Glibc
internal import Synchronization

/// The one owner of a reader and of the token in it.
///
/// Calls from any number of threads queue here; each holds the card for one transaction. Nobody is asked anything
/// while a call runs, but by a reader or token with keys of its own.
public final class TokenSlot: Sendable {
    /// The reader's name.
    public var name: String { reader.name }

    /// Whether there is a card in the reader. It waits for nobody, and nothing is sent.
    public var hasCard: Bool { reader.hasCard }

    /// What is in the reader, and what tells that another card took its place. It waits for nobody, and nothing is sent.
    public var occupancy: ReaderOccupancy { reader.occupancy }

    /// What the slot is called in PKCS #11: by the module that it is one of, or by this package's own.
    package let cryptokiName: CryptokiSlotName

    private let reader: any CardReader
    private let drivers: [any TokenDriver]
    private let trace: (any CardTrace)?
    private let tellOfBlockedPIN: (@Sendable (_ reader: String) -> Void)?
    private let pinTimeout: @Sendable () -> Duration?
    private let now: @Sendable () -> ContinuousClock.Instant
    private let endOfWaits = CardWait.End()
    private let timedOutPINs = Atomic(0)
    private let state = Mutex(State())

    private struct State: ~Copyable {
        var connection: (any CardConnection)?
        var token: (any Token)?
        /// Set when no driver knows the card, so that it is not probed again while it stays in.
        var refusal: TokenError?
        var insertion = Insertion(number: 0)
        var pin = PresentedPIN.none
        /// Whether a thread waits for the PIN's time to be over.
        var awaitsEndOfPIN = false
        /// Whether the card is to forget a presented PIN before anything else is done with it.
        var owesLogout = false
        /// Whether nobody wants the connection any more but the logout that is owed.
        var isLetGo = false
        /// Whether the service ended while it had the card, and did not have it again since.
        var hasLostService = false
        /// Since when another program holds the card, as far as it was looked; nil where it did not at the last look.
        var heldSince: ContinuousClock.Instant?

        /// What a call that came at `arrival`, and has its turn, waited for the same program that those before it gave up on.
        func wait(since arrival: ContinuousClock.Instant, until end: CardWait.End) -> CardWait {
            CardWait(since: heldSince.map { max($0, arrival) } ?? .now, until: end)
        }
    }

    /// Whether a PIN was presented here, and until when it counts.
    private enum PresentedPIN {
        case none, lasting
        case until(ContinuousClock.Instant)
    }

    /// Tells one insertion of a card into this reader from the next.
    public struct Insertion: Hashable, Sendable {
        let number: Int
    }

    /// - Parameters:
    ///   - drivers: asked in this order whether they know the card.
    ///   - trace: who is told each command and answer.
    ///   - pinTimeout: for how long a PIN counts that is presented now; nil for as long as the card counts it.
    ///   - tellOfBlockedPIN: called when the last try of a PIN was lost here.
    public convenience init(
        reader: any CardReader, drivers: [any TokenDriver], trace: (any CardTrace)? = nil,
        endingPINsAfter pinTimeout: @escaping @Sendable () -> Duration? = { nil },
        tellingOfBlockedPINs tellOfBlockedPIN: (@Sendable (_ reader: String) -> Void)? = nil
    ) {
        self.init(
            CryptokiSlotName(reader: reader.name), reader: reader, drivers: drivers, trace: trace,
            endingPINsAfter: pinTimeout, tellingOfBlockedPINs: tellOfBlockedPIN)
    }

    /// The same by another name in PKCS #11 than that of its reader.
    package init(
        _ cryptokiName: CryptokiSlotName, reader: any CardReader, drivers: [any TokenDriver],
        trace: (any CardTrace)? = nil, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        endingPINsAfter pinTimeout: @escaping @Sendable () -> Duration? = { nil },
        tellingOfBlockedPINs tellOfBlockedPIN: (@Sendable (_ reader: String) -> Void)? = nil
    ) {
        self.cryptokiName = cryptokiName
        self.reader = reader
        self.pinTimeout = pinTimeout
        self.now = now
        self.tellOfBlockedPIN = tellOfBlockedPIN
        self.drivers = drivers
        self.trace = trace
    }

    /// Whether both are one place: a reader that two modules look into.
    package func isSamePlace(as other: TokenSlot) -> Bool {
        let description = cryptokiName.description
        return self === other
            || name != other.name && !description.isEmpty
                && description == other.cryptokiName.description
    }

    /// Whether somebody is told when the last try of a PIN was lost here.
    public var tellsOfBlockedPINs: Bool { tellOfBlockedPIN != nil }

    /// Runs `body` with the token in the reader, whichever it is by now.
    ///
    /// `body` may read, and may be run a second time: after another program reset the card, after the card's application
    /// failed (`6F00`), after a card was exchanged, or after the smart-card service was started anew.
    ///
    /// - Parameter arrival: since when the caller waits, here and in queues of its own.
    public func read<Result: ~Copyable & Sendable>(
        since arrival: ContinuousClock.Instant = .now,
        _ body: (inout any Token, inout CardTransaction, Insertion) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        do {
            return try use(of: nil, .fromTheStart, since: arrival, body)
        } catch  where [.card(.reset), .card(.removed), .card(.serviceUnavailable)].contains(error.code) {
            return try use(of: nil, .fromTheStart, since: arrival, body)
        } catch  where error.status == .noPreciseDiagnosis {
            disconnect(resetting: true)
            return try use(of: nil, .fromTheStart, since: arrival, body)
        }
    }

    /// Runs `body` once, with the token that was there at `insertion`.
    ///
    /// - Parameter arrival: since when the caller waits, here and in queues of its own.
    /// - Throws: ``TokenError`` `.card(.removed)` where the card has been taken out or exchanged since.
    public func perform<Result: ~Copyable & Sendable>(
        at insertion: Insertion, since arrival: ContinuousClock.Instant = .now,
        _ body: (inout any Token, inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        try use(of: insertion, .fromTheStart, since: arrival) { (token, card, _) throws(TokenError) in
            try body(&token, &card)
        }
    }

    /// Runs `body` as ``perform(at:_:)`` does, where it most often sends one command: other programs are kept from the card
    /// from the second one on.
    ///
    /// `body` may be run a second time, after another program reset the card.
    public func performBriefly<Result: ~Copyable & Sendable>(
        at insertion: Insertion, since arrival: ContinuousClock.Instant = .now,
        _ body: (inout any Token, inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        do {
            return try use(of: insertion, .fromTheSecondCommand, since: arrival) {
                (token, card, _) throws(TokenError) in
                try body(&token, &card)
            }
        } catch  where error.code == .card(.reset) {
            return try perform(at: insertion, since: arrival, body)
        }
    }

    /// Whether the card that was there at `insertion` still is. Nothing is sent to it.
    public func holds(_ insertion: Insertion) -> Bool {
        state.withLock { state in
            state.insertion == insertion && state.connection.map(\.isCardPresent) ?? false
        }
    }

    /// Whether somebody uses the card at the moment, this program or another, and may do so for long. It waits for nobody, and
    /// nothing is sent.
    public var isInUse: Bool {
        state.withLockIfAvailable { $0.connection?.isHeldElsewhere ?? false } ?? true
    }

    /// The version of the token that was there at `insertion`, as far as that is known. Nothing is sent to it.
    public func knownVersion(at insertion: Insertion) -> String? {
        state.withLock { $0.insertion == insertion ? $0.token?.knownVersion : nil }
    }

    /// What people call the token that was there at `insertion`, as far as that is known. Nothing is sent to it.
    public func knownLabel(at insertion: Insertion) -> String? {
        state.withLock { $0.insertion == insertion ? $0.token?.knownLabel : nil }
    }

    /// What holds for the PIN of the token that was there at `insertion`. Nothing is sent to it.
    public func pinRules(at insertion: Insertion) -> PINRules {
        state.withLock { $0.insertion == insertion ? $0.token?.pinRules : nil } ?? PINRules()
    }

    /// Whether the PIN of the token that was there at `insertion` can be typed on the reader's own keys. No command is sent.
    public func takesTypedPIN(at insertion: Insertion, since arrival: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            guard state.insertion == insertion, let entry = state.token?.pinRules.entry else { return false }
            return state.connection?.takes(entry, state.wait(since: arrival, until: endOfWaits)) ?? false
        }
    }

    /// Ends every wait for another program, now and from now on, and connects to no card any more: those are for who goes on.
    package func endWaits() { endOfWaits.come() }

    /// Lets go of the card; where it has yet to forget a presented PIN, as soon as it has.
    ///
    /// - Parameter resetting: whether it is reset, so that it forgets a presented PIN.
    public func disconnect(resetting: Bool) {
        state.withLock { state in
            state.isLetGo = state.owesLogout && !resetting
            if !state.isLetGo { TokenSlot.drop(&state, resetting: resetting) }
        }
    }

    /// Has the card that was there at `insertion` forget a presented PIN.
    ///
    /// Where another program holds the card for longer than a second that is made up for: before the card is next used here, and
    /// in any case once it is free, for as long as this process runs and the card answers as cards do.
    ///
    /// - Throws: ``TokenError`` `.card(.inUse)` where it is yet to be done.
    package func logOut(at insertion: Insertion) throws(TokenError) {
        state.withLock { if $0.insertion == insertion, $0.connection != nil { $0.owesLogout = true } }
        do throws(TokenError) {
            let deadline = ContinuousClock.now + .seconds(1)
            while isInUse {
                guard ContinuousClock.now < deadline else {
                    throw TokenError(.card(.inUse), "another program holds the card in '\(name)' (close it or wait)")
                }
                usleep(20_000)
            }
            try payLogout(at: insertion)
        } catch {
            if error.code == .card(.inUse) { BlockingThread.start { [self] in payLogoutLater(at: insertion) } }
            throw error
        }
    }

    private func payLogout(at insertion: Insertion) throws(TokenError) {
        // What is owed comes first in each transaction.
        try perform(at: insertion) { (_, _) throws(TokenError) in }
    }

    private func payLogoutLater(at insertion: Insertion) {
        // A card that answers nothing that makes sense is not asked for ever.
        let limit = 10
        var failures = 0
        while failures < limit, state.withLock({ $0.owesLogout && $0.insertion == insertion }) {
            usleep(100_000)
            guard !isInUse else { continue }
            do throws(TokenError) {
                try payLogout(at: insertion)
            } catch {
                if error.code != .card(.inUse) { failures += 1 }
            }
        }
        state.withLock { state in
            if failures == limit, state.insertion == insertion { state.owesLogout = false }
            if state.isLetGo { TokenSlot.drop(&state) }
        }
    }

    // MARK: - The PIN's time

    /// How often the time of a PIN was over that had been presented here.
    package var timedOutPINCount: Int { timedOutPINs.load(ordering: .acquiring) }

    /// Looks whether the time of the presented PIN is over, unless somebody uses the card at the moment. Nothing is sent.
    package func noticeOverduePIN() {
        _ = state.withLockIfAvailable { endOverduePIN(&$0) }
    }

    /// A PIN whose time is over is taken back before anything else is done with the card.
    private func endOverduePIN(_ state: inout State) {
        guard case .until(let end) = state.pin, end <= now() else { return }
        state.pin = .none
        state.owesLogout = true
        timedOutPINs.add(1, ordering: .acquiringAndReleasing)
    }

    /// The time begins with the first presentation. That the card forgot the PIN by itself neither ends it nor has it begin anew:
    /// a caller who kept the PIN may present it again.
    private func notePIN(_ state: inout State) {
        guard case .none = state.pin else { return }
        guard let timeout = pinTimeout() else { return state.pin = .lasting }
        state.pin = .until(now() + timeout)
        guard !state.awaitsEndOfPIN else { return }
        state.awaitsEndOfPIN = BlockingThread.start { [weak self] in
            // The machine's sleep counts as well, and no thread is awake to see it.
            while let rest = self?.restOfPIN() { usleep(useconds_t(min(rest, .seconds(5)) / .microseconds(1))) }
            self?.payLogoutOfOverduePIN()
        }
    }

    /// How long the PIN still counts; nil once it does not, or does without an end, and for nobody that waits any more.
    private func restOfPIN() -> Duration? {
        state.withLock { state in
            endOverduePIN(&state)
            if case .until(let end) = state.pin { return max(now().duration(to: end), .zero) }
            state.awaitsEndOfPIN = false
            return nil
        }
    }

    private func payLogoutOfOverduePIN() {
        payLogoutLater(at: state.withLock { $0.insertion })
    }

    /// Resets the card, so that it forgets a presented PIN, whichever program presented it.
    ///
    /// What was listed before is to be listed anew.
    public func reset() throws(TokenError) {
        try state.withLock { (state) throws(TokenError) in
            _ = try connect(&state, CardWait(until: endOfWaits))
            TokenSlot.drop(&state, resetting: true)
        }
    }

    private func use<Result: ~Copyable & Sendable>(
        of expected: Insertion?, _ hold: CardHold, since arrival: ContinuousClock.Instant,
        _ body: (inout any Token, inout CardTransaction, Insertion) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        try state.withLock { (state) throws(TokenError) in
            let wait = state.wait(since: arrival, until: endOfWaits)
            do throws(TokenError) {
                let result = try use(&state, of: expected, hold, wait, body)
                state.heldSince = nil
                return result
            } catch {
                state.heldSince = error.code == .card(.inUse) ? state.heldSince ?? wait.start : nil
                if error.code == .card(.serviceUnavailable), state.connection != nil { state.hasLostService = true }
                if TokenSlot.endsConnection(error) { TokenSlot.drop(&state) }
                if error.hasBlockedPIN { tellOfBlockedPIN?(name) }
                throw error
            }
        }
    }

    private func use<Result: ~Copyable & Sendable>(
        _ state: inout State, of expected: Insertion?, _ hold: CardHold, _ wait: CardWait,
        _ body: (inout any Token, inout CardTransaction, Insertion) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        if let expected, state.connection == nil || state.insertion != expected { throw TokenSlot.exchanged }
        if expected == nil { state.isLetGo = false }
        let connection = try connect(&state, wait)
        endOverduePIN(&state)
        // To recognize a card takes several commands.
        let hold = state.token == nil || state.owesLogout ? .fromTheStart : hold
        return try connection.withTransaction(hold, wait) { (card) throws(TokenError) in
            var token = try recognized(&state, &card, atr: connection.atr)
            // What the token learned holds also where the call fails half-way.
            defer {
                state.token = token
                if token.isPINPresented(in: card) { notePIN(&state) }
            }
            if state.owesLogout { try TokenSlot.logOut(&state, &token, &card) }
            return try body(&token, &card, state.insertion)
        }
    }

    private func connect(_ state: inout State, _ wait: CardWait) throws(TokenError) -> any CardConnection {
        if let connection = state.connection { return connection }
        guard !wait.isCalledOff else { throw TokenError(.card(.cancelled), "the program has let go of its cards") }
        let connection = try reach(&state, wait)
        state.connection = connection
        state.insertion = Insertion(number: state.insertion.number + 1)
        return connection
    }

    /// Connects; a service that was started only just now is given a moment to find its readers and what is in them.
    private func reach(_ state: inout State, _ wait: CardWait) throws(TokenError) -> any CardConnection {
        let deadline = ContinuousClock.now + .seconds(2)
        while true {
            do throws(CardError) {
                let connection = try reader.connect(trace: trace, wait)
                state.hasLostService = false
                return connection
            } catch {
                guard state.hasLostService, error.code == .noReader || error.code == .noCard else {
                    throw TokenError(error)
                }
                state.hasLostService = ContinuousClock.now < deadline && !wait.isCalledOff
                usleep(20_000)
            }
        }
    }

    private func recognized(
        _ state: inout State, _ card: inout CardTransaction, atr: ATR
    ) throws(TokenError) -> any Token {
        if let token = state.token { return token }
        if let refusal = state.refusal { throw refusal }
        for driver in drivers {
            if let token = try driver.recognize(&card, atr: atr) { return token }
        }
        let refusal = TokenError(.unrecognized, "no driver knows the card in '\(name)' (answer to reset \(atr))")
        state.refusal = refusal
        throw refusal
    }

    private static func logOut(
        _ state: inout State, _ token: inout any Token, _ card: inout CardTransaction
    ) throws(TokenError) {
        do throws(TokenError) {
            try token.logOut(&card)
        } catch {
            // A card that answers, and knows no way to forget the PIN, would not do so the next time either. It would have to be
            // reset, and no other program is to notice: it is not.
            if case .card = error.code { throw error }
        }
        state.owesLogout = false
        state.pin = .none
    }

    private static func endsConnection(_ error: TokenError) -> Bool {
        switch error.code {
        case .card(.removed), .card(.noCard), .card(.noReader), .card(.muteCard), .card(.serviceUnavailable),
            .card(.communication):
            true
        default: false
        }
    }

    private static func drop(_ state: inout State, resetting: Bool = false) {
        state.connection?.disconnect(resetting: resetting)
        state.connection = nil
        state.token = nil
        state.refusal = nil
        state.pin = .none
        state.owesLogout = false
        state.isLetGo = false
    }

    private static let exchanged = TokenError(
        .card(.removed), "the card has been taken out since it was listed (put it back and ask again)")
}

extension TokenError {
    /// Whether the card has just refused the last try, by its own word.
    fileprivate var hasBlockedPIN: Bool {
        (code == .pinIncorrect || code == .pinBlocked) && triesLeft == 0 && status != nil
    }
}
