internal import Glibc
internal import SystemCrypto
internal import TokenKit

/// How a keychain comes into being and is opened.
extension OpenKeychain {
    /// How long a call waits for another process that writes, in milliseconds.
    static let busyTimeout: Int32 = 10_000

    /// Opens the file and brings it to the present layout.
    init(
        _ file: KeychainFile, clock: @escaping @Sendable () -> Int64,
        uptime: @escaping @Sendable () -> Uptime = Uptime.now,
        isSessionLocked: @escaping @Sendable () -> Bool = LoginSession.isLocked
    ) throws(KeychainError) {
        let access = try file.access
        let database = try KeychainError.mapping { () throws(SQLiteError) in
            try Self.connect(file.path, access: access)
        }
        try Migrations.apply(to: database)
        let settings = try KeychainSettings(readingFrom: database)
        id = try WrappedKey(readingFrom: database).keychain
        identifier = KeychainIdentifier(local: id)
        self.database = database
        self.clock = clock
        self.uptime = uptime
        self.isSessionLocked = isSessionLocked
        lifetime = KeyLifetime(settings, from: uptime())
        key = nil
    }

    /// Makes the file, with a new key wrapped under the password.
    ///
    /// - Returns: the key.
    static func create(
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
            try KeychainError.mapping { () throws(SQLiteError) in
                try database.execute("PRAGMA application_id = \(Migrations.applicationID)")
            }
            try Migrations.apply(to: database)
            try KeychainError.mapping { () throws(SQLiteError) in
                try wrapped.insert(into: database)
                // Last, so that everything is in the file itself when it gets its name.
                try database.run("PRAGMA journal_mode = WAL")
            }
        }
        return key
    }

    static func connect(_ path: String, access: Database.Access) throws(SQLiteError) -> Database {
        let database = try Database(path: path, access: access, busyTimeout: busyTimeout)
        // `trusted_schema` and `cell_size_check` are for files somebody prepared; `secure_delete` is for what was deleted.
        try database.execute(
            """
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;
            PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;
            """)
        return database
    }

    /// The time in whole seconds since the start of 1970, UTC. Wraps `clock_gettime`.
    @Sendable static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }
}
