public import KeychainModel
public import SecureBytes
internal import SystemCrypto

/// What a new password has changed beside itself.
public struct PasswordChange: Sendable {
    /// Why the old password, or the old key, is still in a file beside the keychain's, and what to do; nil where it is in none.
    public fileprivate(set) var leftover: KeychainError?
    /// The cards that open the keychain with its new key as well.
    public internal(set) var renewedBindings: [CardBinding] = []
    /// The cards that opened the keychain, and with its new key do not.
    public internal(set) var droppedBindings: [CardBinding] = []
}

// Another password, and another key. Keychain semantics 2.2.
extension LocalKeychain {
    /// Replaces the password; items stay as they are, and so does being locked or unlocked in this process and in others.
    /// Login sessions lose the key. Without a password, items go that may only be where there is one
    /// (``Accessibility/whenPasscodeSet``).
    ///
    /// The key stays: whoever has a copy of the file from before, and the old password, has it. ``rekey(from:to:cost:)``
    /// changes it.
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
                return opened.finishPasswordChange()
            })
    }

    /// Replaces the password and the key, so that no copy of the file from before helps to open it.
    ///
    /// Every item is sealed anew, in one transaction. Cards go on opening the keychain where the binding is known to be this
    /// keychain's own; others have to be bound again. Other processes, and login sessions, lose the key.
    ///
    /// - Throws: as ``changePassword(from:to:cost:)``, and `errSecDecode`, naming each, where items are damaged: nobody could tell
    ///   later what they were. Nothing has changed then.
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
            guard var change = try opened.rekey(from: oldKey, to: key, current, replacement) else { return nil }
            change.leftover = opened.finishPasswordChange(key).leftover
            return change
        }
        // Whoever has it unlocked wakes, and forgets a key that is none any more.
        touch()
        return try finish(change)
    }

    private func finish(_ change: PasswordChange?) throws(KeychainError) -> PasswordChange {
        guard let change else { throw KeychainError(.authFailed, "the password was changed by another program") }
        return change
    }
}

extension OpenKeychain {
    /// Puts a newly wrapped key in the place of the one before. Without a password there is nothing left that could protect
    /// items which ask for one: they go. Keychain semantics 3.1.
    ///
    /// - Parameter others: what else belongs to the transaction.
    /// - Returns: nil if the old one is no longer there.
    /// - Throws: `errSecInvalidKeychain` where the file does not have the new one afterwards; nothing has changed then.
    func replace<Result>(
        _ old: WrappedKey, by new: WrappedKey, with others: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result? {
        try database.writing { () throws(KeychainError) in
            let isReplaced = try KeychainError.mapping { () throws(SQLiteError) in try new.replace(old, in: database) }
            guard isReplaced else { return nil }
            guard try WrappedKey(readingFrom: database) == new else {
                throw KeychainError(
                    .invalidKeychain, "the password was not changed: the keychain file did not keep the new one",
                    remedy: "restore the keychain from a backup")
            }
            if !new.hasPassword {
                for itemClass in ItemClass.stored {
                    _ = try remove(
                        ResolvedQuery(Query(itemClass, Self.passcodeBound, limit: .all)), evenAltered: true)
                }
            }
            let result = try others()
            try note(.passwordChanged)
            return result
        }
    }

    /// - Returns: false if the old one is no longer there.
    func replace(_ old: WrappedKey, by new: WrappedKey) throws(KeychainError) -> Bool {
        try replace(old, by: new) { true } ?? false
    }

    private static let passcodeBound: Attributes = [
        .accessible: Accessibility.whenPasscodeSet, .synchronizable: Query.anySynchronizable,
    ]

    /// Replaces the key: every row that is sealed is sealed under the new one.
    ///
    /// - Returns: nil if the old password is no longer there.
    func rekey(
        from old: borrowing Secret, to new: borrowing Secret, _ current: WrappedKey, _ replacement: WrappedKey
    ) throws(KeychainError) -> PasswordChange? {
        try checkIndexes()
        try database.writing { () throws(KeychainError) in try renewSeals(under: old) }
        return try replace(current, by: replacement) { () throws(KeychainError) in
            var damaged: [String] = []
            for itemClass in ItemClass.stored { damaged += try reseal(itemClass, from: old, to: new) }
            guard damaged.isEmpty else { throw Self.isDamaged(damaged) }
            return try renewBindings(from: old, to: new)
        }
    }

    /// - Returns: what those are called that are damaged, and were left as they are.
    private func reseal(
        _ itemClass: ItemClass, from old: borrowing Secret, to new: borrowing Secret
    ) throws(KeychainError) -> [String] {
        var damaged: [String] = []
        for number in try rowNumbers(of: itemClass) {
            var name = itemClass.anyNoun
            do throws(KeychainError) {
                let row = try row(numbered: number, of: itemClass)
                name = "the \(itemClass.noun) v_PersistentRef=\(row.hexReference)"
                guard let sealed = try row.resealed(from: old, to: new, keychain: id) else { continue }
                let (sql, values) = itemClass.columns.update(sealed, in: row.id)
                try KeychainError.mapping { () throws(SQLiteError) in try database.run(sql, values) }
            } catch {
                guard error.code == .decode else { throw error }
                damaged.append(name)
            }
        }
        return damaged
    }

    private static func isDamaged(_ items: [String]) -> KeychainError {
        KeychainError(
            .decode,
            "the keychain has damaged items, which would be lost with its old key: \(items.joined(separator: ", "))",
            remedy: "delete each with 'tokenctl item -D v_PersistentRef=…', or restore the keychain from a backup")
    }

    private func renewBindings(
        from old: borrowing Secret, to new: borrowing Secret
    ) throws(KeychainError) -> PasswordChange {
        var change = PasswordChange()
        let bindings = try CardBindingTable.all(in: database).bindings
        // With those that are damaged.
        _ = try CardBindingTable.remove(nil, from: database)
        for binding in bindings {
            if let renewed = try binding.renewed(sealing: new, of: id, insteadOf: old) {
                try CardBindingTable.put(renewed, in: database)
                change.renewedBindings.append(renewed)
            } else {
                change.droppedBindings.append(binding)
            }
        }
        return change
    }

    // MARK: After the transaction

    /// Takes the key away from the login session, and the old password out of the files.
    mutating func finishPasswordChange() -> PasswordChange {
        // What another session has kept does not fit the new salt.
        _ = try? withdrawKey()
        lifetime.isShared = false
        return PasswordChange(leftover: leftover())
    }

    /// The same, with another key.
    mutating func finishPasswordChange(_ key: borrowing Secret) -> PasswordChange {
        if self.key != nil { self.key = key.clone() }
        return finishPasswordChange()
    }

    /// Empties the log, and tells why that is not possible.
    private func leftover() -> KeychainError? {
        do throws(KeychainError) {
            let isEmptied = try database.waiting(atMost: 2000, instead: Self.busyTimeout) { () throws(KeychainError) in
                try KeychainError.mapping { () throws(SQLiteError) in try database.truncateLog() }
            }
            guard !isEmptied else { return nil }
            return KeychainError(
                .notAvailable,
                "\(Bell(of: file.path).log) still has what the old password opens, since another program is reading the keychain",
                remedy: "end the programs that use the keychain; the last one takes the file away")
        } catch {
            return KeychainError(
                error.code, "\(Bell(of: file.path).log) still has what the old password opens: \(error.reason)",
                remedy: error.remedy)
        }
    }
}

extension ItemRow {
    /// The same under another key; nil for one without a seal.
    ///
    /// - Throws: `errSecDecode` if the row is not the one that was written.
    fileprivate func resealed(
        from old: borrowing Secret, to new: borrowing Secret, keychain: UniqueID
    ) throws(KeychainError) -> ItemRow? {
        let secret = try open(key: old, keychain: keychain)
        guard sealed != nil else { return nil }
        var row = self
        try row.seal(secret, key: new, keychain: keychain)
        return row
    }
}
