package import CCryptoki
package import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import PKCS11Mechanisms
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// The description of a slot. PKCS #11 §3.2, `CK_SLOT_INFO`.
package struct SlotInfo: Sendable {
    package let name: CryptokiSlotName
    package let flags: CK_FLAGS
}

/// The description of a token. PKCS #11 §3.2, `CK_TOKEN_INFO`.
package struct TokenInfo: Sendable {
    package let name: CryptokiTokenName
    package let flags: CK_FLAGS
    package let pinLengths: ClosedRange<Int>
    /// The token's own version, major and minor.
    package let firmware: (major: UInt8, minor: UInt8)

    func without(_ flag: CK_FLAGS) -> TokenInfo {
        TokenInfo(name: name, flags: flags & ~flag, pinLengths: pinLengths, firmware: firmware)
    }
}

/// A place of the host's as a slot: a reader, or a keychain in a file, whose token is always present.
///
/// Calls for one slot may wait for its card. Calls for other slots do not wait with them.
final class Slot: Sendable {
    let id: CK_SLOT_ID
    let isCard: Bool
    let service: any InProcessHost
    let promptPolicy: PromptPolicy
    private let state: any PlaceState
    /// The gate at which opening a session waits for a logout that the end of the last session has caused.
    let sessionGate = Gate()

    /// The reader's name, or the path of the file.
    let name: String
    private let slotName: CryptokiSlotName
    private let filter: TokenFilter
    /// Whether the program has logged in at any time.
    let hasLoggedIn = Atomic(false)

    init(
        _ id: CK_SLOT_ID, _ place: TokenPlace, _ state: any PlaceState, _ service: any InProcessHost,
        _ filter: TokenFilter, _ promptPolicy: PromptPolicy
    ) {
        self.id = id
        self.state = state
        self.service = service
        self.filter = filter
        self.promptPolicy = promptPolicy
        isCard = place.kind == .card
        (name, slotName) = (place.location, place.slotName)
    }

    /// The circumstances of a request about the slot's token.
    ///
    /// - Parameter asks: whether a person may be asked.
    func context(to use: String? = nil, asks: Bool = false, _ credential: consuming Secret? = nil) -> RequestContext {
        var context = RequestContext(purpose: use.map(promptPolicy.use), questions: asks ? .byHost : .never)
        context.place = name
        if let credential { context.credentials = [.init(isCard ? .pin : .password, credential)] }
        return context
    }

    private func describe(_ facts: TokenFacts) throws(CryptokiError) -> TokenDescription {
        try CryptokiError.mapping { () throws(KeychainError) in
            try service.token(in: name, telling: facts, context())
        }
    }

    /// The facts of the token, which has to be there and shown by this copy of the module.
    ///
    /// - Throws: `CKR_TOKEN_NOT_PRESENT`, `CKR_TOKEN_NOT_RECOGNIZED`.
    private func describeToken(_ facts: TokenFacts = .name) throws(CryptokiError) -> TokenDescription {
        guard isCard, !filter.wantsAllCards else { return try describe(facts) }
        let description = try describe(.name)
        guard let name = description.name, filter.wants(card: name.serialNumber) else {
            throw CryptokiError(CKR_TOKEN_NOT_PRESENT, "the card in the reader is not shown")
        }
        return facts == .name ? description : try describe(facts)
    }

    var info: SlotInfo {
        // Programs for cards ignore slots without CKF_REMOVABLE_DEVICE.
        SlotInfo(
            name: slotName,
            flags: CKF_REMOVABLE_DEVICE | (isCard ? CKF_HW_SLOT : 0) | (hasToken ? CKF_TOKEN_PRESENT : 0))
    }

    /// Whether the slot has a token, and a count of changes that shows an exchange. Asks no card.
    var occupancy: TokenPlace.Occupancy {
        let occupancy = state.occupancy
        guard isCard, occupancy.hasToken, !filter.wantsAllCards else { return occupancy }
        return TokenPlace.Occupancy(hasToken: (try? generation()) != nil, changeCount: occupancy.changeCount)
    }

    var hasToken: Bool { occupancy.hasToken }

    func requireToken() throws(CryptokiError) {
        guard hasToken else { throw CryptokiError(CKR_TOKEN_NOT_PRESENT) }
    }

    /// Changes only when a different token is inserted.
    ///
    /// - Throws: `CKR_TOKEN_NOT_PRESENT`, `CKR_TOKEN_NOT_RECOGNIZED`.
    func generation() throws(CryptokiError) -> Int { try describeToken().generation }

    /// The generation at the last look. Does not wait.
    var knownGeneration: Int { state.generation }

    /// A number that changes when another program changes the token's objects; nil for a token without such a number.
    var version: Int64? { isCard ? nil : (try? describe(.version).version) ?? nil }

    func tokenInfo() throws(CryptokiError) -> TokenInfo {
        let token = try describeToken([.name, .pin])
        guard let name = token.name, let pin = token.pin else { throw CryptokiError(CKR_TOKEN_NOT_PRESENT) }
        return TokenInfo(
            name: name, flags: flags(pin), pinLengths: pin.lengths, firmware: Slot.version(pin.version))
    }

    private func flags(_ pin: TokenPIN) -> CK_FLAGS {
        var flags = CKF_RNG | CKF_USER_PIN_INITIALIZED | CKF_TOKEN_INITIALIZED
        if promptPolicy.isRemote || pin.isReadOnly && !changesCard { flags |= CKF_WRITE_PROTECTED }
        if pin.needsLogin, !promptPolicy.asksItself {
            flags |= CKF_LOGIN_REQUIRED | (pin.canAsk ? CKF_PROTECTED_AUTHENTICATION_PATH : 0)
        }
        guard let left = pin.triesLeft else { return flags }
        if left == 0 { flags |= CKF_USER_PIN_LOCKED }
        if left == 1 { flags |= CKF_USER_PIN_FINAL_TRY }
        // Where the card does not tell its maximum of tries, three is assumed, as most cards have.
        if left > 0, left < pin.maximumTries ?? 3 { flags |= CKF_USER_PIN_COUNT_LOW }
        return flags
    }

    private static func version(_ text: String?) -> (major: UInt8, minor: UInt8) {
        let parts = (text ?? "").split(separator: ".").compactMap { UInt8($0) }
        return (parts.first ?? 0, parts.dropFirst().first ?? 0)
    }

    // MARK: Mechanisms

    /// The mechanisms of the keys that the token may have.
    var mechanisms: [Mechanism] {
        guard isCard else { return MechanismTable.mechanismsOfKeychains }
        let limits = (try? describe(.keyLimits).keyLimits) ?? nil
        return MechanismTable.mechanisms(ofCard: limits ?? .unknown, makesKeys: changesCard)
    }

    /// Checks a mechanism, before the key is checked. Asks no card.
    ///
    /// - Throws: `CKR_MECHANISM_INVALID`.
    func require(_ mechanism: CK_MECHANISM_TYPE, for use: CK_FLAGS) throws(CryptokiError) {
        let possible = isCard ? MechanismTable.mechanismsOfAnyCard : MechanismTable.mechanismsOfKeychains
        guard possible.contains(where: { $0.type == mechanism && $0.flags & use != 0 }) else {
            throw MechanismRequest.unknown
        }
    }

    // MARK: Login

    /// The number of the present login, unique to it; nil for none. Does not wait for a card.
    var login: Int? {
        // Nothing is hidden where the host asks by itself.
        let isOpen = promptPolicy.asksItself && !isCard
        if isOpen, !hasLoggedIn.load(ordering: .relaxed) { return 0 }
        return state.login ?? state.administration ?? (isOpen ? 0 : nil)
    }

    /// Whether somebody is logged in: the user, or the security officer.
    var isLoggedIn: Bool { login != nil }

    var isSecurityOfficer: Bool { state.administration != nil }

    /// Whether the program's writes go to the card: the security officer's, and a user's where the program is one that administers cards.
    var changesCard: Bool { isCard && (isSecurityOfficer || promptPolicy.administersCards) }

    /// Checks whether the login is over, where only a check shows it. Does not wait for a card.
    func noticeEndOfLogin() { state.noticeEndOfLogin() }

    /// - Parameter pin: nil where the host is to ask for it.
    func logIn(_ pin: consuming Secret?) throws(CryptokiError) { try logIn(pin, forOneUse: false, to: "log in") }

    /// Logs in for one use of a key that needs a login each time.
    func logInForOneUse(_ pin: consuming Secret?) throws(CryptokiError) {
        guard isCard else {
            throw CryptokiError(CKR_OPERATION_NOT_INITIALIZED, "no key of a keychain wants a login for each use")
        }
        try logIn(pin, forOneUse: true, to: "use the key once")
    }

    private func logIn(
        _ pin: consuming Secret?, forOneUse isForOneUse: Bool, to use: String
    ) throws(CryptokiError) {
        hasLoggedIn.store(true, ordering: .relaxed)
        let isGiven = pin != nil
        let context = context(to: use, asks: !isGiven, pin)
        try CryptokiError.inSession { () throws(KeychainError) in
            try service.logIn(to: name, forOneUse: isForOneUse, context)
        }
    }

    func logOut() { try? service.logOut(of: name, context()) }

    func setPIN(from old: consuming Secret?, to new: consuming Secret?) throws(CryptokiError) {
        guard let old = old.take(), let new = new.take() else {
            throw CryptokiError(CKR_ARGUMENTS_BAD, "a PIN is missing: nobody is asked for a new one here")
        }
        let (oldPIN, newPIN) = (SharedSecret(old), SharedSecret(new))
        try CryptokiError.inSession { () throws(KeychainError) in
            try service.changePIN(of: name, from: oldPIN, to: newPIN, context())
        }
    }
}

/// Lets one thread through at a time.
final class Gate: Sendable {
    private let mutex = Mutex(())

    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { _ throws(Failure) in try body() }
    }
}
