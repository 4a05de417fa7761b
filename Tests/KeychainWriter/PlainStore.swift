import CSQLite
import KeychainHost
import KeychainModel
import Localization

/// The table of a keychain's passwords without the keychain: no encryption, no checks, one prepared statement.
final class PlainStore {
    private var database: OpaquePointer?
    private var statement: OpaquePointer?

    init(path: String) throws {
        let insert = """
            INSERT INTO genp (uuid, cdat, mdat, labl, agrp, pdmn, sync, acct, svce, sealed)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        guard sqlite3_open(path, &database) == SQLITE_OK,
            sqlite3_exec(database, Self.layout, nil, nil, nil) == SQLITE_OK,
            sqlite3_prepare_v2(database, insert, -1, &statement, nil) == SQLITE_OK
        else { throw KeychainError(.io, "the plain database cannot be made") }
    }

    deinit {
        sqlite3_finalize(statement)
        sqlite3_close(database)
    }

    func add(account: String) throws {
        bind(1, UniqueID().bytes)
        for column in [2, 3] as [Int32] { sqlite3_bind_int64(statement, column, 1_700_000_000) }
        for (column, value) in [(4, "benchmark"), (5, "local"), (6, "ak"), (8, account), (9, "benchmark")] {
            bind(Int32(column), value)
        }
        sqlite3_bind_int64(statement, 7, 0)
        bind(10, [UInt8](repeating: 0x61, count: 60))
        guard sqlite3_step(statement) == SQLITE_DONE, sqlite3_reset(statement) == SQLITE_OK else {
            throw KeychainError(.io, "the plain database refused a row")
        }
    }

    private func bind(_ column: Int32, _ bytes: [UInt8]) {
        _ = csqlite_bind_blob(statement, column, bytes, UInt64(bytes.count))
    }

    private func bind(_ column: Int32, _ text: String) {
        _ = text.withCString { csqlite_bind_text(statement, column, $0, UInt64(text.utf8.count)) }
    }

    private static let layout = """
        PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
        CREATE TABLE genp (
            id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE,
            cdat INTEGER NOT NULL, mdat INTEGER NOT NULL, labl ANY, agrp ANY NOT NULL, pdmn ANY NOT NULL,
            sync INTEGER NOT NULL, alis ANY,
            acct ANY, svce ANY, "desc" ANY, icmt ANY, crtr INTEGER, type INTEGER, scrp INTEGER, invi INTEGER,
            nega INTEGER, cusi INTEGER, prot ANY, gena ANY,
            der BLOB, sealed BLOB
        ) STRICT;
        CREATE UNIQUE INDEX genp_unique ON genp (
            ifnull(CAST(acct AS BLOB), x''), ifnull(CAST(svce AS BLOB), x''), ifnull(CAST(agrp AS BLOB), x''),
            ifnull(sync, 0));
        CREATE INDEX genp_svce ON genp (ifnull(CAST(svce AS BLOB), x''));
        CREATE INDEX genp_labl ON genp (CAST(labl AS BLOB));
        """
}
