internal import CCryptoki
internal import CryptokiNames
internal import ModuleConfiguration
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

extension ModuleHost {
    func token(in slot: UInt64, run: Int) throws(TokenError) -> ModuleTokenInfo {
        try ask(.token(slot: slot), in: run) { (fields) throws(MalformedMessage) in
            try ModuleTokenInfo(from: &fields)
        }.answer
    }
}

/// A token of a module: the facts that were read from it, and the requests to the module's worker.
struct ModuleToken {
    private let host: ModuleHost
    private let info: ModuleTokenInfo
    private let run: Int
    let insertion: TokenInsertion
    /// The clients that have given the PIN of the present login, among those that share the token.
    var givers: Set<Int> = []
    private var objects: ModuleObjects?

    init(_ host: ModuleHost, _ info: ModuleTokenInfo, run: Int, _ insertion: TokenInsertion) {
        self.host = host
        self.info = info
        self.run = run
        self.insertion = insertion
    }

    /// Whether the token is still in its slot.
    func isThere() throws(TokenError) -> Bool {
        do throws(TokenError) {
            return try host.recentToken(in: info.slot, run: run).isSameToken(as: info)
        } catch {
            guard error.code == .card(.noCard) else { throw error }
            return false
        }
    }

    var knownFacts: KnownTokenFacts { KnownTokenFacts(version: identity.version, pinRules: pinRules) }

    /// Whether private keys are used only after a login.
    var wantsLogin: Bool { info.has(CKF_LOGIN_REQUIRED) }

    var pinRules: PINRules {
        PINRules(
            isManagedHere: false, isTypedOnToken: info.has(CKF_PROTECTED_AUTHENTICATION_PATH), isWanted: wantsLogin)
    }

    var identity: TokenIdentity {
        let names = [info.label.shown, info.model.shown, info.slotDescription]
        return TokenIdentity(
            id: info.id, label: names.first { !$0.isEmpty } ?? host.module.name,
            manufacturer: info.manufacturer.shown, model: info.model.shown, serialNumber: info.serialNumber.shown,
            version: info.firmware)
    }

    mutating func inventory(
        _ selection: TokenSelection, _ pins: PINSession
    ) throws(TokenError) -> TokenInventory {
        let all = try content(pins).inventory
        switch selection {
        case .all: return all
        case .object(let id), .key(let id), .privateKey(let id):
            let found = all.objects.filter { $0.id == id }
            guard !found.isEmpty else { throw TokenError(.notFound, "the token has no object '\(id)'") }
            return TokenInventory(objects: found)
        }
    }

    var facts: [TokenFact] {
        [TokenFact("Module", host.module.name), TokenFact("Slot", info.slotDescription)]
    }

    private mutating func content(_ pins: PINSession) throws(TokenError) -> ModuleObjects {
        if let objects { return objects }
        let found = try host.ask(.objects(slot: info.slot), in: run) { (fields) throws(MalformedMessage) in
            try fields.values(ModuleObject.self)
        }
        let made = ModuleObjects(found.answer, hidesKeys: wantsLogin && !pins.isPresented)
        objects = made
        return made
    }

    // MARK: PIN

    func status(of pin: PINKind, _ pins: PINSession) throws(TokenError) -> PINStatus {
        guard pin == .pin else {
            throw TokenError(.unsupported, "a PKCS#11 module does not tell of a key that unblocks the PIN")
        }
        return PINStatus(triesLeft: try host.token(in: info.slot, run: run).triesLeft, isVerified: pins.isPresented)
    }

    mutating func verify(
        _ pin: borrowing PIN, _ lastTry: LastTry, _ pins: inout PINSession
    ) throws(TokenError) {
        try presenting(pin, lastTry, &pins) { (token) throws(TokenError) in
            _ = try token.host.ask(.logIn(slot: token.info.slot), in: token.run, pin.secret) { _ in () }
        }
    }

    mutating func logOut(_ pins: inout PINSession) throws(TokenError) {
        pins.notPresented()
        (givers, objects) = ([], nil)
        _ = try host.ask(.logOut(slot: info.slot), in: run) { _ in () }
    }

    /// Sends a PIN, unless the PIN is known to be wrong.
    private mutating func presenting<Result: ~Copyable>(
        _ pin: borrowing PIN, _ lastTry: LastTry, _ pins: inout PINSession,
        _ body: (ModuleToken) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        let now = try host.token(in: info.slot, run: run)
        guard now.isSameToken(as: info) else { throw ModuleTokenSlot.exchanged }
        let isTyped = pinRules.isTypedOnToken
        guard isTyped ? pin.origin == .typed : now.takesPIN(of: pin.count) else {
            throw TokenError(
                .pinFormat, "the token takes PINs of \(now.minimumPINLength) to \(now.maximumPINLength) bytes")
        }
        guard now.triesLeft != 0 else { throw TokenError.blocked }
        pins.learn(now.triesLeft.map { .left($0) } ?? .unknown, of: .pin)
        try pins.requireTry(pin, as: .pin, lastTry, rejectedElsewhere: host.rejectedPINs.rejectedPINs(of: info.id))
        pins.sending(.pin)
        do throws(TokenError) {
            let result = try body(self)
            pins.accepted(pin, as: .pin)
            // The PIN may have been changed since to one that was wrong before. Modules have no try counter that would show this.
            pins.forgetRejected(.pin)
            host.rejectedPINs.forgetRejected(.pin, of: info.id)
            // Private keys are visible only now.
            objects = nil
            return result
        } catch  where error.code == .pinIncorrect {
            let left = (try? host.token(in: info.slot, run: run))?.triesLeft
            pins.refused(pin, as: .pin, triesLeft: left)
            host.rejectedPINs.remember(rejected: pin, as: .pin, triesLeft: left, of: info.id)
            throw TokenError(.pinIncorrect, error.reasonText, triesLeft: left)
        }
    }

    // MARK: Keys

    mutating func perform(
        _ operation: TokenOperation, _ pins: PINSession
    ) throws(TokenError) -> Secret {
        try host.perform(use(for: operation, pins), slot: info.slot, in: run)
    }

    mutating func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, _ lastTry: LastTry, _ pins: inout PINSession
    ) throws(TokenError) -> Secret {
        let use = try use(for: operation, pins)
        return try presenting(pin, lastTry, &pins) { (token) throws(TokenError) in
            try token.host.perform(
                use, slot: token.info.slot, in: token.run, pin.secret, isTyped: token.pinRules.isTypedOnToken)
        }
    }

    private mutating func use(for operation: TokenOperation, _ pins: PINSession) throws(TokenError) -> ModuleKeyUse {
        let content = try content(pins)
        guard let key = content.keys[operation.key] else {
            throw TokenError(.notFound, "the token has no private key '\(operation.key)'")
        }
        return try ModuleKeyUse(operation.action, key)
    }
}

extension ModuleTokenInfo {
    func isSameToken(as other: ModuleTokenInfo) -> Bool {
        (serialNumber, label, model, manufacturer)
            == (other.serialNumber, other.label, other.model, other.manufacturer)
    }

    func has(_ flag: CK_FLAGS) -> Bool { flags & UInt64(flag) != 0 }

    /// The tries that are left, as far as a module tells.
    var triesLeft: Int? {
        if has(CKF_USER_PIN_LOCKED) { return 0 }
        return has(CKF_USER_PIN_FINAL_TRY) ? 1 : nil
    }

    /// Whether a PIN's length is within the module's limits. Limits that make no sense are ignored.
    func takesPIN(of length: Int) -> Bool {
        guard length > 0, maximumPINLength > 0, minimumPINLength <= maximumPINLength else { return length > 0 }
        return (minimumPINLength...maximumPINLength).contains(UInt64(length))
    }

    /// The attributes by which RFC 7512 §2.3 names a token, so that `tkid` is the URI of the token.
    var id: TokenID {
        let name = PKCS11URI.Token(
            label: label, manufacturer: manufacturer, serialNumber: serialNumber, model: model)
        let path = PKCS11URI(of: name).description.dropFirst(PKCS11Module.driver.count + 1)
        return TokenID(driver: PKCS11Module.driver, instance: String(path))
    }
}
