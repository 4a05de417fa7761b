internal import CryptokiNames
internal import ModuleConfiguration
internal import Platform
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

/// A slot of a module, and the token in it for as long as it stays there and the module's process runs.
///
/// Calls from several threads queue here. Only the module itself can keep other programs from the token.
final class ModuleTokenSlot: TokenBackend {
    let name: String
    let cryptokiName: CryptokiSlotName
    private let host: ModuleHost
    private let slot: UInt64
    private let pinLimits: @Sendable () -> PINLimits
    private let shared: Shared
    /// The slot of which this one has the token and its login in common; nil for a slot of one client.
    private let first: ModuleTokenSlot?
    /// The number of this slot's client among those that share the token.
    private let client: Int

    /// The token in the slot, for all clients that share it.
    private final class Shared: Sendable {
        let state = Mutex(State())
        let questionTurn = QuestionTurn()
    }

    private struct State {
        var token: ModuleToken?
        var insertionCount = 0
        var pins = PINSession()
    }

    /// - Parameter pinLimits: the limits of the time for which a PIN that is presented now stays valid.
    init(_ host: ModuleHost, _ token: ModuleTokenInfo, endingPINsAfter pinLimits: @escaping @Sendable () -> PINLimits) {
        let description = token.slotDescription
        self.host = host
        slot = token.slot
        name = description.isEmpty ? host.module.name : "\(description) (\(host.module.name))"
        cryptokiName = CryptokiSlotName(description: description, manufacturer: "", number: UInt(token.slot))
        self.pinLimits = pinLimits
        (shared, first, client) = (Shared(), nil, 0)
    }

    /// Makes the slot of another client, which has the token and its login in common with an existing slot. The client uses a PIN that
    /// another one has given only by a person's permission.
    init(sharing first: ModuleTokenSlot, for client: Int) {
        (name, cryptokiName, host, slot) = (first.name, first.cryptokiName, first.host, first.slot)
        pinLimits = first.pinLimits
        (shared, self.first, self.client) = (first.shared, first, client)
    }

    func isShared(with slot: ModuleTokenSlot) -> Bool { shared === slot.shared }

    var questionTurn: QuestionTurn? { first?.shared.questionTurn }

    var occupancy: ReaderOccupancy {
        ReaderOccupancy(hasCard: (try? host.tokens().answer.contains { $0.slot == slot }) ?? false)
    }

    var isHeldElsewhere: Bool { false }
    var isInUse: Bool { shared.state.withLockIfAvailable { _ in false } ?? true }
    func holds(_ insertion: TokenInsertion) -> Bool { (try? known(at: insertion)?.isThere()) ?? false }
    /// Does nothing: requests to the worker have their own time limit.
    func endWaits() {}
    var tellsOfBlockedPINs: Bool { false }

    // MARK: One call

    private func use<Result: ~Copyable & Sendable>(
        at expected: TokenInsertion?, _ body: (inout ModuleToken, inout PINSession) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        try shared.state.withLock { (state) throws(TokenError) in
            do throws(TokenError) {
                if let expected, state.token?.insertion != expected { throw ModuleTokenSlot.exchanged }
                var token = try present(&state)
                state.pins.endTerm(at: .now)
                if state.pins.logoutPending { try logOut(&token, &state.pins) }
                // The token's state is kept also where the call fails half-way, since it was read before the failure.
                defer {
                    state.token = token
                    if state.pins.wantsTerm { beginTerm(&state.pins) }
                }
                return try body(&token, &state.pins)
            } catch {
                switch error.code {
                case .card(.removed), .card(.noCard), .card(.communication): drop(&state)
                default: break
                }
                throw error
            }
        }
    }

    /// Runs `body` with the token that is in the slot now, also after an exchange.
    private func read<Result: Sendable>(
        _ body: (inout ModuleToken, inout PINSession) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        do { return try use(at: nil, body) } catch  where error.code == .card(.removed) {
            return try use(at: nil, body)
        }
    }

    private func present(_ state: inout State) throws(TokenError) -> ModuleToken {
        if let token = state.token {
            guard try token.isThere() else { throw ModuleTokenSlot.exchanged }
            return token
        }
        let (tokens, run) = try host.tokens()
        guard let info = tokens.first(where: { $0.slot == slot }) else {
            throw TokenError(.card(.noCard), "there is no token in '\(name)'")
        }
        state.insertionCount += 1
        return ModuleToken(host, info, run: run, TokenInsertion(number: state.insertionCount))
    }

    private func drop(_ state: inout State) {
        state.token = nil
        state.pins = state.pins.withoutCard()
    }

    static let exchanged = TokenError(.card(.removed), "the token was exchanged (list it again)")

    // MARK: The PIN's term

    private func beginTerm(_ pins: inout PINSession) {
        guard pins.beginTerm(pinLimits(), at: .now) else { return }
        // A login outlasts the client that made it.
        let slot = first ?? self
        pins.isAwaited = PINSession.waitForEnd { [weak slot] in
            slot?.shared.state.withLock { state in
                state.pins.endTerm(at: .now)
                return state.pins.rest(at: .now)
            }
        } then: { [weak slot] in
            // Every call performs a pending logout first.
            guard let slot, let insertion = slot.shared.state.withLock({ $0.token?.insertion }) else { return }
            try? slot.use(at: insertion) { (_, _) throws(TokenError) in }
        }
    }

    private func logOut(_ token: inout ModuleToken, _ pins: inout PINSession) throws(TokenError) {
        do throws(TokenError) { try token.logOut(&pins) } catch {
            // A token that answers with another error would not log out the next time either.
            if case .card = error.code { throw error }
        }
        pins.loggedOut()
    }

    // MARK: Known without a command

    private func known(at insertion: TokenInsertion) -> ModuleToken? {
        shared.state.withLock { $0.token?.insertion == insertion ? $0.token : nil }
    }

    func knownLabel(at insertion: TokenInsertion) -> String? { known(at: insertion)?.identity.label }
    func pinRules(at insertion: TokenInsertion) -> PINRules { known(at: insertion)?.pinRules ?? PINRules() }
    func checkFormat(of pin: borrowing PIN, as kind: PINKind, at insertion: TokenInsertion) {}
    func takesTypedPIN(at insertion: TokenInsertion) -> Bool { false }
    func identify(as identity: TokenIdentity, at insertion: TokenInsertion) {}
    func selection(ofCryptokiID id: [UInt8], at insertion: TokenInsertion) -> TokenSelection? { .all }

    func knownFacts(at insertion: TokenInsertion) -> KnownTokenFacts? {
        let token = shared.state.withLockIfAvailable { $0.token?.insertion == insertion ? $0.token : nil }
        return (token ?? nil)?.knownFacts
    }

    // MARK: Reading

    func connect(identifying: Bool, since arrival: ContinuousClock.Instant) throws(TokenError) -> TokenArrival {
        try read { (token, _) in TokenArrival(token.insertion, token.identity, token.knownFacts) }
    }

    func identity() throws(TokenError) -> TokenIdentity { try read { (token, _) in token.identity } }

    func identity(
        at insertion: TokenInsertion, withPINStatus wantsStatus: (TokenIdentity) -> Bool
    ) throws(TokenError) -> (identity: TokenIdentity, status: PINStatus?) {
        try use(at: insertion) { (token, pins) throws(TokenError) in
            (token.identity, wantsStatus(token.identity) ? try? token.status(of: .pin, pins) : nil)
        }
    }

    func keyLimits(at insertion: TokenInsertion) -> TokenKeyLimits { .unknown }

    func inventory(
        _ selection: TokenSelection, at insertion: TokenInsertion
    ) throws(TokenError) -> (inventory: TokenInventory, knownData: Set<TokenObjectID>) {
        try use(at: insertion) { (token, pins) throws(TokenError) in (try token.inventory(selection, pins), []) }
    }

    func inventory(_ selection: TokenSelection) throws(TokenError) -> TokenContents {
        try read { (token, pins) throws(TokenError) in
            TokenContents(try token.inventory(selection, pins), of: token.identity, at: token.insertion)
        }
    }

    func contents(_ select: (TokenIdentity) -> TokenSelection?) throws(TokenError) -> TokenContents? {
        try read { (token, pins) throws(TokenError) -> TokenContents? in
            guard let selection = select(token.identity) else { return nil }
            return TokenContents(try token.inventory(selection, pins), of: token.identity, at: token.insertion)
        }
    }

    func bindingKey() -> TokenObjectID? { nil }

    func facts() throws(TokenError) -> [TokenFact] { try read { (token, _) in token.facts } }

    /// Data objects of modules are not read.
    func content(of data: TokenObjectID) -> [UInt8]? { nil }
    func content(of data: TokenObjectID, at insertion: TokenInsertion) -> [UInt8]? { nil }
    func look(for data: [TokenObjectID], at insertion: TokenInsertion) -> [TokenObjectID: TokenDataFinding] { [:] }

    // MARK: PIN

    func status(of kind: PINKind) throws(TokenError) -> PINStatus {
        try read { (token, pins) throws(TokenError) in try token.status(of: kind, pins) }
    }

    func isPINPresented() throws(TokenError) -> Bool { try read { (_, pins) in pins.isPresented } }

    func status(
        of kind: PINKind, at insertion: TokenInsertion, isBeforePIN: Bool
    ) throws(TokenError) -> PINStatus {
        try use(at: insertion) { (token, pins) throws(TokenError) in try token.status(of: kind, pins) }
    }

    func verify(_ pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion) throws(TokenError) {
        try use(at: insertion) { (token, pins) throws(TokenError) in
            try token.verify(pin, lastTry, &pins)
            token.givers.insert(client)
        }
    }

    func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion
    ) throws(TokenError) { throw ModuleTokenSlot.readOnly }

    func unblock(
        with unblockingKey: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion
    ) throws(TokenError) { throw ModuleTokenSlot.readOnly }

    private static let readOnly = TokenError(
        .unsupported, "PINs of a PKCS#11 module's token are not changed here (use the token's own tool)")

    func logOut() throws(TokenError) {
        try read { (token, pins) throws(TokenError) in try token.logOut(&pins) }
    }

    func logOut(at insertion: TokenInsertion) throws(TokenError) {
        try use(at: insertion) { (token, pins) throws(TokenError) in
            pins.endLogin()
            try logOut(&token, &pins)
        }
    }

    func reset() throws(TokenError) {
        _ = try insertion()
        disconnect(resetting: true)
    }

    // MARK: Login

    func beginLogin(with pin: borrowing PIN, at insertion: TokenInsertion) {
        shared.state.withLock { if $0.token?.insertion == insertion { $0.pins.beginLogin(with: pin) } }
    }

    func refreshLogin() { shared.state.withLock { $0.pins.refreshLogin() } }
    func endLogin() { shared.state.withLock { $0.pins.endLogin() } }

    var loginState: PINSession.LoginState? {
        shared.state.withLockIfAvailable { state in
            state.pins.endTerm(at: .now)
            return state.pins.loginState()
        }
    }

    func loginPIN() -> PIN? { shared.state.withLock { $0.pins.loginPIN() } }

    func loginPIN(for key: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> PIN {
        try use(at: insertion) { (token, pins) throws(TokenError) in
            let policy = try token.inventory(.privateKey(key), pins).objects.first { $0.id == key }?.key?.pinPolicy
            return try pins.loginPIN(for: policy ?? .once)
        }
    }

    // MARK: Keys

    func prove(_ key: ProofKey, at insertion: TokenInsertion) throws(TokenError) {
        throw TokenError(.notProven, "tokens of this kind do not show which keys they hold")
    }

    func provenKey(at insertion: TokenInsertion) -> ProofKey? { nil }

    func perform(
        _ operation: TokenOperation, at insertion: TokenInsertion, notice: OperationNotice?
    ) throws(TokenError) -> Secret {
        try use(at: insertion) { (token, pins) throws(TokenError) in
            if first != nil { try checkRight(to: operation, &token, pins) }
            let end = notice?()
            defer { end?() }
            return try token.perform(operation, pins)
        }
    }

    func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion,
        notice: OperationNotice?
    ) throws(TokenError) -> Secret {
        try use(at: insertion) { (token, pins) throws(TokenError) in
            let end = notice?()
            defer { end?() }
            let result = try token.perform(operation, presenting: pin, lastTry, &pins)
            token.givers.insert(client)
            return result
        }
    }

    /// Checks the right of a client that shares the token to use a key without giving the PIN.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` where nobody has given the PIN, and for a key that wants it each time;
    ///   `.permissionRequired` where a person has to allow the use.
    private func checkRight(
        to operation: TokenOperation, _ token: inout ModuleToken, _ pins: PINSession
    ) throws(TokenError) {
        guard pins.isPresented || !token.wantsLogin else {
            throw TokenError(.pinRequired, "the token wants its PIN first")
        }
        guard !operation.isPermitted, !token.givers.contains(client) else { return }
        let key = try token.inventory(.privateKey(operation.key), pins).objects.first?.key
        guard key?.pinPolicy != .always else {
            throw TokenError(.pinRequired, "the key wants the PIN for each use")
        }
        throw TokenError(
            .permissionRequired, "the program has not given the PIN itself, and nobody has allowed it to use the key")
    }

    /// Whether somebody is logged in. Does not wait: true while the token is in use.
    var hasLogin: Bool {
        shared.state.withLockIfAvailable { state in
            state.pins.endTerm(at: .now)
            return state.pins.isPresented
        } ?? true
    }

    /// Ends the login of all clients, unless nobody is logged in.
    func forgetPIN() {
        let insertion = shared.state.withLock { $0.pins.isPresented ? $0.token?.insertion : nil }
        if let insertion { try? logOut(at: insertion) }
    }

    func disconnect(resetting: Bool) {
        // Another client may use the token.
        guard resetting || first == nil else { return }
        shared.state.withLock { state in
            if resetting { try? state.token?.logOut(&state.pins) }
            drop(&state)
        }
    }
}
