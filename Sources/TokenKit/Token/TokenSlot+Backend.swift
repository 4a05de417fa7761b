public import SecureBytes
internal import Synchronization
public import SystemCrypto

// A card in a reader as a token: each call is one transaction.
extension TokenSlot: TokenBackend {
    public func connect(
        identifying: Bool, since arrival: ContinuousClock.Instant
    ) throws(TokenError) -> TokenArrival {
        try read(since: arrival) { (token, card, insertion) throws(TokenError) in
            let identity = identifying ? try token.identity(&card) : nil
            return TokenArrival(insertion, identity, KnownTokenFacts(token))
        }
    }

    public func identify(as identity: TokenIdentity, at insertion: TokenInsertion) {
        shared.state.withLock { state in
            if state.insertion == insertion { state.token?.identify(as: identity) }
        }
    }

    public func identity() throws(TokenError) -> TokenIdentity {
        try read { (token, card, _) throws(TokenError) in try token.identity(&card) }
    }

    public func identity(
        at insertion: TokenInsertion, withPINStatus wantsStatus: (TokenIdentity) -> Bool
    ) throws(TokenError) -> (identity: TokenIdentity, status: PINStatus?) {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            let identity = try token.identity(&card)
            return (identity, wantsStatus(identity) ? try? token.status(of: .pin, &card) : nil)
        }
    }

    public func keyLimits(at insertion: TokenInsertion) throws(TokenError) -> TokenKeyLimits {
        try perform(at: insertion) { (token, card) throws(TokenError) in try token.keyLimits(&card) }
    }

    public func inventory(
        _ selection: TokenSelection, at insertion: TokenInsertion
    ) throws(TokenError) -> (inventory: TokenInventory, knownData: Set<TokenObjectID>) {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            (try TokenSlot.inventory(selection, &token, &card), token.knownData)
        }
    }

    private static func inventory(
        _ selection: TokenSelection, _ token: inout any Token, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenInventory {
        let inventory = try token.inventory(selection, &card)
        guard case .privateKey(let object) = selection,
            inventory.objects.contains(where: { $0.certificate == nil && $0.key?.isJudgedByCertificate == true })
        else { return inventory }
        return try token.inventory(.object(object), &card)
    }

    public func inventory(_ selection: TokenSelection) throws(TokenError) -> TokenContents {
        try read { (token, card, insertion) throws(TokenError) in
            TokenContents(try TokenSlot.inventory(selection, &token, &card), at: insertion)
        }
    }

    public func contents(_ select: (TokenIdentity) -> TokenSelection?) throws(TokenError) -> TokenContents? {
        try read { (token, card, insertion) throws(TokenError) -> TokenContents? in
            let identity = try token.identity(&card)
            guard let selection = select(identity) else { return nil }
            return TokenContents(
                try TokenSlot.inventory(selection, &token, &card), of: identity, at: insertion)
        }
    }

    public func bindingKey() throws(TokenError) -> TokenObjectID? {
        try read { (token, _, _) throws(TokenError) in token.bindingKey }
    }

    public func facts() throws(TokenError) -> [TokenFact] {
        try read { (token, card, _) throws(TokenError) in try token.facts(&card) }
    }

    public func content(of data: TokenObjectID) throws(TokenError) -> [UInt8]? {
        try read { (token, card, _) throws(TokenError) in
            try checkRight(to: data, of: token)
            return try token.content(of: data, &card)
        }
    }

    public func content(of data: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> [UInt8]? {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            try checkRight(to: data, of: token)
            return try token.content(of: data, &card)
        }
    }

    /// - Throws: ``TokenError`` `.pinRequired` for data that needs the PIN, where another client gave it.
    private func checkRight(to data: TokenObjectID, of token: any Token) throws(TokenError) {
        guard permission != .none, token.pins.hasPIN(ofOthersThan: client),
            token.possibleData.contains(where: { $0.id == data && $0.needsPIN })
        else { return }
        throw TokenError(.pinRequired, "the card's data needs the PIN, which another program gave")
    }

    public func look(
        for data: [TokenObjectID], at insertion: TokenInsertion
    ) throws(TokenError) -> [TokenObjectID: TokenDataFinding] {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            var findings: [TokenObjectID: TokenDataFinding] = [:]
            for object in data {
                do throws(TokenError) {
                    try checkRight(to: object, of: token)
                    findings[object] = try token.look(for: object, &card)
                } catch {
                    if case .card = error.code { throw error }
                    // An object that the card refuses counts as absent, unless the card asks for the PIN.
                    if error.code != .pinRequired { findings[object] = .absent }
                }
            }
            return findings
        }
    }

    public func status(of kind: PINKind) throws(TokenError) -> PINStatus {
        try read { (token, card, _) throws(TokenError) in try token.status(of: kind, &card) }
    }

    public func isPINPresented() throws(TokenError) -> Bool {
        try read { (token, _, _) throws(TokenError) in token.pins.isPresented || token.pins.hasSharedPIN }
    }

    public func status(
        of kind: PINKind, at insertion: TokenInsertion, isBeforePIN: Bool
    ) throws(TokenError) -> PINStatus {
        try performOnCard(of: insertion) { (token, card) throws(TokenError) in
            if isBeforePIN {
                try token.checkBeforePIN(&card)
                if let tries = token.pins.triesJustTold(of: kind) { return PINStatus(triesLeft: tries) }
            }
            return try token.status(of: kind, &card)
        }
    }

    public func verify(_ pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion) throws(TokenError) {
        try performOnCard(of: insertion) { (token, card) throws(TokenError) in
            if let kept = pin.kept, kept.isOthers || token.pins.isForgotten(pin) {
                throw TokenError(.pinRequired, "the PIN is another program's, or was forgotten")
            }
            if !token.pins.isPresented || !token.pins.isKept(pin) { try token.verify(pin, lastTry: lastTry, &card) }
            noteGift(pin, &token.pins)
        }
    }

    public func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion
    ) throws(TokenError) {
        try performOnCard(of: insertion) { (token, card) throws(TokenError) in
            try token.change(kind, from: old, to: new, lastTry: lastTry, &card)
        }
    }

    public func unblock(
        with unblockingKey: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion
    ) throws(TokenError) {
        try performOnCard(of: insertion) { (token, card) throws(TokenError) in
            try token.unblock(with: unblockingKey, newPIN: newPIN, lastTry: lastTry, &card)
        }
    }

    public func logOut() throws(TokenError) {
        try read { (token, card, _) throws(TokenError) in
            if keepsPIN { token.pins.forgetPIN() }
            try token.logOut(&card)
        }
    }

    public func managementKey(at insertion: TokenInsertion) throws(TokenError) -> ManagementKeyStatus {
        try performOnCard(of: insertion) { (token, card) throws(TokenError) in try token.managementKey(&card) }
    }

    public func perform(
        _ change: TokenChange, by administrator: borrowing TokenAdministrator, at insertion: TokenInsertion
    ) throws(TokenError) -> TokenChangeOutcome {
        do {
            let outcome = try performOnCard(of: insertion) { (token, card) throws(TokenError) in
                try token.perform(change, by: administrator, &card)
            }
            if change.hasEffect { renewInsertion(after: insertion) }
            return outcome
        } catch {
            if !error.isBeforeChange { renewInsertion(after: insertion) }
            throw error
        }
    }

    /// Has all clients read the token again, whose content was changed.
    private func renewInsertion(after insertion: TokenInsertion) {
        shared.state.withLock { state in
            guard state.hasCard(of: insertion) else { return }
            state.insertion = TokenInsertion(number: state.insertion.number + 1)
            state.token = nil
        }
    }

    public func erase(at insertion: TokenInsertion) throws(TokenError) {
        defer { renewInsertion(after: insertion) }
        try perform(at: insertion) { (token, card) throws(TokenError) in
            try token.erase(&card)
            // The card has another PIN now, which nobody has given.
            token.pins = token.pins.withoutCard()
        }
    }

    public func attestation(of key: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> [[UInt8]] {
        try perform(at: insertion) { (token, card) throws(TokenError) in try token.attestation(of: key, &card) }
    }

    public func prove(_ key: ProofKey, at insertion: TokenInsertion) throws(TokenError) {
        try perform(at: insertion) { (token, card) throws(TokenError) in try token.prove(key, &card) }
    }

    public func provenKey(at insertion: TokenInsertion) throws(TokenError) -> ProofKey? {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            guard let key = try token.proofKey(&card) else { return nil }
            do throws(TokenError) {
                try token.prove(key, &card)
                return key
            } catch {
                guard error.code == .notProven else { throw error }
                // Some cards need the PIN for every key, so that the key is only compared with the one that they show.
                return ProofKey(object: key.object, publicKey: key.publicKey, canBeChallenged: false)
            }
        }
    }

    public func perform(
        _ operation: TokenOperation, at insertion: TokenInsertion, notice: OperationNotice?
    ) throws(TokenError) -> Secret {
        do {
            return try performBriefly(at: insertion, allowingChanges: operation.namesPublicKey) {
                (token, card) throws(TokenError) in
                let end = notice?()
                defer { end?() }
                // A key that needs the PIN is then refused as if nobody had given it.
                token.pins.isHidden = needsPermission(for: operation, token.pins)
                defer { token.pins.isHidden = false }
                let result = try token.perform(operation, &card)
                if token.pins.takeNeed() { token.pins.noteUse(at: now()) }
                return result
            }
        } catch  where error.code == .pinRequired && keepsPIN {
            return try perform(operation, withKeptPINAt: insertion, notice, after: error)
        }
    }

    /// Runs `body` with the token of an insertion. A change of its content counts only where the operation would not notice it.
    private func use(
        for operation: TokenOperation, at insertion: TokenInsertion,
        _ body: (inout any Token, inout CardTransaction) throws(TokenError) -> Secret
    ) throws(TokenError) -> Secret {
        if operation.namesPublicKey { try performOnCard(of: insertion, body) } else { try perform(at: insertion, body) }
    }

    private func needsPermission(for operation: TokenOperation, _ pins: PINSession) -> Bool {
        permission != .none && !operation.isPermitted && pins.hasPIN(ofOthersThan: client)
    }

    private func noteGift(_ pin: borrowing PIN, _ pins: inout PINSession) {
        pins.noteUse(at: now())
        if permission != .forEachUse { pins.noteGift(pin, of: client) }
    }

    /// Checks the right of this client to an operation with a PIN that was kept.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` for a forgotten one, and for another client's where the key wants the PIN each time;
    ///   `.permissionRequired` where a person has to allow the use of another client's.
    private func checkRight(
        to operation: TokenOperation, with pin: PIN.Kept, _ token: inout any Token, _ card: inout CardTransaction
    ) throws(TokenError) {
        guard pin.forgettings == token.pins.forgettings else {
            throw TokenError(.pinRequired, "the PIN of the login was forgotten")
        }
        guard pin.isOthers else { return }
        try checkRightToSharedPIN(for: operation, &token, &card)
    }

    private func checkRightToSharedPIN(
        for operation: TokenOperation, _ token: inout any Token, _ card: inout CardTransaction
    ) throws(TokenError) {
        let policy = try token.inventory(.privateKey(operation.key), &card).objects.first?.key?.pinPolicy
        guard let policy, !policy.isAlways else {
            throw TokenError(.pinRequired, "the key wants a login for each use (CKU_CONTEXT_SPECIFIC)")
        }
        guard !needsPermission(for: operation, token.pins) else {
            throw TokenError(
                .permissionRequired, "another program gave the PIN, and nobody has allowed this one to use it")
        }
    }

    /// Performs the operation with the kept PIN, which the card may have forgotten. A PIN that is no longer right has been changed by
    /// another program: a person is to be asked then.
    ///
    /// - Throws: ``TokenError`` `.permissionRequired` where a person has to allow it first.
    private func perform(
        _ operation: TokenOperation, withKeptPINAt insertion: TokenInsertion, _ notice: OperationNotice?,
        after refusal: TokenError
    ) throws(TokenError) -> Secret {
        try use(for: operation, at: insertion) { (token, card) throws(TokenError) in
            try checkRightToSharedPIN(for: operation, &token, &card)
            guard let pin = token.pins.keptPIN else { throw refusal }
            let end = notice?()
            defer { end?() }
            do throws(TokenError) {
                let result = try token.perform(operation, presenting: pin, lastTry: .keep, &card)
                token.pins.noteUse(at: now())
                return result
            } catch {
                guard [.pinIncorrect, .pinKnownIncorrect, .pinBlocked, .pinLastTry].contains(error.code) else {
                    throw error
                }
                token.pins.forgetPIN()
                throw refusal
            }
        }
    }

    public func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion,
        notice: OperationNotice?
    ) throws(TokenError) -> Secret {
        try use(for: operation, at: insertion) { (token, card) throws(TokenError) in
            if let kept = pin.kept { try checkRight(to: operation, with: kept, &token, &card) }
            let end = notice?()
            defer { end?() }
            let result = try token.perform(operation, presenting: pin, lastTry: lastTry, &card)
            if pin.origin != .presented { noteGift(pin, &token.pins) }
            return result
        }
    }
}

extension TokenOperation {
    /// Whether another key in the key's place is refused.
    fileprivate var namesPublicKey: Bool { publicKey?.isEmpty == false }
}

extension TokenChange {
    fileprivate var hasEffect: Bool {
        if case .authenticate = self { false } else { true }
    }
}

extension TokenError {
    /// Whether an administrator was refused before anything was changed, and may be asked again.
    fileprivate var isBeforeChange: Bool {
        switch code {
        case .notAuthorized, .invalidArgument, .pinRequired, .pinFormat, .pinIncorrect, .pinKnownIncorrect, .pinLastTry,
            .pinBlocked:
            true
        default: false
        }
    }
}
