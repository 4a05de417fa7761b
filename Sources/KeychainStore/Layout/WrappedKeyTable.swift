package import KeychainModel
internal import Localization

/// The one row of the table `keychain`.
extension WrappedKey {
    /// Reads the row.
    ///
    /// - Throws: `errSecInvalidKeychain` if it is missing or makes no sense.
    package init(readingFrom database: borrowing Database) throws(KeychainError) {
        let row = try KeychainError.mapping { () throws(SQLiteError) -> WrappedKey? in
            let statement = try database.prepare(
                """
                SELECT uuid, scrypt_n, scrypt_r, scrypt_p, salt, wrapped_key, key_check, has_password FROM keychain
                WHERE id = 1
                """)
            guard try statement.step() else { return nil }
            var key = WrappedKey(row: statement)
            key?.isAltered = try database.hasAlteredRow("keychain")
            return key
        }
        guard let row else {
            throw KeychainError(
                .invalidKeychain, "the keychain file is damaged: its key is missing", remedy: "restore it from a backup"
            )
        }
        self = row
    }

    private init?(row: borrowing Statement) {
        guard let id = row[0].blob.flatMap({ UniqueID(bytes: $0) }),
            let n = row[1].integer.flatMap(UInt64.init(exactly:)),
            let r = row[2].integer.flatMap(UInt32.init(exactly:)),
            let p = row[3].integer.flatMap(UInt32.init(exactly:)), let salt = row[4].blob, let wrapped = row[5].blob,
            let check = row[6].blob,
            let hasPassword = row[7].integer
        else { return nil }
        self.init(
            keychain: id, hasPassword: hasPassword != 0, cost: ScryptCost(n: n, r: r, p: p), salt: salt,
            wrapped: wrapped, check: check)
    }

    /// Writes the row of a new keychain.
    func insert(into database: borrowing Database) throws(SQLiteError) {
        try database.run(
            """
            INSERT INTO keychain (id, uuid, scrypt_n, scrypt_r, scrypt_p, salt, wrapped_key, key_check, has_password)
            VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)
            """, [.blob(keychain.bytes)] + values)
        try database.stampRows(of: "keychain")
    }

    /// Replaces `old` in the row, in one step.
    ///
    /// The keychain's identity stays, and no password authenticates it: where the row was damaged and has one, the
    /// damage stays visible.
    ///
    /// - Returns: false if the row no longer has `old`.
    func replace(_ old: WrappedKey, in database: borrowing Database) throws(SQLiteError) -> Bool {
        let isSound = try !database.hasAlteredRow("keychain")
        try database.run(
            """
            UPDATE keychain SET scrypt_n = ?, scrypt_r = ?, scrypt_p = ?, salt = ?, wrapped_key = ?, key_check = ?,
                has_password = ?
            WHERE id = 1 AND uuid = ? AND wrapped_key = ?
            """, values + [.blob(keychain.bytes), .blob(old.wrapped)])
        guard database.changes == 1 else { return false }
        // The other columns are written anew here, or were authenticated when the old password opened the key.
        let identity = try database.value("SELECT identity FROM keychain WHERE id = 1")
        if isSound || identity == .null { try database.stampRows(of: "keychain") }
        return true
    }

    private var values: [SQLValue] {
        [
            .integer(Int64(clamping: cost.n)), .integer(Int64(cost.r)), .integer(Int64(cost.p)), .blob(salt),
            .blob(wrapped), .blob(check), .integer(hasPassword ? 1 : 0),
        ]
    }
}
