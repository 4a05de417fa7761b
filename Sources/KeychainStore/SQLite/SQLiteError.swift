internal import CSQLite
internal import Glibc

/// A result code of SQLite, extended codes included. The space is open.
struct SQLiteCode: RawRepresentable, Hashable, Sendable {
    let rawValue: Int32

    /// The basic code, without the detail an extended one adds.
    var primary: SQLiteCode { SQLiteCode(rawValue: rawValue & 0xFF) }

    /// SQL that cannot be run, mostly.
    static let generic = SQLiteCode(rawValue: SQLITE_ERROR)
    static let permission = SQLiteCode(rawValue: SQLITE_PERM)
    static let busy = SQLiteCode(rawValue: SQLITE_BUSY)
    static let locked = SQLiteCode(rawValue: SQLITE_LOCKED)
    static let noMemory = SQLiteCode(rawValue: SQLITE_NOMEM)
    static let readOnly = SQLiteCode(rawValue: SQLITE_READONLY)
    static let io = SQLiteCode(rawValue: SQLITE_IOERR)
    static let corrupt = SQLiteCode(rawValue: SQLITE_CORRUPT)
    static let full = SQLiteCode(rawValue: SQLITE_FULL)
    static let cannotOpen = SQLiteCode(rawValue: SQLITE_CANTOPEN)
    static let tooBig = SQLiteCode(rawValue: SQLITE_TOOBIG)
    static let constraint = SQLiteCode(rawValue: SQLITE_CONSTRAINT)
    static let authorization = SQLiteCode(rawValue: SQLITE_AUTH)
    static let notADatabase = SQLiteCode(rawValue: SQLITE_NOTADB)
    static let databaseMoved = SQLiteCode(rawValue: SQLITE_READONLY | (4 << 8))
    static let uniqueConstraint = SQLiteCode(rawValue: SQLITE_CONSTRAINT | (8 << 8))
}

/// A failed call of SQLite. It holds the statement's text and never the values bound to it.
package struct SQLiteError: Error, Equatable {
    let code: SQLiteCode
    /// SQLite's own words.
    let message: String
    /// The statement that failed, with placeholders.
    let sql: String?
    /// Whether the disk, or the user's share of it, is full.
    let isOutOfSpace: Bool

    init(_ code: SQLiteCode, _ message: String, sql: String? = nil, reason: Int32 = 0) {
        self.code = code
        self.message = message
        self.sql = sql
        isOutOfSpace = code.primary == .full || reason == ENOSPC || reason == EDQUOT
    }

    /// The error of the last call on `handle`. Wraps `sqlite3_extended_errcode`, `sqlite3_errmsg` and
    /// `sqlite3_system_errno`, which is of that call only where it failed to open, read or write a file.
    init(last handle: OpaquePointer?, sql: String? = nil) {
        let message = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) }
        let code = SQLiteCode(rawValue: unsafe sqlite3_extended_errcode(handle))
        let isOfFiles = code.primary == .io || code.primary == .cannotOpen
        self.init(
            code, message ?? "no memory for the message", sql: sql,
            reason: isOfFiles ? unsafe sqlite3_system_errno(handle) : 0)
    }

    package static func == (left: SQLiteError, right: SQLiteError) -> Bool {
        left.code == right.code
    }
}

extension SQLiteError: CustomStringConvertible {
    package var description: String {
        let statement = sql.map { " in \($0)" } ?? ""
        return "SQLite \(code.rawValue): \(message)\(statement)"
    }
}
