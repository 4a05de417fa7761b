public import HostAPI
internal import KeychainStore
public import KeychainModel
internal import Localization
public import SecureBytes
internal import SystemCrypto

// Another password, and another key. Keychain semantics 2.2.
extension LocalKeychain {
    /// - Throws: `errSecAuthFailed` for a wrong password.
    func check(password: borrowing Secret) throws(KeychainError) {
        _ = try wrappedKey().unwrap(password: password, of: name)
    }

    /// Replaces the password. Items stay unchanged, and so does the locked state here and in other processes. Login
    /// sessions lose the key. Without a password, items that require one are deleted
    /// (``Accessibility/whenPasscodeSet``).
    ///
    /// The key stays the same: an earlier copy of the file still reveals it to anyone with the old password.
    /// ``rekey(from:to:cost:)`` changes it.
    ///
    /// - Throws: `errSecAuthFailed` for a wrong old password, or if another process changed it at the same time.
    @discardableResult
    public func changePassword(
        from old: borrowing Secret, to new: borrowing Secret, cost: ScryptCost = .standard
    ) throws(KeychainError) -> PasswordChange {
        try checkWritable()
        let current = try wrappedKey()
        let key = try current.unwrap(password: old, of: name)
        let replacement = try WrappedKey(wrapping: key, of: current.keychain, password: new, cost: cost)
        return try finish(
            change { opened throws(KeychainError) -> PasswordChange? in
                try opened.database.writing { () throws(KeychainError) in try opened.renewSeals(under: key) }
                guard try opened.replace(current, by: replacement) else { return nil }
                return PasswordChange(leftover: opened.finishPasswordChange())
            })
    }

    /// Replaces the password and the key, so that no copy of the file from before helps to open it.
    ///
    /// Every item is sealed anew, in one transaction. Cards go on opening the keychain where the binding is known to be this
    /// keychain's own; others have to be bound again. Other processes, and login sessions, lose the key.
    ///
    /// - Throws: as ``changePassword(from:to:cost:)``, and `errSecDecode`, naming each, where items are damaged, which
    ///   would be lost with the old key. Nothing has changed then.
    @discardableResult
    public func rekey(
        from old: borrowing Secret, to new: borrowing Secret, cost: ScryptCost = .standard
    ) throws(KeychainError) -> PasswordChange {
        try checkWritable()
        let current = try wrappedKey()
        let oldKey = try current.unwrap(password: old, of: name)
        let key = try KeychainError.mapping { () throws(CryptoError) in
            try RandomBytes.makeSecret(count: WrappedKey.keyLength)
        }
        let replacement = try WrappedKey(wrapping: key, of: current.keychain, password: new, cost: cost)
        let change = try change { opened throws(KeychainError) -> PasswordChange? in
            var (change, renewed) = (PasswordChange(), [CardBinding]())
            let isReplaced = try opened.rekey(from: oldKey, to: key, current, replacement) {
                rows throws(KeychainError) in
                for row in rows {
                    guard let binding = CardBinding(row) else { continue }
                    if let new = try binding.renewed(sealing: key, of: current.keychain, insteadOf: oldKey) {
                        renewed.append(new)
                    } else {
                        change.dropped.append(BoundCard(binding))
                    }
                }
                return renewed.map(\.row)
            }
            guard isReplaced else { return nil }
            change.renewed = renewed.map { BoundCard($0) }
            change.leftover = opened.finishPasswordChange(key)
            return change
        }
        // Wakes the programs that have it unlocked, so that they forget a key that is no longer valid.
        touch()
        return try finish(change)
    }

    private func finish(_ change: PasswordChange?) throws(KeychainError) -> PasswordChange {
        guard let change else { throw KeychainError(.authFailed, "the password was changed by another program") }
        return change
    }
}
