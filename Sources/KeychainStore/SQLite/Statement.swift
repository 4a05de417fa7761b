internal import CSQLite

/// A compiled SQL statement with its values bound, and its current row.
@safe
struct Statement: ~Copyable {
    private let compiled: CompiledStatement
    private let database: OpaquePointer
    private var handle: OpaquePointer { unsafe compiled.handle }
    private var sql: String { compiled.sql }

    /// Borrows a statement for one user. The connection outlives it: `sqlite3_close_v2` waits for the last one.
    init(
        _ compiled: CompiledStatement, of database: OpaquePointer, values: [SQLValue]
    ) throws(SQLiteError) {
        self.compiled = compiled
        unsafe self.database = database
        compiled.isInUse = true
        for (index, value) in values.enumerated() {
            try bind(value, at: Int32(truncatingIfNeeded: index + 1))
        }
    }

    deinit {
        compiled.giveBack()
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
        case SQLITE_TEXT: text(at: column).map { .text($0) } ?? .foreign
        default: .foreign
        }
    }

    /// The value of a column, which is added to the checksum of the row.
    func value(_ column: Int32, adding part: RowChecksum.Column, to checksum: inout RowChecksum) -> SQLValue {
        switch unsafe sqlite3_column_type(handle, column) {
        case SQLITE_NULL: return .null
        case SQLITE_INTEGER:
            let number = unsafe sqlite3_column_int64(handle, column)
            checksum.add(number, of: part)
            return .integer(number)
        case SQLITE_BLOB:
            checksum.add(blob: unsafe buffer(at: column).bytes, of: part)
            return .blob(bytes(at: column))
        case SQLITE_TEXT:
            checksum.add(text: unsafe buffer(at: column).bytes, of: part)
            return text(at: column).map { .text($0) } ?? .foreign
        default: return .foreign
        }
    }

    /// Adds a column to the checksum of the row, without a copy of it.
    func add(_ column: Int32, as part: RowChecksum.Column, to checksum: inout RowChecksum) {
        switch unsafe sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: checksum.add(unsafe sqlite3_column_int64(handle, column), of: part)
        case SQLITE_BLOB: checksum.add(blob: unsafe buffer(at: column).bytes, of: part)
        case SQLITE_TEXT: checksum.add(text: unsafe buffer(at: column).bytes, of: part)
        default: break
        }
    }

    /// Wraps `sqlite3_column_count`.
    var columnCount: Int32 { unsafe sqlite3_column_count(handle) }

    /// The name of a column. Wraps `sqlite3_column_name`.
    func name(of column: Int32) -> String {
        unsafe sqlite3_column_name(handle, column).map { unsafe String(cString: $0) } ?? ""
    }

    private func bytes(at column: Int32) -> [UInt8] { unsafe [UInt8](buffer(at: column)) }

    private func text(at column: Int32) -> String? {
        let bytes = unsafe buffer(at: column).bindMemory(to: UInt8.self)
        guard let text = try? unsafe UTF8Span(validating: bytes.span) else { return nil }
        return String(copying: text)
    }

    /// The bytes of a column until the next step.
    private func buffer(at column: Int32) -> UnsafeRawBufferPointer {
        let start = unsafe sqlite3_column_blob(handle, column)
        return unsafe UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
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

/// A statement as SQLite has compiled it, with room for values.
@safe
final class CompiledStatement {
    let handle: OpaquePointer
    let sql: String
    var isInUse = false

    /// Takes over `handle`.
    init(_ handle: OpaquePointer, sql: String) {
        unsafe self.handle = handle
        self.sql = sql
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    /// Forgets values and rows. Wraps `sqlite3_reset` and `sqlite3_clear_bindings`.
    func giveBack() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
        isInUse = false
    }
}

/// Compiled statements that wait for their next use: compiling takes longer than most searches. Belongs to one
/// connection, and so serves one thread at a time.
final class StatementCache {
    /// The most statements that are kept: more than a program has kinds of searches.
    static let capacity = 32

    private var kept: [String: CompiledStatement] = [:]

    /// A free statement of a text; nil where all are in use.
    func statement(_ sql: String) -> CompiledStatement? {
        kept[sql].flatMap { $0.isInUse ? nil : $0 }
    }

    /// Keeps a statement beyond its first use.
    func keep(_ statement: CompiledStatement) {
        if kept.count < Self.capacity, kept[statement.sql] == nil { kept[statement.sql] = statement }
    }
}
