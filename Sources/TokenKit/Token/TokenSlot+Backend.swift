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
        state.withLock { state in
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
        try read { (token, card, _) throws(TokenError) in try token.content(of: data, &card) }
    }

    public func content(of data: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> [UInt8]? {
        try perform(at: insertion) { (token, card) throws(TokenError) in try token.content(of: data, &card) }
    }

    public func look(
        for data: [TokenObjectID], at insertion: TokenInsertion
    ) throws(TokenError) -> [TokenObjectID: TokenDataFinding] {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            var findings: [TokenObjectID: TokenDataFinding] = [:]
            for object in data {
                do throws(TokenError) { findings[object] = try token.look(for: object, &card) } catch {
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
        try read { (token, _, _) throws(TokenError) in token.pins.isPresented }
    }

    public func status(
        of kind: PINKind, at insertion: TokenInsertion, isBeforePIN: Bool
    ) throws(TokenError) -> PINStatus {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            if isBeforePIN {
                try token.checkBeforePIN(&card)
                if let tries = token.pins.triesJustTold(of: kind) { return PINStatus(triesLeft: tries) }
            }
            return try token.status(of: kind, &card)
        }
    }

    public func verify(_ pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion) throws(TokenError) {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            try token.verify(pin, lastTry: lastTry, &card)
        }
    }

    public func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion
    ) throws(TokenError) {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            try token.change(kind, from: old, to: new, lastTry: lastTry, &card)
        }
    }

    public func unblock(
        with unblockingKey: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion
    ) throws(TokenError) {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            try token.unblock(with: unblockingKey, newPIN: newPIN, lastTry: lastTry, &card)
        }
    }

    public func logOut() throws(TokenError) {
        try read { (token, card, _) throws(TokenError) in try token.logOut(&card) }
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
        try performBriefly(at: insertion) { (token, card) throws(TokenError) in
            let end = notice?()
            defer { end?() }
            return try token.perform(operation, &card)
        }
    }

    public func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion,
        notice: OperationNotice?
    ) throws(TokenError) -> Secret {
        try perform(at: insertion) { (token, card) throws(TokenError) in
            let end = notice?()
            defer { end?() }
            return try token.perform(operation, presenting: pin, lastTry: lastTry, &card)
        }
    }
}
