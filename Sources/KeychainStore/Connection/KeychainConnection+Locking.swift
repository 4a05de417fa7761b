package import KeychainModel
package import SecureBytes
internal import SystemCrypto

/// The key of a keychain: unlocking, locking.
extension KeychainConnection {
    /// Takes the key.
    package mutating func unlock(_ key: consuming Secret) throws(KeychainError) {
        lifetime = KeyLifetime(try KeychainSettings(readingFrom: database), from: environment.uptime())
        self.key = consume key
        emptyPassword = nil
        renewSeals()
    }

    /// Whether the key is there, and is another one. Whoever can write to the file can put a key of his own into it.
    package func isUnlocked(withOtherThan key: borrowing Secret) -> Bool {
        switch self.key {
        case .some(let own): !own.equals(key)
        case .none: false
        }
    }

    /// A text by which the key is told from others, and that does not tell the key; nil while the keychain is locked.
    package var keyName: String? {
        switch key {
        case .some(let key): Self.name(of: key)
        case .none: nil
        }
    }

    /// A text by which a key is told from others, and that does not tell the key.
    package static func name(of key: borrowing Secret) -> String {
        let code = try? HMAC.code(for: Array("keychain key name 1".utf8), key: key)
        // Without a code it is a name that no other call gives.
        return Hex.encode(code ?? UniqueID().bytes)
    }

    /// Whether a password other than the empty one opens the keychain.
    ///
    /// The file's word for it is checked while the keychain is unlocked: whoever can write to the file could have it say that there is no
    /// password, so that programs are used without a question.
    package mutating func hasPassword(_ wrapped: WrappedKey) -> Bool {
        guard !wrapped.hasPassword else { return true }
        guard key != nil else { return false }
        if let known = emptyPassword, known.row == wrapped { return !known.opens }
        let opened = try? wrapped.unwrap(password: Secret(capacity: 0) { _ in }, of: file.keychainName)
        let opens =
            switch opened {
            case .some(let opened): !isUnlocked(withOtherThan: opened)
            case .none: false
            }
        emptyPassword = (wrapped, opens)
        return !opens
    }

    /// Forgets the key.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package mutating func lock() -> Bool {
        guard key != nil else { return false }
        key = nil
        return true
    }

    /// Forgets the key if its time is over, or if the keychain has got another one.
    ///
    /// - Returns: whether it did.
    package mutating func lockIfOver() -> Bool {
        guard key != nil else { return false }
        guard heedChanges() else { return lock() }
        return lifetime.isOver(at: environment.uptime()) && lock()
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

    /// Forgets the key after a time, in use or not, if its time is not over before.
    package mutating func limitLifetime(toSeconds seconds: UInt32) {
        lifetime.limit(toSeconds: seconds, from: environment.uptime())
    }

    /// Restarts the time after which the unused keychain locks.
    package mutating func noteUse() {
        if key != nil { lifetime.use(at: environment.uptime()) }
    }
}
