internal import HostAPI
internal import KeychainStore
public import KeychainModel
internal import SecureBytes

// The order in which a keychain's key is looked for: a password that a program gave, a bound card, a password that is asked for.
// Keychain semantics 4.4.
extension LocalKeychain {
    /// Unlocks with the context's password, else with a bound card, else with the
    /// answer to a question.
    ///
    /// - Parameter use: completes "password to …".
    public func unlock(use: String, authentication: AuthenticationContext) throws(KeychainError) {
        guard isLocked else { return }
        if try !wrappedKey().hasPassword { return try unlock(password: Secret(copying: [UInt8]().span)) }
        try unlock(key: try obtainKey(use: use, afresh: false, authentication: authentication))
        authentication.notePresence(for: identifier)
    }

    /// Unlocks for a change: as ``unlock(use:authentication:)``, except that a keychain which can only be read asks no person.
    func unlockToChange(use: String, authentication: AuthenticationContext) throws(KeychainError) {
        try checkWritable()
        try unlock(use: use, authentication: authentication)
    }

    /// Requires the password or the PIN, even while the keychain is unlocked, and unlocks a locked one.
    ///
    /// A context that remembers it is not asked again while the keychain stays unlocked.
    func confirmPresence(use: String, authentication: AuthenticationContext) throws(KeychainError) {
        if !isLocked, authentication.knowsPresence(for: identifier) { return }
        let key = try obtainKey(use: use, afresh: true, authentication: authentication)
        if isLocked { try unlock(key: key) } else { try take(key) }
        authentication.notePresence(for: identifier)
    }

    /// - Parameter afresh: whether the PIN must be presented for this, even if the card counts it as presented.
    private func obtainKey(
        use: String, afresh: Bool, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        var failure: KeychainError?
        let given = try attempt(&failure) { () throws(KeychainError) in try keyFromContext(authentication) }
        if let given {
            authentication.noteGiven(for: accessPlace(of: given))
            return given
        }
        // A credential that a program gave is its answer: once it is refused, no person is asked for another.
        if let failure, failure.code == .authFailed { throw failure }
        let byCard = try attempt(&failure) { () throws(KeychainError) in
            guard !authentication.hasOneAnswer || authentication.hasCredential(.pin) else { return nil }
            return try boundKey(with: authentication.cards, use: use, afresh: afresh, authentication: authentication)
        }
        if let byCard { return byCard }
        // Another question is useless where the file itself is damaged.
        if let failure, failure.code == .invalidKeychain { throw failure }
        // A script gives its answers in order: the next one must not answer another question than it was written for.
        if let failure, failure.code == .authFailed,
            authentication.isRefused(.pin) || !authentication.prompter.canAskAgain
        {
            throw failure
        }
        var timesAsked = 0
        while true {
            let request = PromptRequest(.password, subject: name, use: use, failure: failure?.reason)
            guard authentication.prompter.canAsk else {
                throw failure ?? .cannotAsk(request, by: authentication.prompter)
            }
            let password = try authentication.prompter.ask(request)
            timesAsked += 1
            do throws(KeychainError) {
                let key = try wrappedKey().unwrap(password: password, of: name)
                authentication.noteGiven(for: accessPlace(of: key))
                return key
            } catch {
                // A password that a damaged file does not open may still be a PIN.
                let mayBePIN = authentication.hasOneAnswer && error.code == .invalidKeychain
                guard mayBePIN || error.code == .authFailed && timesAsked < PromptRequest.mostQuestions else {
                    throw error
                }
                failure = error
            }
            guard authentication.hasOneAnswer else { continue }
            // A script does not say whether it gives a password or a PIN; trying it as a password cost no try.
            let byCard = try boundKey(
                with: authentication.cards, use: use, afresh: afresh,
                authentication: AuthenticationContext(pin: password, lastTry: authentication.lastTry))
            if let byCard {
                // The PIN was the program's own answer.
                authentication.noteGiven(for: accessPlace(of: byCard))
                return byCard
            }
            if let failure { throw failure }
        }
    }

    /// Keeps an error, since other ways remain; throws it where the person has cancelled.
    private func attempt(
        _ failure: inout KeychainError?, _ body: () throws(KeychainError) -> Secret?
    ) throws(KeychainError) -> Secret? {
        do throws(KeychainError) {
            return try body()
        } catch {
            guard error.code != .userCanceled else { throw error }
            failure = error
            return nil
        }
    }

    /// - Throws: `errSecAuthFailed` where the context's password is wrong, which the context then forgets, or was wrong
    ///   before and the context has no PIN either.
    private func keyFromContext(_ authentication: AuthenticationContext) throws(KeychainError) -> Secret? {
        switch authentication.credential(.password) {
        case .none:
            if !authentication.hasCredential(.pin) { try authentication.checkNotRefused(.password) }
            return nil
        case .some(let password):
            do throws(KeychainError) {
                return try wrappedKey().unwrap(password: password, of: name)
            } catch {
                if error.code == .authFailed { authentication.refuseCredential(.password) }
                throw error
            }
        }
    }
}
