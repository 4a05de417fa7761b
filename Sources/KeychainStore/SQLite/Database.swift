internal import KeychainModel
internal import CSQLite
internal import SecureBytes

/// One connection to an SQLite file, for one thread at a time.
@safe
package struct Database: ~Copyable {
    enum Access {
        case readOnly, readWrite
        /// Reads the file itself, without SQLite's files beside it and without locks. No other process may write
        /// meanwhile.
        case immutable
        /// Reads as ``immutable`` does, since the disk has no space for SQLite's files beside it.
        case noSpace
    }

    let access: Access
    private let handle: OpaquePointer
    private let statements = StatementCache()

    /// Opens an existing file whose path holds no symbolic link. Wraps `sqlite3_open_v2`.
    ///
    /// - Parameter busyTimeout: How long a call waits for other processes, in milliseconds.
    init(path: String, access: Access, busyTimeout: Int32) throws(SQLiteError) {
        let mode = access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        var flags = mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW
        var name = path
        if access == .immutable || access == .noSpace {
            flags |= SQLITE_OPEN_URI
            name = "file:\(Self.percentEncoded(path))?immutable=1"
        }
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(name, &opened, flags, nil)
        guard code == SQLITE_OK, let opened = unsafe opened else {
            let error = unsafe SQLiteError(last: opened)
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        self.access = access
        unsafe handle = opened
        unsafe LockWait.limit(handle, to: busyTimeout)
    }

    /// A path in an SQLite URI: all bytes but ASCII letters, digits, `/`, `.` and `-` are percent-encoded.
    private static func percentEncoded(_ path: String) -> String {
        path.utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"):
                String(UnicodeScalar(byte))
            default: "%" + Hex.encode([byte])
            }
        }.joined()
    }

    /// Treats the file as one that an attacker may have prepared: its triggers and views do not run, its schema calls
    /// no function that has effects, and SQL cannot write SQLite's own tables. Wraps `sqlite3_db_config`.
    func distrustSchema() throws(SQLiteError) {
        for (option, value) in Self.distrust {
            guard unsafe csqlite_db_config(handle, option, value) == SQLITE_OK else {
                throw unsafe SQLiteError(last: handle)
            }
        }
    }

    private static let distrust: [(option: Int32, value: Int32)] = [
        (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), (SQLITE_DBCONFIG_ENABLE_VIEW, 0), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (SQLITE_DBCONFIG_DEFENSIVE, 1),
    ]

    // Statements may outlive this value: `sqlite3_close_v2` closes the connection once the last one is finalised.
    deinit {
        unsafe sqlite3_close_v2(handle)
    }

    /// Whether the file can only be read. Wraps `sqlite3_db_readonly`.
    var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") == 1 }

    /// Runs `body` with another limit to the waiting for other processes, in milliseconds.
    func waiting<Result>(
        atMost limit: Int32, instead usual: Int32, _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        unsafe LockWait.limit(handle, to: limit)
        defer { unsafe LockWait.limit(handle, to: usual) }
        return try body()
    }

    /// Whether the file still is where it was opened. Wraps `SQLITE_FCNTL_HAS_MOVED`.
    package var isPresent: Bool {
        var hasMoved: Int32 = 0
        return unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) != SQLITE_OK
            || hasMoved == 0
    }

    /// The number of the row that was inserted last. Wraps `sqlite3_last_insert_rowid`.
    var lastInserted: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

    /// A number that changes when another connection has changed the file. Wraps `PRAGMA data_version`.
    package var dataVersion: Int64? {
        get throws(SQLiteError) { try value("PRAGMA data_version").integer }
    }

    /// The number of rows that this connection has changed. Wraps `sqlite3_total_changes64`.
    package var ownChanges: Int64 { unsafe sqlite3_total_changes64(handle) }

    /// Brings everything into the file itself and empties the log beside it. Wraps `PRAGMA wal_checkpoint`.
    ///
    /// - Returns: false where another process reads from the log.
    func truncateLog() throws(SQLiteError) -> Bool { try value("PRAGMA wal_checkpoint(TRUNCATE)").integer == 0 }

    /// The number of rows that the last statement changed. Wraps `sqlite3_changes64`.
    var changes: Int64 { unsafe sqlite3_changes64(handle) }

    /// Runs statements that take no values and give no rows. Wraps `sqlite3_exec`.
    package func execute(_ sql: String) throws(SQLiteError) {
        guard unsafe sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw unsafe SQLiteError(last: handle, sql: sql)
        }
    }

    /// Compiles one statement, or reuses a cached one; its placeholders are bound to `values` in order. Wraps `sqlite3_prepare_v3`.
    func prepare(_ sql: String, _ values: [SQLValue] = []) throws(SQLiteError) -> Statement {
        if let kept = statements.statement(sql) { return try unsafe Statement(kept, of: handle, values: values) }
        var compiled: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        guard unsafe sqlite3_prepare_v3(handle, sql, -1, flags, &compiled, nil) == SQLITE_OK,
            let compiled = unsafe compiled
        else {
            throw unsafe SQLiteError(last: handle, sql: sql)
        }
        let statement = unsafe CompiledStatement(compiled, sql: sql)
        statements.keep(statement)
        return try unsafe Statement(statement, of: handle, values: values)
    }

    /// Runs one statement to its end and forgets its rows.
    func run(_ sql: String, _ values: [SQLValue] = []) throws(SQLiteError) {
        let statement = try prepare(sql, values)
        while try statement.step() {}
    }

    /// The first column of the first row; `null` if there is no row.
    package func value(_ sql: String, _ values: [SQLValue] = []) throws(SQLiteError) -> SQLValue {
        let statement = try prepare(sql, values)
        return try statement.step() ? statement[0] : .null
    }
}
