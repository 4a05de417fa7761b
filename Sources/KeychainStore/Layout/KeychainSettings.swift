package import KeychainModel

// The one row of a table of their own, so that whoever sets them vouches for nothing else.
extension KeychainSettings {
    /// The settings that count where the row was altered.
    private static let strictest = KeychainSettings(locksOnSleep: true, lockInterval: 1)

    /// Reads the row, and the error to report.
    ///
    /// - Throws: `errSecInvalidKeychain` where it is not as it was written.
    package init(checkedIn database: borrowing Database) throws(KeychainError) {
        guard let stored = try Self.stored(in: database) else {
            throw KeychainError(
                .invalidKeychain,
                "the keychain's settings were altered outside of this product; until they are set anew, it locks after a second",
                remedy: "set them anew, or restore the keychain from a backup")
        }
        self = stored
    }

    /// Reads the row; where it is not as it was written, the keychain locks as soon as it can.
    package init(readingFrom database: borrowing Database) throws(KeychainError) {
        self = try Self.stored(in: database) ?? Self.strictest
    }

    /// The stored settings; nil where there are none. An interval that makes no sense counts as the shortest one.
    private static func stored(in database: borrowing Database) throws(KeychainError) -> KeychainSettings? {
        do throws(SQLiteError) {
            guard try !database.hasAlteredRow("settings") else { return nil }
            let row = try database.prepare("SELECT lock_on_sleep, lock_interval FROM settings WHERE id = 1")
            guard try row.step() else { return nil }
            return KeychainSettings(
                locksOnSleep: row[0].integer != 0,
                lockInterval: row[1].integer.map { UInt32(clamping: max($0, 1)) })
        } catch {
            // The page that they are on is damaged, and no item is on that.
            guard error.code.primary == .corrupt else { throw KeychainError(error) }
            return nil
        }
    }

    package func write(to database: borrowing Database) throws(SQLiteError) {
        let interval = lockInterval.map { SQLValue.integer(Int64($0)) } ?? .null
        try database.run(
            "INSERT OR REPLACE INTO settings (id, lock_on_sleep, lock_interval) VALUES (1, ?, ?)",
            [.integer(locksOnSleep ? 1 : 0), interval])
        try database.stampRows(of: "settings")
    }
}
