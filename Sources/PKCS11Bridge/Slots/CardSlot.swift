internal import CryptokiNames
internal import PKCS11Mechanisms
internal import CCryptoki
internal import KeychainHost
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

/// A reader, and the card in it.
///
/// Facts that were read of a card are kept while it stays in, so that a search costs no command. Sessions belong to the card:
/// they go on when it is put back, and end when another is inserted.
final class CardSlot: Slot {
    let id: CK_SLOT_ID
    let promptPolicy: PromptPolicy

    let slot: any TokenBackend
    let sessionGate = Gate()
    /// Serialises questions for the PIN. Only threads that would ask too wait here.
    let questionGate = Gate()
    let filter: TokenFilter
    /// The facts that other programs of the host have read of cards.
    let knownCards: KnownCards?
    let log: Log
    let state = Mutex(State())
    /// The number of different cards so far.
    let generations = Atomic(0)
    let logins = Atomic(0)
    /// The number of the present login; 0 for none. It is written under the lock of the state, and read without it.
    let currentLogin = Atomic(0)
    /// The last snapshot; nil where no card is known.
    let seen = Mutex<Snapshot?>(nil)

    /// The reader's state, the card's description of itself, and the facts read of it.
    struct Snapshot {
        var card: Card
        let info: TokenInfo
    }

    struct State: ~Copyable {
        var card: Card?
        var login = Login()
        /// The time at which the present call began to wait for the state.
        var arrival = ContinuousClock.now
    }

    /// The facts about the inserted card.
    struct Card {
        /// The insertion; nil for a card that another program has read, and to which this one is not connected.
        var insertion: TokenInsertion?
        let occupancy: ReaderOccupancy
        /// The insertion for all programs of the host; nil where it is unknown.
        let place: CardInsertion?
        /// The time at which the first of the facts was read.
        var readingBegan = ContinuousClock.now
        var identity: TokenIdentity?
        /// The version of the firmware, if known.
        var version: String?
        var keyLimits: TokenKeyLimits?
        /// The bytes that the card's PIN may have.
        var pinLengths = 0...255
        /// All objects of the card, once they have been read; data objects are in ``data``.
        var objects: [CryptokiObject]?
        /// The data objects that need no PIN.
        var data = CardData()
        /// The state of the PIN, and the time at which it was read.
        var pinStatus: (status: PINStatus, asked: ContinuousClock.Instant)?
        /// Whether the PIN could be typed on the reader at the last check.
        var hasPINPad = false
        /// Whether typing on the reader failed the last time. Programs are not told of the reader's keys then, but may still use
        /// them.
        var hasPINPadFailed = false
    }

    /// A login. It ends when the card is taken out. Its PIN is in the slot's `PINSession`.
    struct Login {
        /// Whether the program gave the PIN, and no person was asked.
        var isPINFromProgram = false
        /// The data objects that need the PIN.
        var data = CardData()
    }

    init(
        _ id: CK_SLOT_ID, _ slot: any TokenBackend, _ filter: TokenFilter, _ promptPolicy: PromptPolicy,
        _ knownCards: KnownCards?,
        _ log: Log
    ) {
        self.id = id
        self.slot = slot
        self.filter = filter
        self.promptPolicy = promptPolicy
        self.knownCards = knownCards
        self.log = log
    }

    var name: String { slot.name }

    var info: SlotInfo {
        SlotInfo(
            slot.cryptokiName,
            flags: CKF_REMOVABLE_DEVICE | CKF_HW_SLOT | (hasToken ? CKF_TOKEN_PRESENT : 0))
    }

    var occupancy: ReaderOccupancy {
        let occupancy = slot.occupancy
        guard occupancy.hasCard, !filter.wantsAllCards else { return occupancy }
        let isWanted = (try? generation()) != nil
        return ReaderOccupancy(hasCard: isWanted, changeCount: occupancy.changeCount)
    }

    /// The mechanisms of the keys that the inserted card may have.
    var mechanisms: [Mechanism] {
        let limits = try? atOnce({ state throws(CryptokiError) in try keyLimits(&state) }, or: \.card.keyLimits)
        return MechanismTable.mechanisms(ofCard: limits ?? .unknown)
    }

    var possibleMechanisms: [Mechanism] { MechanismTable.mechanismsOfAnyCard }

    private func keyLimits(_ state: inout State) throws(CryptokiError) -> TokenKeyLimits {
        if let known = try present(&state).keyLimits { return known }
        let limits = try reading(&state) { (insertion) throws(TokenError) in try slot.keyLimits(at: insertion) }
        state.card?.keyLimits = limits
        noteReading(state)
        return limits
    }

    // MARK: The card

    /// Runs `body` for a session, whose card was in when the session was opened.
    func inSession<Result: ~Copyable>(
        _ body: (inout sending State) throws(CryptokiError) -> sending Result
    ) throws(CryptokiError) -> sending Result {
        do throws(CryptokiError) { return try inTurn(body) } catch { throw error.inSession }
    }

    /// Runs `body` once the state is free. The wait for it counts towards the limit of the wait for the card.
    private func inTurn<Result: ~Copyable>(
        _ body: (inout sending State) throws(CryptokiError) -> sending Result
    ) throws(CryptokiError) -> sending Result {
        let arrival = ContinuousClock.now
        return try state.withLock { state throws(CryptokiError) in
            state.arrival = arrival
            noticeTimeOut(&state)
            return try body(&state)
        }
    }

    /// Runs `body`, or answers from the last snapshot where `body` would have to wait.
    private func atOnce<Result>(
        _ body: (inout sending State) throws(CryptokiError) -> sending Result, or known: (Snapshot) -> Result?
    ) throws(CryptokiError) -> Result {
        let result = try state.withLockIfAvailable { state throws(CryptokiError) in
            state.arrival = .now
            noticeTimeOut(&state)
            return try body(&state)
        }
        if let result { return result }
        if let known = lastSnapshot.flatMap(known) { return known }
        return try inTurn(body)
    }

    var knownGeneration: Int { generations.load(ordering: .acquiring) }

    func generation() throws(CryptokiError) -> Int {
        try atOnce({ state throws(CryptokiError) in try generation(&state) }) { _ in knownGeneration }
    }

    private func generation(_ state: inout State) throws(CryptokiError) -> Int {
        // Sessions go on only with a card that is known to be the same.
        let identity = try identity(&state)
        if seen.withLock({ $0 == nil }) { note(identity, state) }
        return knownGeneration
    }

    /// The last snapshot of the inserted card, for calls while the card waits for a person's touch. The reader shows whether it
    /// is still the same card.
    private var lastSnapshot: Snapshot? {
        let now = slot.occupancy
        return seen.withLock { $0 }.flatMap { now.hasCard && $0.card.occupancy == now ? $0 : nil }
    }

    @discardableResult
    private func note(_ identity: TokenIdentity, _ state: borrowing State) -> TokenInfo {
        let info = TokenInfo(
            name: CryptokiTokenName(identity),
            flags: flags(state.card?.pinStatus?.status, hasPINPad: state.card?.hasPINPad == true),
            pinLengths: state.card?.pinLengths ?? 0...255,
            firmware: CardSlot.version(identity.version ?? state.card?.version))
        let snapshot = state.card.map { Snapshot(card: $0, info: info) }
        seen.withLock { $0 = snapshot }
        tellOthers(state)
        return info
    }

    /// Keeps the facts in the snapshot, for calls while the card is in use.
    func noteReading(_ state: borrowing State) {
        guard let card = state.card else { return }
        seen.withLock { $0?.card = card }
        tellOthers(state)
    }

    private func tellOthers(_ state: borrowing State) {
        guard let knownCards, let card = state.card else { return }
        knownCards.note(card, in: name, hidesLogin: promptPolicy.asksItself)
    }

    /// The token's description; that of the last snapshot while the card is in use.
    func tokenInfo() throws(CryptokiError) -> TokenInfo {
        if slot.isInUse, let last = lastSnapshot { return last.info }
        return try atOnce({ state throws(CryptokiError) in try tokenInfo(&state) }, or: \.info)
    }

    private func tokenInfo(_ state: inout State) throws(CryptokiError) -> TokenInfo {
        let identity = try identity(&state, withPINStatus: true)
        _ = try? pinStatus(&state)
        let hasPINPad = hasPINPad(state) && state.card?.hasPINPadFailed != true
        state.card?.hasPINPad = hasPINPad
        return note(identity, state)
    }

    /// The state of the PIN. Programs ask several times in a row, so that an answer is reused for a moment, unless a PIN is
    /// presented or changed.
    private func pinStatus(_ state: inout State) throws(CryptokiError) -> PINStatus {
        let patience = (state.card?.insertion == nil ? knownCards?.patience : nil) ?? .seconds(1)
        if let known = state.card?.pinStatus, known.asked.duration(to: .now) < patience { return known.status }
        let status = try reading(&state) { (insertion) throws(TokenError) in
            try slot.status(of: .pin, at: insertion, isBeforePIN: false)
        }
        state.card?.pinStatus = (status, .now)
        return status
    }

    private func flags(_ status: PINStatus?, hasPINPad: Bool) -> CK_FLAGS {
        var flags = CKF_RNG | CKF_WRITE_PROTECTED | CKF_USER_PIN_INITIALIZED | CKF_TOKEN_INITIALIZED
        if !promptPolicy.asksItself { flags |= CKF_LOGIN_REQUIRED }
        if !promptPolicy.asksItself, hasPINPad || promptPolicy.hasProtectedPath {
            flags |= CKF_PROTECTED_AUTHENTICATION_PATH
        }
        guard let left = status?.triesLeft else { return flags }
        if left == 0 { flags |= CKF_USER_PIN_LOCKED }
        if left == 1 { flags |= CKF_USER_PIN_FINAL_TRY }
        // Where the card does not tell its maximum of tries, three is assumed, as most cards have.
        if left > 0, left < status?.maximumTries ?? 3 { flags |= CKF_USER_PIN_COUNT_LOW }
        return flags
    }

    private static func version(_ text: String?) -> (major: UInt8, minor: UInt8) {
        let parts = (text ?? "").split(separator: ".").compactMap { UInt8($0) }
        return (parts.first ?? 0, parts.dropFirst().first ?? 0)
    }

    // MARK: Objects

    /// The objects that match. Where the template names an id, only objects with that id are read.
    func objects(matching template: Template) throws(CryptokiError) -> [CryptokiObject] {
        let classes = [CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY].filter { template.allows($0) }
        return try CryptokiError.removed { () throws(CryptokiError) in
            try atOnce(
                { state throws(CryptokiError) in
                    let selection = template[CKA_ID].map { Selection.id($0, classes) } ?? .all
                    let found = classes.isEmpty ? [] : try objects(selection, &state)
                    return shown(found, template) + (try data(matching: template, &state))
                },
                or: { snapshot in
                    // The presence of data objects may have to be read from the card.
                    guard !template.allows(CKO_DATA) else { return nil }
                    return classes.isEmpty ? shown([], template) : snapshot.card.objects.map { shown($0, template) }
                })
        }
    }

    private func shown(_ objects: [CryptokiObject], _ template: Template) -> [CryptokiObject] {
        let sees = isLoggedIn
        return ([.profile] + objects).filter { (sees || !$0.isPrivate) && $0.matches(template) }
    }

    func object(_ name: ObjectName) throws(CryptokiError) -> CryptokiObject? {
        try inSession { state throws(CryptokiError) in
            guard let object = name.tokenObject else { return name == .profile ? .profile : nil }
            let found = try objects(.object(object), &state).first { $0.name == name }
            return found.flatMap { !$0.isPrivate || isLoggedIn ? $0 : nil }
        }
    }

    private enum Selection {
        case all
        case id([UInt8], [CK_OBJECT_CLASS])
        case object(TokenObjectID)
    }

    private func objects(_ selection: Selection, _ state: inout State) throws(CryptokiError) -> [CryptokiObject] {
        if let known = try present(&state).objects { return known }
        guard let part = self.part(selection, of: try connection(&state)) else { return [] }
        let isComplete = part == .all
        var (inventory, knownData) = try reading(&state) { (insertion) throws(TokenError) in
            try slot.inventory(part, at: insertion)
        }
        // A key that only attests is useless to programs, and ssh would offer it to servers.
        inventory.objects.removeAll { $0.key?.usage.isEmpty == true }
        let objects = ItemObjects(try items(&state).all(of: inventory), hidesLogin: promptPolicy.asksItself).objects()
        if isComplete {
            for object in knownData { state.card?.data.learn(.present, of: object) }
            if inventory.failures.isEmpty { state.card?.objects = objects }
            noteReading(state)
        }
        return objects
    }

    /// Makes items of the card's objects.
    func items(_ state: inout State) throws(CryptokiError) -> TokenItems {
        TokenItems(identity: try identity(&state), name: name)
    }

    /// The part of the card to read; nil for none.
    private func part(_ selection: Selection, of insertion: TokenInsertion) -> TokenSelection? {
        switch selection {
        case .all: return .all
        case .object(let object): return .object(object)
        case .id(let id, let classes):
            let selection = slot.selection(ofCryptokiID: id, at: insertion)
            guard case .object(let object) = selection, !classes.contains(CKO_CERTIFICATE) else { return selection }
            return classes.contains(CKO_PUBLIC_KEY) ? .key(object) : .privateKey(object)
        }
    }

    func keyBytes(of key: CryptokiObject) throws(CryptokiError) -> Secret {
        throw CryptokiError(CKR_KEY_HANDLE_INVALID, "there are no secret keys on a card")
    }

    // MARK: Writing

    func create(_ template: Template) throws(CryptokiError) -> ObjectName { throw CardSlot.writeProtected }
    func create(_ key: PrivateKey, _ template: Template) throws(CryptokiError) -> ObjectName {
        throw CardSlot.writeProtected
    }
    func create(_ key: consuming Secret, _ template: Template, isGenerated: Bool) throws(CryptokiError) -> ObjectName {
        throw CardSlot.writeProtected
    }
    func destroy(_ object: ObjectName) throws(CryptokiError) { throw CardSlot.writeProtected }
    func change(_ object: ObjectName, to template: Template) throws(CryptokiError) { throw CardSlot.writeProtected }

    func generateKeyPair(
        _ kind: KeyKind, publicTemplate: Template, privateTemplate: Template
    ) throws(CryptokiError) -> (publicKey: ObjectName, privateKey: ObjectName) { throw CardSlot.writeProtected }

    func secretValue(_ type: CK_ATTRIBUTE_TYPE, of object: ObjectName) throws(CryptokiError) -> Secret {
        try inSession { state throws(CryptokiError) in try value(ofData: object, &state) }
    }

    private static let writeProtected = CryptokiError(
        CKR_TOKEN_WRITE_PROTECTED, "what is on a card was put there by its issuer")
}
