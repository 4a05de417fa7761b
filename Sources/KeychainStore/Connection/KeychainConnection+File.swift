package import KeychainModel
internal import Glibc
internal import Localization
package import SecureBytes
internal import SystemCrypto

/// Creating and opening a keychain.
extension KeychainConnection {
    /// The time that a call waits for another process that writes, in milliseconds.
    static let busyTimeout: Int32 = 10_000

    /// Opens the file and brings it to the present layout.
    package init(_ file: KeychainFile, in environment: ConnectionEnvironment) throws(KeychainError) {
        let database = try Self.database(of: file)
        let settings = try KeychainSettings(readingFrom: database)
        let wrapped = try WrappedKey(readingFrom: database)
        let identity = try Self.identity(in: database, of: wrapped.keychain)
        id = wrapped.keychain
        wasAltered = wrapped.isAltered
        identifier = KeychainIdentifier(local: identity)
        self.file = file
        self.database = database
        self.environment = environment
        lifetime = KeyLifetime(settings, from: environment.uptime())
        key = nil
    }

    /// Makes the file, with a new key wrapped under the password.
    ///
    /// - Returns: the key.
    package static func create(
        _ file: KeychainFile, password: borrowing Secret, cost: ScryptCost
    ) throws(KeychainError) -> Secret {
        try file.checkAbsent()
        let key = try KeychainError.mapping { () throws(CryptoError) in
            try RandomBytes.makeSecret(count: WrappedKey.keyLength)
        }
        let wrapped = try WrappedKey(wrapping: key, of: UniqueID(), password: password, cost: cost)
        try file.create { path throws(KeychainError) in
            let database = try KeychainError.mapping { () throws(SQLiteError) in
                try connect(path, access: .readWrite)
            }
            try database.makeKeychain()
            try KeychainError.mapping { () throws(SQLiteError) in
                try wrapped.insert(into: database)
                try KeychainSettings().write(to: database)
                // Last, so that everything is in the file itself when it gets its name.
                try database.run("PRAGMA journal_mode = WAL")
            }
        }
        return key
    }

    // MARK: The file

    /// Whether the file is read without SQLite's files beside it until the disk has room for them.
    package var lacksRoom: Bool { database.access == .noSpace }

    /// Whether the file can only be read for a reason other than a lack of room.
    package var isReadOnly: Bool {
        get throws(KeychainError) { try lacksRoom ? !file.isWritable : database.isReadOnly }
    }

    /// Reopens a file that was opened without room: another process may have changed it since.
    package mutating func lookForRoom() throws(KeychainError) {
        guard lacksRoom else { return }
        database = try Self.database(of: file)
        dataVersion = nil
    }

    /// The file, open and of the present layout.
    private static func database(of file: KeychainFile) throws(KeychainError) -> Database {
        let access = try file.access
        do throws(KeychainError) {
            let database = try KeychainError.mapping { () throws(SQLiteError) in try connect(file.path, access: access)
            }
            try Migrations.apply(to: database)
            try KeychainSchema.check(database)
            return database
        } catch {
            guard error.code == .diskFull else { throw error.naming(file.path) }
            let database = try databaseWithoutRoom(of: file)
            guard try Migrations.checkedVersion(of: database) >= Migrations.oldestReadableVersion else { throw error }
            try KeychainSchema.check(database)
            return database
        }
    }

    /// The file opened without SQLite's files beside it, which SQLite needs even for reading, since there is no room for them.
    ///
    /// - Throws: `errSecDiskFull` where the latest changes are beside the file, and not in it.
    private static func databaseWithoutRoom(of file: KeychainFile) throws(KeychainError) -> Database {
        try bringChangesIn(file)
        guard try !file.hasChangesBeside else {
            throw KeychainError(
                .diskFull, "there is no room to read the latest changes to \(file.path)",
                remedy: "free some space and try again")
        }
        return try KeychainError.mapping { () throws(SQLiteError) in try connect(file.path, access: .noSpace) }
    }

    /// Moves the changes that a killed program has left beside the file into it, if they fit. With exclusive access
    /// this needs no space for shared memory (SQLite, "Write-Ahead Logging", use without shared memory).
    private static func bringChangesIn(_ file: KeychainFile) throws(KeychainError) {
        guard try file.hasChangesBeside, try file.isWritable else { return }
        let database = try KeychainError.mapping { () throws(SQLiteError) in
            try Database(path: file.path, access: .readWrite, busyTimeout: 0)
        }
        try? database.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA wal_checkpoint(TRUNCATE)")
    }

    static func connect(_ path: String, access: Database.Access) throws(SQLiteError) -> Database {
        let database = try Database(path: path, access: access, busyTimeout: busyTimeout)
        try database.distrustSchema()
        // `cell_size_check = ON` and `foreign_keys = OFF` guard against crafted files; `secure_delete` overwrites deleted content.
        try database.execute(
            """
            PRAGMA cell_size_check = ON; PRAGMA foreign_keys = OFF; PRAGMA secure_delete = ON;
            PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;
            """)
        return database
    }
}
