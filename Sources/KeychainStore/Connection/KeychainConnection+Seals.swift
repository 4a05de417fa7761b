package import KeychainModel
package import SecureBytes
internal import SystemCrypto

// The seals of items that are only read. Those of secrets are opened with them.
extension KeychainConnection {
    /// Checks that a certificate or a key is as it was stored, as far as the seal can tell.
    ///
    /// - Throws: `errSecDecode` where it is not: by its seal while the keychain is unlocked, else by the hash of a key's public half.
    @discardableResult
    package func checkSeal(of row: ItemRow) throws(KeychainError) -> Vouching {
        guard row.sealed != nil else {
            if row.itemClass == .key, !row.hasFittingPublicHalf { throw row.altered }
            return key == nil || hasOldSeals ? .unknown : .unsealed
        }
        switch key {
        case .some(let key):
            do throws(KeychainError) { _ = try row.open(key: key, keychain: id) } catch {
                try checkKeyIsCurrent()
                throw error
            }
            return .sealed
        case .none:
            if row.itemClass == .key, !row.hasFittingPublicHalf { throw row.altered }
            return .unknown
        }
    }

    /// Whether rows may still have the seals of the first version.
    var hasOldSeals: Bool {
        switch key {
        case .some(let key): (try? WrappedKey(readingFrom: database).hasOldSeals(key)) == true
        case .none: false
        }
    }

    /// Gives the rows of a keychain that an older version made their seals, if that is possible now.
    func renewSeals() {
        guard hasOldSeals, (try? checkWritable()) != nil else { return }
        try? database.waiting(atMost: 2000, instead: Self.busyTimeout) { () throws(KeychainError) in
            try database.writing { () throws(KeychainError) in
                switch key {
                case .some(let key): try renewSeals(under: key)
                case .none: return
                }
            }
        }
    }

    /// Seals every row anew, with certificates and public keys that had no seal, in the transaction that is going on.
    ///
    /// What fits no more is left as it is. Where any row has a seal of the current version, the mark of the first one was put back
    /// from an older file, and what has no seal may be anybody's: it stays so.
    package func renewSeals(under key: borrowing Secret) throws(KeychainError) {
        let current = try WrappedKey(readingFrom: database)
        guard !current.isAltered, current.hasOldSeals(key) else { return }
        var renewed: [ItemRow] = []
        var isMixed = false
        for itemClass in ItemClass.stored {
            for number in try rowNumbers(of: itemClass) {
                guard var row = try? row(numbered: number, of: itemClass), !row.isAltered else { continue }
                if row.sealed == nil {
                    guard !itemClass.holdsSecret(row.attributes), row.hasFittingPublicHalf else { continue }
                    try row.seal(nil, key: key, keychain: id)
                } else if try row.hasSeal(.first, key: key, keychain: id) {
                    try row.seal(row.open(key: key, keychain: id), key: key, keychain: id)
                } else {
                    if try row.hasSeal(.current, key: key, keychain: id) { isMixed = true }
                    continue
                }
                renewed.append(row)
            }
        }
        for row in isMixed ? [] : renewed {
            let (sql, values) = row.itemClass.columns.update(row, in: row.id)
            try KeychainError.mapping { () throws(SQLiteError) in try database.run(sql, values) }
        }
        let check = try KeychainError.mapping { () throws(CryptoError) in try WrappedKey.check(under: key, of: id) }
        try KeychainError.mapping { () throws(SQLiteError) in
            try database.run("UPDATE keychain SET key_check = ?", [.blob(check)])
            try database.stampRows(of: "keychain")
        }
    }
}
