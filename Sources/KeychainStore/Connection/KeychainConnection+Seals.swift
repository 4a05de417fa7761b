package import KeychainModel
package import SecureBytes
internal import SystemCrypto

// Checks the seals of items whose secret is not read. Reading a secret opens its seal anyway.
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

    /// Renews the seals of a keychain that an older version made, if it is unlocked and can be written to.
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

    /// Seals every row anew, and also certificates and public keys without a seal, in the current transaction.
    ///
    /// Rows that do not fit their seal or checksum are left as they are. If any row has a seal of the current version,
    /// the keychain's mark of the first version was put back from an older file, and rows without a seal may be forged:
    /// no row is sealed then.
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
