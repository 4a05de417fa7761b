internal import KeychainStore
public import KeychainModel
public import SecureBytes
internal import Synchronization

// Locking and unlocking, keychain semantics 2.1 and 2.2.
extension LocalKeychain {
    /// Whether secrets are out of reach.
    public var isLocked: Bool {
        state.withLock { opened in
            state.lockIfOver(&opened)
            return opened.key == nil
        }
    }

    /// The keychain's state at the moment; empty once its file has been deleted.
    var status: KeychainStatus {
        guard isValid else { return [] }
        let access: KeychainStatus = isReadOnly ? .readable : [.readable, .writable]
        return needsPassword ? access : access.union(.unlocked)
    }

    /// Makes secrets readable in this process. A wrong password takes as long as the right one.
    ///
    /// - Throws: `errSecAuthFailed` for a wrong password.
    public func unlock(password: borrowing Secret) throws(KeychainError) {
        try unlock(key: try wrappedKey().unwrap(password: password, of: name))
    }

    /// Unlocks with the key itself.
    func unlock(key: consuming Secret) throws(KeychainError) {
        try take(key)
        state.withLock { state.record(.unlock, in: $0) }
    }

    /// The purpose of unlocking for its own sake, in words that complete "password to …".
    static let plainUnlock = "unlock it"

    /// Forgets the key. Does nothing for a locked keychain.
    public func lock() {
        state.withLock { opened in
            if opened.lock() { state.record(.lock, in: opened) }
        }
    }

    func wrappedKey() throws(KeychainError) -> WrappedKey {
        try use { opened throws(KeychainError) in try WrappedKey(readingFrom: opened.database) }
    }

    func take(_ key: consuming Secret) throws(KeychainError) {
        var key: Secret? = key
        try use { opened throws(KeychainError) in
            if let key = key.take() { try opened.unlock(key) }
        }
        startTimer()
    }
}

// MARK: Settings

extension LocalKeychain {
    /// When the keychain locks by itself.
    var settings: KeychainSettings {
        get throws(KeychainError) {
            try use { opened throws(KeychainError) in try KeychainSettings(checkedIn: opened.database) }
        }
    }

    /// Changes when the keychain locks by itself, in every process that has it unlocked; there the time counts from when the
    /// change is noticed.
    ///
    /// - Throws: `errSecInteractionNotAllowed` if the keychain is locked, `errSecReadOnly`; `errSecParam` for an
    ///   interval of 0 seconds.
    public func change(_ settings: KeychainSettings) throws(KeychainError) {
        guard settings.lockInterval != 0 else { throw KeychainError(.param, "an interval must be at least a second") }
        try change { opened throws(KeychainError) in
            guard opened.key != nil else { throw KeychainConnection.locked }
            try opened.database.writing { () throws(KeychainError) in
                try KeychainError.mapping { () throws(SQLiteError) in try settings.write(to: opened.database) }
            }
            opened.lifetime.change(settings, at: opened.environment.uptime())
            opened.keepSharedKey()
        }
        touch()
        startTimer()
    }

    /// The cost of one guess at the password.
    ///
    /// - Throws: `errSecInvalidKeychain` where that is not as it was written.
    var cost: ScryptCost {
        get throws(KeychainError) { try unalteredKey().cost }
    }

    /// Whether the keychain has a password, and not an empty one: a passcode, in the words of keychain semantics 3.1.
    ///
    /// - Throws: `errSecInvalidKeychain` where that is not as it was written.
    var hasPassword: Bool {
        get throws(KeychainError) { try unalteredKey().hasPassword }
    }

    private func unalteredKey() throws(KeychainError) -> WrappedKey {
        let key = try wrappedKey()
        if let damage = key.damage { throw damage }
        return key
    }
}

// MARK: The login session

extension LocalKeychain {
    /// Leaves the key where later processes of the login session find it, for a number of seconds. The session then
    /// decides how long it is kept: when its time is over, or another process locks the session, the keychain is locked
    /// here as well.
    ///
    /// - Throws: `errSecInteractionNotAllowed` if the keychain is locked, `errSecNotAvailable` where the kernel keeps no
    ///   keys; the keychain stays unlocked in this process all the same.
    public func shareKeyWithSession(seconds: UInt32) throws(KeychainError) {
        try use { opened throws(KeychainError) in try opened.shareKey(seconds: seconds) }
        startTimer()
        // From now on watchers of the file check whether the session still has the key.
        state.tellOfChange()
    }

    /// Unlocks for later programs of the login session as well; where the kernel keeps no keys, for this one alone.
    func shareKeyWithSession() throws(KeychainError) {
        do throws(KeychainError) {
            try shareKeyWithSession(seconds: KeychainSettings.standardSessionTime)
        } catch {
            guard error.code == .notAvailable else { throw error }
        }
    }

    /// Unlocks with the key an earlier process of the login session left.
    ///
    /// - Returns: false if there is none, it is not this keychain's, or its time is over.
    /// - Throws: `errSecNotAvailable` where the kernel keeps no keys.
    public func unlockFromSession() throws(KeychainError) -> Bool {
        let isUnlocked = try use { opened throws(KeychainError) in try opened.takeSharedKey() }
        if isUnlocked { startTimer() }
        return isUnlocked
    }

    /// Removes the key from the login session, and forgets it here.
    ///
    /// - Returns: whether the session had it.
    @discardableResult
    public func lockSession() throws(KeychainError) -> Bool {
        try use { opened throws(KeychainError) in
            let wasUnlocked = opened.lock()
            // Recorded first: a watcher that notices that the key is gone records the event where no one has.
            if opened.isInSession || wasUnlocked { state.record(.lock, in: opened) }
            return try opened.withdrawKey()
        }
    }

    /// Locks here, in the login session, and in every program that has the key from there. A kernel without keyrings
    /// has no key to withdraw.
    func lockEverywhere() throws(KeychainError) {
        do throws(KeychainError) {
            try lockSession()
        } catch {
            guard error.code == .notAvailable else { throw error }
        }
    }
}

// MARK: Time

extension LocalKeychain {
    /// Starts the timer that forgets the key when its time is over, without a call.
    private func startTimer() {
        guard state.withLock({ $0.key != nil }) else { return }
        timer.start(watching: path) { [state] in state.timeToNextCheck() }
    }
}
