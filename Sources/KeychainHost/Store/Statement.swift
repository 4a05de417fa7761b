internal import CSQLite

/// A compiled SQL statement with its values bound, and the row it stands on.
@safe
struct Statement: ~Copyable {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    private let sql: String
    private let cache: StatementCache

    /// Takes over `handle`. The connection outlives it: `sqlite3_close_v2` waits for the last statement.
    init(
        _ handle: OpaquePointer, of database: OpaquePointer, sql: String, values: [SQLValue], cache: StatementCache
    ) throws(SQLiteError) {
        unsafe self.handle = handle
        unsafe self.database = database
        self.sql = sql
        self.cache = cache
        for (index, value) in values.enumerated() {
            try bind(value, at: Int32(truncatingIfNeeded: index + 1))
        }
    }

    deinit {
        unsafe cache.keep(handle, sql)
    }

    /// Moves to the next row; false after the last. Wraps `sqlite3_step`.
    func step() throws(SQLiteError) -> Bool {
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw unsafe SQLiteError(last: database, sql: sql)
        }
    }

    /// A column of the current row, counted from 0. Wraps `sqlite3_column_type` and its companions.
    subscript(_ column: Int32) -> SQLValue {
        switch unsafe sqlite3_column_type(handle, column) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer(unsafe sqlite3_column_int64(handle, column))
        case SQLITE_BLOB: .blob(bytes(at: column))
        case SQLITE_TEXT: String(validating: bytes(at: column), as: UTF8.self).map { .text($0) } ?? .foreign
        default: .foreign
        }
    }

    private func bytes(at column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    private func bind(_ value: SQLValue, at index: Int32) throws(SQLiteError) {
        let code =
            switch value {
            case .null, .foreign: unsafe sqlite3_bind_null(handle, index)
            case .integer(let number): unsafe sqlite3_bind_int64(handle, index, number)
            case .text(let text):
                unsafe Array(text.utf8).withUnsafeBytes { bytes in
                    unsafe csqlite_bind_text(
                        handle, index, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(bytes.count))
                }
            case .blob(let blob):
                unsafe blob.withUnsafeBytes { bytes in
                    unsafe csqlite_bind_blob(handle, index, bytes.baseAddress, UInt64(bytes.count))
                }
            }
        guard code == SQLITE_OK else { throw unsafe SQLiteError(last: database, sql: sql) }
    }
}

/// Compiled statements that wait for their next use: compiling takes longer than most searches. One connection's, and so
/// for one thread at a time.
@safe
final class StatementCache {
    /// More kinds of statements than programs have searches.
    private static let capacity = 32

    private var kept: [String: OpaquePointer] = unsafe [:]
    private var isClosed = false

    /// The statement of a text, which is nobody else's from here on.
    func take(_ sql: String) -> OpaquePointer? { unsafe kept.removeValue(forKey: sql) }

    /// Resets a statement and keeps it. Wraps `sqlite3_reset` and `sqlite3_clear_bindings`.
    func keep(_ statement: OpaquePointer, _ sql: String) {
        unsafe sqlite3_reset(statement)
        unsafe sqlite3_clear_bindings(statement)
        guard !isClosed, unsafe kept[sql] == nil, unsafe kept.count < Self.capacity else {
            unsafe sqlite3_finalize(statement)
            return
        }
        unsafe kept[sql] = unsafe statement
    }

    /// Ends all of them.
    func close() {
        while let entry = unsafe kept.popFirst() { unsafe sqlite3_finalize(entry.value) }
        isClosed = true
    }
}
