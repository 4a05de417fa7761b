internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

/// A reader as the place of a token.
///
/// Facts that were read of a card are kept while it stays in, so that a search costs no command.
final class CardPlace: HostedPlace {
    let slot: any TokenBackend
    /// Serialises questions for the PIN. Only threads that would ask too wait here.
    let questionGate = Mutex(())
    /// The number of PINs that a person gave for the use of a key, and the card took.
    let answers = Atomic(0)
    /// The facts that other clients of the host have read of cards.
    let knownCards: KnownCards?
    /// Tells a person to touch the card.
    let touchPrompter: any Prompter
    let log: @Sendable (String) -> Void
    let state = Mutex(State())
    /// The number of different cards so far.
    let generations = Atomic(0)
    let logins = Atomic(0)
    /// The number of the present login; 0 for none. It is written under the lock of the state, and read without it.
    let currentLogin = Atomic(0)
    /// The number of the present login as administrator, likewise.
    let currentAdministration = Atomic(0)
    /// The last snapshot of the facts, for calls while the card is in use; nil where no card is known.
    let seen = Mutex<Card?>(nil)

    struct State: ~Copyable {
        var card: Card?
        var login = Login()
        var administration: Administration?
        /// The time at which the present call began to wait for the state.
        var arrival = ContinuousClock.now
    }

    /// The facts about the inserted card.
    struct Card {
        /// The insertion; nil for a card that another client has read, and to which this one is not connected.
        var insertion: TokenInsertion?
        let occupancy: ReaderOccupancy
        /// The insertion for all clients of the host; nil where it is unknown.
        let place: CardInsertion?
        /// The time at which the first of the facts was read.
        var readingBegan = ContinuousClock.now
        var identity: TokenIdentity?
        /// The version of the firmware, if known.
        var version: String?
        var keyLimits: TokenKeyLimits?
        /// The bytes that the card's PIN may have.
        var pinLengths = 0...255
        /// All items of the card, once they have been read; data objects are in ``data``.
        var items: [Item]?
        /// The keys that were read, whether or not all items were.
        var keys: [PersistentReference: Item] = [:]
        /// The data objects that need no PIN.
        var data = CardData()
        /// The state of the PIN, and the time at which it was read.
        var pinStatus: (status: PINStatus, asked: ContinuousClock.Instant)?
        /// Whether the PIN could be typed on the reader at the last check.
        var hasPINPad = false
        /// Whether typing on the reader failed the last time. Clients are not told of the reader's keys then, but may still use
        /// them.
        var hasPINPadFailed = false
    }

    /// A login. It ends when the card is taken out. Its PIN is in the slot's `PINSession`.
    struct Login {
        /// Whether the client gave the PIN, and no person was asked.
        var isPINFromClient = false
        /// The data objects that need the PIN.
        var data = CardData()
    }

    /// The client as the card's administrator. It ends with the login, when the card is taken out, or another program changes the card's
    /// content.
    struct Administration: ~Copyable {
        let administrator: TokenAdministrator
        /// The card when it began.
        let status: ManagementKeyStatus
    }

    init(
        _ slot: any TokenBackend, _ knownCards: KnownCards?, _ touchPrompter: any Prompter,
        log: @escaping @Sendable (String) -> Void
    ) {
        self.touchPrompter = touchPrompter
        self.slot = slot
        self.knownCards = knownCards
        self.log = log
    }

    var name: String { slot.name }
    var hasKeptPIN: Bool { slot.hasKeptPIN }

    var keychain: any Keychain { TokenKeychain(slot) }

    var place: TokenPlace {
        TokenPlace(.card, at: name, name: name, slotName: slot.cryptokiName, occupancy: occupancy)
    }

    var occupancy: TokenPlace.Occupancy {
        let occupancy = slot.occupancy
        return TokenPlace.Occupancy(hasToken: occupancy.hasCard, changeCount: occupancy.changeCount)
    }

    func describe(_ facts: TokenFacts) throws(KeychainError) -> TokenDescription {
        var card: Card?
        if facts.contains(.pin), slot.isInUse, let last = lastSnapshot {
            card = last
        } else if !facts.isDisjoint(with: [.name, .pin]) {
            card = try atOnce({ state throws(KeychainError) in try read(facts, &state) }, or: { $0 })
        }
        var description = TokenDescription(generation: generation, login: facts.contains(.login) ? login : nil)
        description.name = card?.identity.map { CryptokiTokenName($0) }
        if facts.contains(.pin) { description.pin = card?.pin }
        if facts.contains(.keyLimits) {
            description.keyLimits =
                try? atOnce({ state throws(KeychainError) in try keyLimits(&state) }, or: \.keyLimits)
        }
        return description
    }

    /// The present card, whose identity is known. Sessions go on only with a card that is known to be the same.
    private func read(_ facts: TokenFacts, _ state: inout State) throws(KeychainError) -> Card? {
        _ = try identity(&state, withPINStatus: facts.contains(.pin))
        if facts.contains(.pin) {
            _ = try? pinStatus(&state)
            let hasPINPad = self.hasPINPad(state) && state.card?.hasPINPadFailed != true
            state.card?.hasPINPad = hasPINPad
        }
        if facts.contains(.pin) || seen.withLock({ $0 == nil }) { note(state) }
        return state.card
    }

    private func keyLimits(_ state: inout State) throws(KeychainError) -> TokenKeyLimits {
        if let known = try present(&state).keyLimits { return known }
        let limits = try reading(&state) { (insertion) throws(TokenError) in try slot.keyLimits(at: insertion) }
        state.card?.keyLimits = limits
        noteReading(state)
        return limits
    }

    // MARK: The card

    /// Runs `body` once the state is free. The wait for it counts towards the limit of the wait for the card.
    func inTurn<Result: ~Copyable>(
        _ body: (inout sending State) throws(KeychainError) -> sending Result
    ) throws(KeychainError) -> sending Result {
        let arrival = ContinuousClock.now
        return try state.withLock { state throws(KeychainError) in
            state.arrival = arrival
            noticeTimeOut(&state)
            return try body(&state)
        }
    }

    /// Runs `body`, or answers from the last snapshot where `body` would have to wait.
    private func atOnce<Result>(
        _ body: (inout sending State) throws(KeychainError) -> sending Result, or known: (Card) -> Result?
    ) throws(KeychainError) -> Result {
        let result = try state.withLockIfAvailable { state throws(KeychainError) in
            state.arrival = .now
            noticeTimeOut(&state)
            return try body(&state)
        }
        if let result { return result }
        if let known = lastSnapshot.flatMap(known) { return known }
        return try inTurn(body)
    }

    /// The generation at the last look. Does not wait.
    var generation: Int { generations.load(ordering: .acquiring) }

    /// The last snapshot of the inserted card, for calls while the card waits for a person's touch. The reader shows whether it
    /// is still the same card.
    private var lastSnapshot: Card? {
        let now = slot.occupancy
        return seen.withLock { $0 }.flatMap { now.hasCard && $0.occupancy == now ? $0 : nil }
    }

    private func note(_ state: borrowing State) {
        let card = state.card
        seen.withLock { $0 = card }
        tellOthers(state)
    }

    /// Keeps the facts in the snapshot, for calls while the card is in use.
    func noteReading(_ state: borrowing State) {
        guard let card = state.card else { return }
        seen.withLock { if $0 != nil { $0 = card } }
        tellOthers(state)
    }

    private func tellOthers(_ state: borrowing State) {
        if let knownCards, let card = state.card { knownCards.note(card, in: name) }
    }

    /// The state of the PIN. Clients ask several times in a row, so that an answer is reused for a moment, unless a PIN is
    /// presented or changed.
    private func pinStatus(_ state: inout State) throws(KeychainError) -> PINStatus {
        let patience = (state.card?.insertion == nil ? knownCards?.patience : nil) ?? .seconds(1)
        if let known = state.card?.pinStatus, known.asked.duration(to: .now) < patience { return known.status }
        let status = try reading(&state) { (insertion) throws(TokenError) in
            try slot.status(of: .pin, at: insertion, isBeforePIN: false)
        }
        state.card?.pinStatus = (status, .now)
        return status
    }

    // MARK: Items

    func items(_ selection: TokenItemSelection) throws(KeychainError) -> Outcome<[Item]> {
        // There are no secret keys on a card.
        let hasItems = !selection.kinds.subtracting(.secretKeys).isEmpty
        return try atOnce(
            { state throws(KeychainError) in
                let found = hasItems ? try objects(selection, &state) : []
                return Outcome(found + (try data(selection.data, &state)))
            },
            or: { card in
                // The presence of data objects may have to be read from the card.
                guard selection.data == .none else { return nil }
                return hasItems ? card.items.map { Outcome($0) } : .some(Outcome([]))
            })
    }

    func objects(_ selection: TokenItemSelection, _ state: inout State) throws(KeychainError) -> [Item] {
        if let known = try present(&state).items { return known }
        guard let part = part(selection, of: try connection(&state)) else { return [] }
        var (inventory, knownData) = try reading(&state) { (insertion) throws(TokenError) in
            try slot.inventory(part, at: insertion)
        }
        // A key that only attests is useless to programs, and ssh would offer it to servers.
        inventory.objects.removeAll { $0.key?.usage.isEmpty == true }
        let items = try itemMaker(&state).all(of: inventory)
        for item in items where item.itemClass == .key { state.card?.keys[item.reference] = item }
        if part == .all {
            for object in knownData { state.card?.data.learn(.present, of: object) }
            if inventory.failures.isEmpty { state.card?.items = items }
            noteReading(state)
        }
        return items
    }

    func itemMaker(_ state: inout State) throws(KeychainError) -> TokenItems {
        TokenItems(identity: try identity(&state), name: name)
    }

    /// The part of the card to read; nil for none.
    private func part(_ wanted: TokenItemSelection, of insertion: TokenInsertion) -> TokenSelection? {
        if let object = wanted.reference?.tokenObject { return .object(object) }
        guard let id = wanted.cryptokiID else { return .all }
        let selection = slot.selection(ofCryptokiID: id, at: insertion)
        guard case .object(let object) = selection, !wanted.kinds.contains(.certificates) else { return selection }
        return wanted.kinds.contains(.publicKeys) ? .key(object) : .privateKey(object)
    }
}

extension CardPlace.Card {
    fileprivate var pin: TokenPIN {
        TokenPIN(
            isReadOnly: true, needsLogin: true, canAsk: hasPINPad, triesLeft: pinStatus?.status.triesLeft,
            maximumTries: pinStatus?.status.maximumTries, lengths: pinLengths, version: identity?.version ?? version)
    }
}
