package import KeychainModel
internal import SystemCrypto

/// A decision that holds for ever: a program may use an item.
package struct AccessGrant: Sendable, Hashable {
    /// The item, by ``PersistentReference/hexText``.
    let item: String
    /// The number of the use; 0 for all.
    let use: Int64
    /// The program, in bytes that only the host understands.
    let program: [UInt8]

    package init(item: String, use: Int64, program: [UInt8]) {
        (self.item, self.use, self.program) = (item, use, program)
    }
}

// The rows of the table `access`. Each has a seal under the keychain's key, so that a row that somebody else has written or moved allows
// nothing. A row that was deleted by a holder of the key can be put back by whoever can write to the file.
extension KeychainConnection {
    /// The number of decisions that a keychain keeps: the newest.
    static let maximumGrants = 10_000

    /// Whether a holder of the key has noted a decision; false while the keychain is locked.
    package func has(_ grant: AccessGrant) throws(KeychainError) -> Bool {
        // A file that cannot be written keeps its older layout.
        guard key != nil, try Migrations.checkedVersion(of: database) >= Migrations.firstVersionWithAccess else {
            return false
        }
        let seal = try KeychainError.mapping { () throws(SQLiteError) in
            let row = try database.prepare(
                "SELECT seal FROM access WHERE item = ? AND use = ? AND program = ?", AccessTable.values(of: grant))
            return try row.step() ? row[0].blob : nil
        }
        guard let seal else { return false }
        switch key {
        case .some(let key): return (try? SealedBox.open(seal, key: key, authenticating: data(of: grant))) != nil
        case .none: return false
        }
    }

    /// Notes a decision. It may be lost where the machine loses its power.
    ///
    /// - Throws: `errSecInteractionNotAllowed` while the keychain is locked, `errSecReadOnly`.
    package func add(_ grant: AccessGrant) throws(KeychainError) {
        try checkWritable()
        let seal: [UInt8]
        switch key {
        case .some(let key):
            seal = try KeychainError.mapping { () throws(CryptoError) in
                try SealedBox.seal([UInt8]().span, key: key, authenticating: data(of: grant))
            }
        case .none: throw Self.locked
        }
        try database.writing(isDurable: false) { () throws(KeychainError) in
            try checkKeyIsCurrent()
            try KeychainError.mapping { () throws(SQLiteError) in
                try database.run(
                    "INSERT OR REPLACE INTO access (item, use, program, seal) VALUES (?, ?, ?, ?)",
                    AccessTable.values(of: grant) + [.blob(seal)])
                try database.run(
                    "DELETE FROM access WHERE id <= ?", [.integer(database.lastInserted - Int64(Self.maximumGrants))])
            }
        }
    }

    private func data(of grant: AccessGrant) -> AssociatedData {
        var data = AssociatedData("tokenkit access 1", keychain: id)
        data.append(Array(grant.item.utf8))
        data.append(number: grant.use)
        data.append(grant.program)
        return data
    }
}

enum AccessTable {
    fileprivate static func values(of grant: AccessGrant) -> [SQLValue] {
        [.text(grant.item), .integer(grant.use), .blob(grant.program)]
    }

    /// Removes the decisions about an item, or all.
    static func remove(_ item: PersistentReference?, from database: borrowing Database) throws(SQLiteError) {
        if let item {
            try database.run("DELETE FROM access WHERE item = ?", [.text(item.hexText)])
        } else {
            try database.run("DELETE FROM access")
        }
    }
}
