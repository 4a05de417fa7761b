package import KeychainModel
package import SecureBytes

/// The key of a keychain: unlocking, sharing with the session, locking.
extension KeychainConnection {
    /// Takes the key.
    package mutating func unlock(_ key: consuming Secret) throws(KeychainError) {
        lifetime = KeyLifetime(try KeychainSettings(readingFrom: database), from: environment.uptime())
        self.key = consume key
        renewSeals()
    }

    /// Forgets the key.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package mutating func lock() -> Bool {
        guard key != nil else { return false }
        key = nil
        lifetime.isShared = false
        return true
    }

    /// Forgets the key if its time is over, if the login session has lost it, or if the keychain has got another one.
    ///
    /// - Returns: whether it did.
    package mutating func lockIfOver() -> Bool {
        guard key != nil else { return false }
        guard heedChanges() else { return lock() }
        let isLost = lifetime.isShared && !isInSession
        guard isLost || lifetime.isOver(at: environment.uptime()) else { return false }
        return lock()
    }

    /// Takes over settings that another process has made since the last look. Unreadable ones change nothing.
    ///
    /// - Returns: false if another process has given the keychain another key.
    private mutating func heedChanges() -> Bool {
        guard let version = try? database.dataVersion, version != dataVersion else { return true }
        guard (try? isKeyCurrent()) != false else { return false }
        guard let settings = try? KeychainSettings(readingFrom: database) else { return true }
        dataVersion = version
        if settings != lifetime.settings { lifetime.change(settings, at: environment.uptime()) }
        return true
    }

    /// Whether the key is still the keychain's; true for a damaged row, which cannot show it.
    private func isKeyCurrent() throws(KeychainError) -> Bool {
        let current = try WrappedKey(readingFrom: database)
        return switch key {
        case .some(let key): current.isAltered || current.isFor(key)
        case .none: true
        }
    }

    /// Makes sure that a row may be sealed in the current transaction, beside rows with seals of the same version.
    ///
    /// - Throws: `errSecInteractionNotAllowed` where the keychain has got another key.
    func prepareSealing() throws(KeychainError) {
        try checkKeyIsCurrent()
        switch key {
        // A seal of the current version beside older ones would look like a file that was put together.
        case .some(let key): try renewSeals(under: key)
        case .none: return
        }
    }

    /// Checks that secrets sealed under the key will be readable: no other process can change the key until the current
    /// transaction ends.
    ///
    /// - Throws: `errSecInteractionNotAllowed` where the keychain has got another key.
    func checkKeyIsCurrent() throws(KeychainError) {
        guard key != nil, (try? database.dataVersion) != dataVersion else { return }
        guard try isKeyCurrent() else { throw Self.locked }
    }

    /// Restarts the time after which the unused keychain locks.
    package mutating func noteUse() {
        guard key != nil else { return }
        let now = environment.uptime()
        let isRenewalDue = lifetime.isRenewalDue(at: now)
        if isRenewalDue { keepSharedKey() }
        if isRenewalDue || !lifetime.isShared { lifetime.use(at: now) }
    }

    // MARK: The login session

    /// The name of the key in the session's keyring.
    private var sharedKeyName: String {
        "tokenkit:keychain:\(identifier.rawValue.dropFirst(KeychainIdentifier.localPrefix.count))"
    }

    /// Whether the session has the key.
    package var isInSession: Bool { (try? environment.signals.hasKey(sharedKeyName)) == true }

    /// Stores the key in the session's keyring, which from then on decides how long it is kept, at most `seconds`.
    package mutating func shareKey(seconds: UInt32) throws(KeychainError) {
        let now = environment.uptime()
        var shared = lifetime
        shared.isShared = true
        shared.end = now.total + Int64(seconds) * 1000
        switch key {
        case .some(let key):
            guard seconds > 0 else { throw KeychainError(.param) }
            let salt = try WrappedKey(readingFrom: database).salt
            let payload = SharedKey(key, asleep: max(now.asleep, 0), end: shared.end ?? 0, salt: salt).encoded()
            try environment.signals.keep(payload, as: sharedKeyName, seconds: shared.secondsInSession(at: now))
        case .none: throw Self.locked
        }
        lifetime = shared
        sharing = try? journalEnd()
    }

    /// Sets the time for which the session keeps the key, if it has it, to what the lifetime says now.
    package func keepSharedKey() {
        guard lifetime.isShared else { return }
        let seconds = lifetime.secondsInSession(at: environment.uptime())
        _ = try? environment.signals.prolong(sharedKeyName, to: seconds)
    }

    /// Takes over the key from the session's keyring, if there is one, it fits, and its time is not over.
    package mutating func takeSharedKey() throws(KeychainError) -> Bool {
        guard let bytes = try environment.signals.key(sharedKeyName), let shared = SharedKey(parsing: bytes) else {
            return false
        }
        let current = try WrappedKey(readingFrom: database)
        guard shared.salt == current.salt, current.isFor(shared.key) else { return false }
        let now = environment.uptime()
        // Last use unknown; renewed on the next use.
        var lifetime = KeyLifetime(
            try KeychainSettings(readingFrom: database), from: Uptime(total: 0, asleep: shared.asleep))
        lifetime.isShared = true
        lifetime.end = shared.end
        guard !lifetime.isOver(at: now) else {
            _ = try withdrawKey()
            return false
        }
        self.lifetime = lifetime
        sharing = try? journalEnd()
        key = shared.key.clone()
        renewSeals()
        return true
    }

    /// Removes the key from the session's keyring.
    package func withdrawKey() throws(KeychainError) -> Bool {
        try environment.signals.withdraw(sharedKeyName)
    }
}
