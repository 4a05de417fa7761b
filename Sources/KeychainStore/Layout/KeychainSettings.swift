package import KeychainModel
internal import Localization

// The settings are the one row of their own table, so that writing them gives no other value a new checksum.
extension KeychainSettings {
    /// The settings in effect where the row was altered.
    private static let strictest = KeychainSettings(locksOnSleep: true, lockInterval: 1)

    /// Reads the row, or throws the error to report.
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

    /// The stored settings; nil where there are none. An interval below one second counts as one second.
    private static func stored(in database: borrowing Database) throws(KeychainError) -> KeychainSettings? {
        do throws(SQLiteError) {
            guard try !database.hasAlteredRow("settings") else { return nil }
            let row = try database.prepare("SELECT lock_on_sleep, lock_interval FROM settings WHERE id = 1")
            guard try row.step() else { return nil }
            return KeychainSettings(
                locksOnSleep: row[0].integer != 0,
                lockInterval: row[1].integer.map { UInt32(clamping: max($0, 1)) })
        } catch {
            // The damaged page is that of the settings, which has no item.
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
