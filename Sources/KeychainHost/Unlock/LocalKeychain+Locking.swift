internal import KeychainStore
public import KeychainModel
internal import Localization
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
        return isLocked ? access : access.union(.unlocked)
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
    static let plainUnlock: LocalizedText = "unlock it"

    /// Forgets the key. Does nothing for a locked keychain.
    public func lock() {
        state.withLock { opened in
            if opened.lock() { state.record(.lock, in: opened) }
        }
    }

    func wrappedKey() throws(KeychainError) -> WrappedKey {
        try use { opened throws(KeychainError) in try WrappedKey(readingFrom: opened.database) }
    }

    /// Keeps the key until the settings, or a limit, say otherwise. An unlocked keychain keeps its limit.
    ///
    /// - Throws: `errSecInvalidKeychain` for another key than the one that it is unlocked with.
    func take(_ key: consuming Secret) throws(KeychainError) {
        var key: Secret? = key
        try use { opened throws(KeychainError) in
            guard let key = key.take() else { return }
            guard !opened.isUnlocked(withOtherThan: key) else {
                throw KeychainError(
                    .invalidKeychain,
                    "the keychain file was altered: the password opens another key than the keychain was unlocked with",
                    remedy: "restore it from a backup")
            }
            guard opened.key == nil else { return }
            try opened.unlock(key)
            if isShared.load(ordering: .acquiring) {
                opened.limitLifetime(toSeconds: KeychainSettings.standardSessionTime)
            }
        }
        startTimer()
    }

    /// Marks the keychain as one that several programs use. From then on it stays unlocked for
    /// ``KeychainSettings/standardSessionTime`` at most.
    func share() {
        guard !isShared.exchange(true, ordering: .acquiringAndReleasing) else { return }
        lockAfter(seconds: KeychainSettings.standardSessionTime)
    }

    /// Locks an unlocked keychain after a time, in use or not. It locks no later than it would have before.
    func lockAfter(seconds: UInt32) {
        state.withLock { if $0.key != nil { $0.limitLifetime(toSeconds: seconds) } }
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
        get throws(KeychainError) {
            let key = try unalteredKey()
            if key.hasPassword { return true }
            return try use { opened throws(KeychainError) in opened.hasPassword(key) }
        }
    }

    private func unalteredKey() throws(KeychainError) -> WrappedKey {
        let key = try wrappedKey()
        if let damage = key.damage { throw damage }
        return key
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
