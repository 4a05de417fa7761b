public import CryptokiNames
internal import Glibc
public import SecureBytes
internal import Synchronization

/// The uses of a shared PIN for which a person's permission is wanted.
package enum PINPermission: Sendable {
    case none
    /// A client's uses of a PIN that another one gave.
    case forPINsOfOthers
    /// Each use by a client, also where its person gave the PIN.
    case forEachUse
}

/// The one owner of a reader and of the token in it, as one client has it.
///
/// Calls from several threads queue here, and each holds the card for one transaction. Only a reader or token with keys of its
/// own asks a person for something during a call. The slots of several clients may share the connection to the card, and its PIN
/// (``init(sharing:waitsOnce:)``); each has waits and a login of its own.
public final class TokenSlot: Sendable {
    /// The reader's name.
    public var name: String { reader.name }

    /// Whether another program held the card at the last look. Does not wait, and sends nothing.
    public var isHeldElsewhere: Bool { shared.state.withLockIfAvailable { $0.heldSince != nil } ?? false }

    /// The reader's state, and a count that shows an exchange of the card. Does not wait, and sends nothing.
    public var occupancy: ReaderOccupancy { reader.occupancy }

    public let cryptokiName: CryptokiSlotName

    private let reader: any CardReader
    private let drivers: [any TokenDriver]
    private let trace: (any CardTrace)?
    private let tellOfBlockedPIN: (@Sendable (_ reader: String) -> Void)?
    private let tellNews: TokenNews.Listener?
    /// The limits of the time for which a PIN that is presented now stays valid.
    let pinLimits: @Sendable () -> PINLimits
    let now: @Sendable () -> ContinuousClock.Instant
    /// Whether a card is not waited for again after a wait in vain.
    private let waitsOnce: Bool
    public let keepsPIN: Bool
    let permission: PINPermission
    private let cancellation = CardWait.Cancellation()
    let shared: Shared
    /// The client among those that share the card.
    let client: PINClient
    /// The error of a wait in vain, for all further calls of the client.
    private let givenUp = Mutex<TokenError?>(nil)

    /// - Parameters:
    ///   - drivers: asked in this order whether they know the card.
    ///   - trace: a listener for each command and answer.
    ///   - keepsPIN: whether an accepted PIN is kept, so that it is presented again for each client where the card wants it.
    ///   - pinLimits: the limits of the time for which a PIN that is presented now stays valid.
    ///   - waitsOnce: whether a card that was held by another program, or silent, for a whole wait is not waited for again. A
    ///     command asks for the card in several places.
    ///   - tellOfBlockedPIN: called when the last try of a PIN was lost here.
    ///   - tellNews: told of the card what the person at the machine should know.
    public convenience init(
        reader: any CardReader, drivers: [any TokenDriver], trace: (any CardTrace)? = nil, waitsOnce: Bool = false,
        keepingPIN keepsPIN: Bool = false, endingPINsAfter pinLimits: @escaping @Sendable () -> PINLimits = { .none },
        tellingOfBlockedPINs tellOfBlockedPIN: (@Sendable (_ reader: String) -> Void)? = nil,
        tellingNews tellNews: TokenNews.Listener? = nil
    ) {
        self.init(
            CryptokiSlotName(reader: reader.name), reader: reader, drivers: drivers, trace: trace,
            waitsOnce: waitsOnce, keepingPIN: keepsPIN, endingPINsAfter: pinLimits,
            tellingOfBlockedPINs: tellOfBlockedPIN, tellingNews: tellNews)
    }

    /// Makes a slot with another name in PKCS #11 than that of its reader.
    package init(
        _ cryptokiName: CryptokiSlotName, reader: any CardReader, drivers: [any TokenDriver],
        trace: (any CardTrace)? = nil, waitsOnce: Bool = false, keepingPIN keepsPIN: Bool = false,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        endingPINsAfter pinLimits: @escaping @Sendable () -> PINLimits = { .none },
        tellingOfBlockedPINs tellOfBlockedPIN: (@Sendable (_ reader: String) -> Void)? = nil,
        tellingNews tellNews: TokenNews.Listener? = nil
    ) {
        self.cryptokiName = cryptokiName
        self.reader = reader
        self.pinLimits = pinLimits
        self.now = now
        self.tellOfBlockedPIN = tellOfBlockedPIN
        self.tellNews = tellNews
        self.drivers = drivers
        self.trace = trace
        self.waitsOnce = waitsOnce
        self.keepsPIN = keepsPIN
        permission = keepsPIN ? .forPINsOfOthers : .none
        shared = Shared(keepingPIN: keepsPIN)
        client = shared.newClient()
        shared.firstSlot = self
    }

    /// Makes the slot of another client, which has the card and its PIN in common with an existing slot.
    ///
    /// - Parameter tellNews: told of the card what the person at the machine should know, for this client's calls.
    package init(
        sharing other: TokenSlot, waitsOnce: Bool = false, permission: PINPermission = .forPINsOfOthers,
        tellingNews tellNews: TokenNews.Listener? = nil
    ) {
        (cryptokiName, reader, drivers, trace) = (other.cryptokiName, other.reader, other.drivers, other.trace)
        (pinLimits, now, tellOfBlockedPIN) = (other.pinLimits, other.now, other.tellOfBlockedPIN)
        (keepsPIN, shared) = (other.keepsPIN, other.shared)
        self.permission = permission
        self.waitsOnce = waitsOnce
        self.tellNews = tellNews
        client = shared.newClient()
    }

    deinit { release() }

    /// Whether the loss of a PIN's last try here is reported to other programs.
    public var tellsOfBlockedPINs: Bool { tellOfBlockedPIN != nil }

    /// Runs `body` with the token that is in the reader now.
    ///
    /// `body` may read, and may be run a second time: after another program reset the card, after the card's application failed
    /// (`6F00`), after the card was exchanged, or after the smart-card service was restarted.
    ///
    /// - Parameter arrival: the time since which the caller waits, its own queues included.
    public func read<Result: ~Copyable & Sendable>(
        since arrival: ContinuousClock.Instant = .now,
        _ body: (inout any Token, inout CardTransaction, TokenInsertion) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        var hasBegun = false
        do {
            return try use(of: nil, .fromTheStart, since: arrival) { (token, card, insertion) throws(TokenError) in
                hasBegun = true
                return try body(&token, &card, insertion)
            }
        } catch  where [.card(.reset), .card(.removed), .card(.serviceUnavailable)].contains(error.code) {
            return try use(of: nil, .fromTheStart, since: arrival, isRepetition: hasBegun, body)
        } catch  where error.status == .noPreciseDiagnosis {
            disconnect(resetting: true)
            return try use(of: nil, .fromTheStart, since: arrival, isRepetition: hasBegun, body)
        }
    }

    /// Runs `body` once, with the token that was there at `insertion`.
    ///
    /// - Throws: ``TokenError`` `.card(.removed)` where the card has been taken out or exchanged since.
    public func perform<Result: ~Copyable & Sendable>(
        at insertion: TokenInsertion,
        _ body: (inout any Token, inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        try use(of: insertion, .fromTheStart, since: insertion.arrival) { (token, card, _) throws(TokenError) in
            try body(&token, &card)
        }
    }

    /// Runs `body` as ``perform(at:_:)`` does, also where the card's content has been changed since `insertion`: for PINs, the
    /// management key and changes, which need no list of objects, and for keys that are named with their public key.
    func performOnCard<Result: ~Copyable & Sendable>(
        of insertion: TokenInsertion,
        _ body: (inout any Token, inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        try use(of: insertion, allowsChanges: true, .fromTheStart, since: insertion.arrival) {
            (token, card, _) throws(TokenError) in
            try body(&token, &card)
        }
    }

    /// Runs `body` as ``perform(at:_:)`` does, but keeps other programs from the card only from the second command on. For bodies
    /// that mostly send one command.
    ///
    /// `body` may be run a second time, after another program reset the card.
    ///
    /// - Parameter allowsChanges: whether the card's content may have been changed since `insertion`.
    public func performBriefly<Result: ~Copyable & Sendable>(
        at insertion: TokenInsertion, allowingChanges allowsChanges: Bool = false,
        _ body: (inout any Token, inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        func use(_ hold: CardHold) throws(TokenError) -> Result {
            try self.use(of: insertion, allowsChanges: allowsChanges, hold, since: insertion.arrival) {
                (token, card, _) throws(TokenError) in
                try body(&token, &card)
            }
        }
        do { return try use(.fromTheSecondCommand) } catch  where error.code == .card(.reset) {
            return try use(.fromTheStart)
        }
    }

    /// Whether the card that was there at `insertion` still is. Nothing is sent to it.
    public func holds(_ insertion: TokenInsertion) -> Bool {
        shared.state.withLock { state in
            state.insertion == insertion && state.connection.map(\.isCardPresent) ?? false
        }
    }

    /// Whether a program uses the card at the moment, this one or another, and may do so for long. Does not wait, and
    /// sends nothing.
    public var isInUse: Bool {
        shared.state.withLockIfAvailable { $0.connection?.isHeldElsewhere ?? false } ?? true
    }

    public func knownFacts(at insertion: TokenInsertion) -> KnownTokenFacts? {
        let facts = shared.state.withLockIfAvailable { state in
            state.insertion == insertion ? state.token.map { KnownTokenFacts($0) } : nil
        }
        return facts ?? nil
    }

    /// The label of the token that was there at `insertion`, if it is known. Nothing is sent to the token.
    public func knownLabel(at insertion: TokenInsertion) -> String? {
        shared.state.withLock { $0.hasCard(of: insertion) ? $0.token?.knownLabel : nil }
    }

    /// The rules for the PIN of the token that was there at `insertion`. Nothing is sent to the token.
    public func pinRules(at insertion: TokenInsertion) -> PINRules {
        shared.state.withLock { $0.hasCard(of: insertion) ? $0.token?.pinRules : nil } ?? PINRules()
    }

    /// The part of the token at `insertion` to read for objects with a `CKA_ID`; nil where no object can have it. Sends nothing.
    public func selection(ofCryptokiID id: [UInt8], at insertion: TokenInsertion) -> TokenSelection? {
        shared.state.withLock { state in
            guard state.insertion == insertion, let token = state.token else { return .all }
            return token.selection(ofCryptokiID: id)
        }
    }

    /// Checks whether a value may be a PIN or unblocking key of the token that was there at `insertion`. Nothing is sent to it.
    ///
    /// - Throws: ``TokenError`` `.pinFormat` for a value that the token would refuse.
    public func checkFormat(
        of pin: borrowing PIN, as kind: PINKind, at insertion: TokenInsertion
    ) throws(TokenError) {
        let token = shared.state.withLock { $0.hasCard(of: insertion) ? $0.token : nil }
        try token?.checkFormat(of: pin, as: kind)
    }

    /// Whether the PIN of the token that was there at `insertion` can be typed on the reader's own keys. No command is sent.
    public func takesTypedPIN(at insertion: TokenInsertion) -> Bool {
        let arrival = insertion.arrival ?? .now
        return shared.state.withLock { state in
            guard state.hasCard(of: insertion), let entry = state.token?.pinRules.entry else { return false }
            return state.connection?.takes(entry, state.wait(since: arrival, unless: cancellation)) ?? false
        }
    }

    /// Cancels waits for other programs permanently, after which no card is connected to.
    public func endWaits() { cancellation.cancel() }

    /// Resets the card, so that it forgets a presented PIN, whichever program presented it.
    ///
    /// Objects that were listed before must be listed again.
    public func reset() throws(TokenError) {
        try shared.state.withLock { (state) throws(TokenError) in
            _ = try connect(&state, CardWait(unless: cancellation))
            TokenSlot.drop(&state, resetting: true)
        }
    }

    /// - Parameter isRepetition: whether the caller has had a card, so that an empty reader means a removed card.
    private func use<Result: ~Copyable & Sendable>(
        of expected: TokenInsertion?, allowsChanges: Bool = false, _ hold: CardHold,
        since arrival: ContinuousClock.Instant?, isRepetition: Bool = false,
        _ body: (inout any Token, inout CardTransaction, TokenInsertion) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        let arrival = arrival ?? .now
        return try shared.state.withLock { (state) throws(TokenError) in
            if let givenUp = givenUp.withLock(\.self) { throw givenUp }
            let wait = state.wait(since: arrival, unless: cancellation)
            if let expected {
                guard state.hasCard(of: expected), allowsChanges || state.insertion == expected else {
                    throw TokenSlot.exchanged
                }
            } else {
                state.isLetGo = false
            }
            let beginning = now()
            do throws(TokenError) {
                let result = try use(&state, hold, wait, body)
                state.heldSince = nil
                return result
            } catch {
                let kindOfPIN = state.pins.lastSent
                state.heldSince = error.code == .card(.inUse) ? state.heldSince ?? wait.start : nil
                if error.code == .card(.serviceUnavailable), state.connection != nil { state.hasLostService = true }
                if TokenSlot.endsConnection(error) { TokenSlot.drop(&state) }
                if waitsOnce, isWaitInVain(error, since: beginning) { givenUp.withLock { $0 = error } }
                if error.hasBlockedPIN { tellOfBlockedPIN?(name) }
                if let news = TokenNews(error, sending: kindOfPIN) { tellNews?(news, name) }
                throw isRepetition && error.code == .card(.noCard) ? takenOut : error
            }
        }
    }

    private func use<Result: ~Copyable & Sendable>(
        _ state: inout State, _ hold: CardHold, _ wait: CardWait,
        _ body: (inout any Token, inout CardTransaction, TokenInsertion) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        let endNotice = TokenSlot.noticeOfThread?(name)
        defer { endNotice?() }
        let connection = try connect(&state, wait)
        endOverduePIN(&state)
        // Recognising a card takes several commands.
        let hold = state.token == nil || state.pins.logoutPending ? .fromTheStart : hold
        return try connection.withTransaction(hold, wait) { (card) throws(TokenError) in
            endNotice?()
            var token = try takeRecognized(&state, &card, atr: connection.atr)
            // The PIN state is moved, not copied, so that a PIN which is forgotten later is in no second place.
            swap(&token.pins, &state.pins)
            token.pins.beginTransaction(epoch: card.epoch)
            // The token's state is kept also where the call fails half-way, since it was read before the failure.
            defer {
                swap(&token.pins, &state.pins)
                state.token = token
                if state.pins.wantsTerm { beginTerm(&state) }
            }
            if token.pins.logoutPending { state.logoutRefusal = try TokenSlot.logOut(&token, &card) }
            return try body(&token, &card, state.insertion)
        }
    }

    private func connect(_ state: inout State, _ wait: CardWait) throws(TokenError) -> any CardConnection {
        if let connection = state.connection {
            state.users.insert(client)
            return connection
        }
        guard !wait.isCancelled else {
            throw TokenError(.card(.cancelled), "the program has closed its connections to cards")
        }
        let connection = try reach(&state, wait)
        state.connection = connection
        state.users = [client]
        state.insertion = TokenInsertion(number: state.insertion.number + 1)
        state.firstInsertion = state.insertion
        return connection
    }

    /// Connects. A service that has just restarted gets up to 2 s to find its readers and their cards.
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
                state.hasLostService = ContinuousClock.now < deadline && !wait.isCancelled
                usleep(20_000)
            }
        }
    }

    /// Takes the token out of the state, so that it is changed in place and not copied; or recognises the card.
    private func takeRecognized(
        _ state: inout State, _ card: inout CardTransaction, atr: ATR
    ) throws(TokenError) -> any Token {
        if let token = state.token.take() { return token }
        if let refusal = state.refusal { throw refusal }
        for driver in drivers {
            if let token = try driver.recognize(&card, atr: atr) { return token }
        }
        let refusal = TokenError(.unrecognized, "no driver knows the card in '\(name)' (answer to reset \(atr))")
        state.refusal = refusal
        tellNews?(.unusable(refusal), name)
        throw refusal
    }

    private static func endsConnection(_ error: TokenError) -> Bool {
        switch error.code {
        case .card(.removed), .card(.noCard), .card(.noReader), .card(.muteCard), .card(.serviceUnavailable),
            .card(.communication):
            true
        default: false
        }
    }

    /// Whether a call waited for the card for 5 s or longer, in vain.
    private func isWaitInVain(_ error: TokenError, since beginning: ContinuousClock.Instant) -> Bool {
        let codes: [TokenError.Code] = [.card(.inUse), .card(.muteCard), .card(.communication)]
        return codes.contains(error.code) && now() - beginning >= .seconds(5)
    }

    static func drop(_ state: inout State, resetting: Bool = false) {
        state.connection?.disconnect(resetting: resetting)
        state.connection = nil
        state.token = nil
        state.refusal = nil
        state.pins = state.pins.withoutCard()
        state.users = []
        state.isLetGo = false
    }

    private var takenOut: TokenError {
        TokenError(.card(.removed), "the card was taken out of '\(name)' while it was read (put it back and ask again)")
    }

    private static let exchanged = TokenError(
        .card(.removed),
        "the card was taken out, or changed by another program, since it was listed (ask again once it is in)")
}
