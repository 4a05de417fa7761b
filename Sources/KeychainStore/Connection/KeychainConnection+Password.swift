package import KeychainModel
internal import Localization
package import SecureBytes
internal import SystemCrypto

extension KeychainConnection {
    /// Replaces the wrapped key. Items that require a password are deleted where the new key has none. Keychain
    /// semantics 3.1.
    ///
    /// - Parameter others: further changes in the same transaction.
    /// - Returns: nil if the old one is no longer there.
    /// - Throws: `errSecInvalidKeychain` where the file does not have the new one afterwards; nothing has changed then.
    func replace<Result>(
        _ old: WrappedKey, by new: WrappedKey, with others: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result? {
        try database.writing { () throws(KeychainError) in
            let isReplaced = try KeychainError.mapping { () throws(SQLiteError) in try new.replace(old, in: database) }
            guard isReplaced else { return nil }
            var written = try WrappedKey(readingFrom: database)
            written.isAltered = new.isAltered
            guard written == new else {
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
    package func replace(_ old: WrappedKey, by new: WrappedKey) throws(KeychainError) -> Bool {
        try replace(old, by: new) { true } ?? false
    }

    private static let passcodeBound: Attributes = [
        .accessible: Accessibility.whenPasscodeSet, .synchronizable: Query.anySynchronizable,
    ]

    /// Replaces the key: every row that is sealed is sealed under the new one.
    ///
    /// - Parameter renew: makes the card bindings for the new key from the unaltered old ones.
    /// - Returns: false if the old password is no longer there.
    package func rekey(
        from old: borrowing Secret, to new: borrowing Secret, _ current: WrappedKey, _ replacement: WrappedKey,
        renewing renew: ([CardBindingRow]) throws(KeychainError) -> [CardBindingRow]
    ) throws(KeychainError) -> Bool {
        try checkIndexes()
        try database.writing { () throws(KeychainError) in try renewSeals(under: old) }
        return try replace(current, by: replacement) { () throws(KeychainError) in
            var damaged: [String] = []
            for itemClass in ItemClass.stored { damaged += try reseal(itemClass, from: old, to: new) }
            guard damaged.isEmpty else { throw Self.isDamaged(damaged) }
            // The decisions' seals are under the old key. They are taken anew.
            try KeychainError.mapping { () throws(SQLiteError) in try AccessTable.remove(nil, from: database) }
            let bindings = try CardBindingTable.all(in: database).rows
            // Removes the damaged ones as well.
            _ = try CardBindingTable.remove(nil, from: database)
            for binding in try renew(bindings) { try CardBindingTable.put(binding, in: database) }
            return true
        } ?? false
    }

    /// - Returns: the names of the damaged items, which were left as they are.
    private func reseal(
        _ itemClass: ItemClass, from old: borrowing Secret, to new: borrowing Secret
    ) throws(KeychainError) -> [String] {
        var damaged: [String] = []
        for number in try rowNumbers(of: itemClass) {
            var name: LocalizedText = itemClass.anyNoun
            do throws(KeychainError) {
                let row = try row(numbered: number, of: itemClass)
                name = "the \(itemClass.noun) v_PersistentRef=\(row.reference.hexText)"
                guard let sealed = try row.resealed(from: old, to: new, keychain: id) else { continue }
                let (sql, values) = itemClass.columns.update(sealed, in: row.id)
                try KeychainError.mapping { () throws(SQLiteError) in try database.run(sql, values) }
            } catch {
                guard error.code == .decode else { throw error }
                damaged.append("\(name)")
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

    // MARK: After the transaction

    /// Finishes a change of the password that has replaced the key as well.
    package mutating func finishPasswordChange(_ key: borrowing Secret) -> KeychainError? {
        if self.key != nil { self.key = key.clone() }
        return finishPasswordChange()
    }

    /// Removes what the old password opens from the log.
    ///
    /// - Returns: the reason why the log still has it; nil if it is empty.
    package func finishPasswordChange() -> KeychainError? {
        do throws(KeychainError) {
            let isEmptied = try database.waiting(atMost: 2000, instead: Self.busyTimeout) { () throws(KeychainError) in
                try KeychainError.mapping { () throws(SQLiteError) in try database.truncateLog() }
            }
            guard !isEmptied else { return nil }
            return KeychainError(
                .notAvailable,
                "\(file.log) still has what the old password opens, since another program is reading the keychain",
                remedy: "end the programs that use the keychain; the last one takes the file away")
        } catch {
            return KeychainError(
                error.code, "\(file.log) still has what the old password opens: \(error.reasonText)",
                remedy: error.remedyText)
        }
    }
}

extension ItemRow {
    /// The row sealed under another key; nil for a row without a seal.
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
