internal import HostAPI
public import KeychainModel
internal import Localization
internal import SecureBytes
public import TokenKit

/// A card's PIN: `lock`, `unlock` and "change password" for a card.
extension TokenKeychain {
    /// The state of the PIN and the unblocking key. Costs no try.
    public func status(of kind: PINKind) throws(KeychainError) -> PINStatus {
        try present { () throws(TokenError) in try slot.status(of: kind) }
    }

    /// The card's facts for people.
    public func facts() throws(KeychainError) -> [TokenFact] {
        try present { () throws(TokenError) in try slot.facts() }
    }

    /// All objects of the card, with the errors of those that cannot be read.
    func inventory() throws(KeychainError) -> TokenInventory {
        try present { () throws(TokenError) in try slot.inventory(.all).inventory }
    }

    /// Asks for the PIN and presents it.
    ///
    /// - Parameter use: completes "PIN to …".
    func verifyPIN(
        use: String = "verify it", authentication: AuthenticationContext
    ) throws(KeychainError) {
        try verifyPIN(at: insertion(), use: use, authentication: authentication)
    }

    /// Verifies the PIN of the card that was present at `insertion`.
    func verifyPIN(
        at insertion: TokenInsertion, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) {
        var question = PINQuestion(
            .pin, use: use, slot: slot, insertion: insertion, authentication: authentication)
        try question.present { (pin, lastTry) throws(TokenError) in
            try slot.verify(pin, lastTry: lastTry, at: insertion)
        }
        if authentication.permission != nil, let identity = try? identity() {
            authentication.noteGiven(for: slot.accessPlace(of: identity.id.description))
        }
    }

    /// Asks for the PIN or unblocking key and a new one, and changes it.
    func change(_ kind: PINKind, authentication: AuthenticationContext) throws(KeychainError) {
        try set(kind, presenting: kind, use: String(localized: "change it"), authentication) {
            (old, new, lastTry, insertion) throws(TokenError) in
            try slot.change(kind, from: old, to: new, lastTry: lastTry, at: insertion)
        }
    }

    /// Asks for the unblocking key and a new PIN, and sets it.
    func unblock(authentication: AuthenticationContext) throws(KeychainError) {
        try set(.pin, presenting: .unblockingKey, use: String(localized: "unblock the PIN"), authentication) {
            (unblockingKey, new, lastTry, insertion) throws(TokenError) in
            try slot.unblock(with: unblockingKey, newPIN: new, lastTry: lastTry, at: insertion)
        }
    }

    /// Asks for the unblocking key, and sets a new PIN.
    func unblock(newPIN: borrowing Secret, authentication: AuthenticationContext) throws(KeychainError) {
        let insertion = try insertionOfManagedPIN()
        let new = PIN(newPIN.clone())
        try KeychainError.mapping { () throws(TokenError) in
            try slot.checkFormat(of: new, as: .pin, at: insertion)
        }
        var question = PINQuestion(
            .unblockingKey, use: String(localized: "set a new PIN"), slot: slot, insertion: insertion,
            authentication: authentication,
            allowsPINPad: false)
        try question.present { (unblockingKey, lastTry) throws(TokenError) in
            try slot.unblock(with: unblockingKey, newPIN: new, lastTry: lastTry, at: insertion)
        }
    }

    /// Asks for a value that the card has and for a new one, until `body` has set the new one or asking again cannot help.
    private func set(
        _ kind: PINKind, presenting present: PINKind, use: String, _ authentication: AuthenticationContext,
        _ body: (borrowing PIN, borrowing PIN, LastTry, TokenInsertion) throws(TokenError) -> Void
    ) throws(KeychainError) {
        let insertion = try insertionOfManagedPIN()
        var question = PINQuestion(
            present, use: use, slot: slot, insertion: insertion, authentication: authentication, allowsPINPad: false)
        var old = try question.ask()
        var new = try askNew(kind, for: question.subject, at: insertion, authentication)
        while true {
            do throws(TokenError) {
                return try body(old, new, question.lastTry, insertion)
            } catch {
                try question.answer(failedWith: error)
                old = try question.ask()
                // The card does not tell which of the two values has the wrong form.
                if error.code == .pinFormat, error.status != nil {
                    new = try askNew(kind, for: question.subject, at: insertion, authentication)
                }
            }
        }
    }

    /// Whether this session presented the PIN and the card still counts it as presented.
    ///
    /// - Throws: `errSecNoSuchKeychain` where there is no card that a driver knows.
    func isUnlocked() throws(KeychainError) -> Bool {
        try present { () throws(TokenError) in try slot.isPINPresented() }
    }

    /// Whether the token's private keys want a PIN.
    ///
    /// - Throws: as ``isUnlocked()`` does.
    func wantsPIN() throws(KeychainError) -> Bool {
        try slot.pinRules(at: insertion()).isWanted
    }

    /// Readable, and unlocked while ``isUnlocked()``; empty without a card of a known kind.
    var status: KeychainStatus {
        (try? isUnlocked()).map { $0 ? [.readable, .unlocked] : .readable } ?? []
    }

    /// Resets the card, so that it forgets the PIN, whichever program presented it.
    func reset() throws(KeychainError) {
        try present { () throws(TokenError) in try slot.reset() }
    }

    /// Makes the card forget the PIN.
    func logOut() throws(KeychainError) {
        try present { () throws(TokenError) in try slot.logOut() }
    }

    /// Asks for a new PIN or unblocking key until its form is right: a mistake costs only another question.
    private func askNew(
        _ kind: PINKind, for subject: String, at insertion: TokenInsertion, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> PIN {
        let purpose: PromptRequest.Purpose = kind == .pin ? .newPIN : .newUnblockingKey
        let rules = slot.pinRules(at: insertion)
        let form = PromptRequest.Form(lengths: rules.lengths, onlyDigits: kind == .pin && rules.onlyDigits)
        var failure: String?
        var count = 0
        while true {
            count += 1
            let request = PromptRequest(purpose, subject: subject, failure: failure, form: form)
            let pin = PIN(try authentication.prompter.ask(request))
            do throws(TokenError) {
                try slot.checkFormat(of: pin, as: kind, at: insertion)
                return pin
            } catch {
                guard authentication.prompter.canAskAgain, count < PromptRequest.mostQuestions else {
                    throw KeychainError(.param, "the new \(kind.name) cannot be set: \(error.reason)")
                }
                failure = error.reason
            }
        }
    }

    /// - Throws: an error for a token whose PIN only its own tool changes, before a person is asked for one.
    private func insertionOfManagedPIN() throws(KeychainError) -> TokenInsertion {
        let insertion = try insertion()
        guard slot.pinRules(at: insertion).isManagedHere else {
            throw KeychainError(
                TokenError(
                    .unsupported,
                    "the PIN of the token in '\(name)' is not changed here (use the token's own tool)"))
        }
        return insertion
    }

    func insertion() throws(KeychainError) -> TokenInsertion {
        try present { () throws(TokenError) in try slot.insertion() }
    }

    private func present<Result>(_ body: () throws(TokenError) -> Result) throws(KeychainError) -> Result {
        guard let result = try ifPresent(body) else {
            throw KeychainError(
                .noSuchKeychain, "there is no card that a driver knows in '\(slot.name)'", remedy: "insert one")
        }
        return result
    }
}
