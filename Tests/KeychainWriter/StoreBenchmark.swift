import CSQLite
import Glibc
import KeychainHost
import TokenKit

/// Rows per second of a keychain, against SQLite without a keychain writing rows of the same columns, indexes and bytes,
/// each row in a transaction of its own and as durable.
struct StoreBenchmark {
    let folder: String
    let rows: Int

    func run() throws {
        let plain = try plainSeconds()
        let keychain = try keychainSeconds()
        print("plain sqlite3   \(rate(plain)) rows/s")
        print("local keychain  \(rate(keychain)) rows/s")
    }

    private func rate(_ seconds: Double) -> Int { Int(Double(rows) / max(seconds, 1e-9)) }

    private func keychainSeconds() throws -> Double {
        var password = Array("benchmark".utf8)
        let keychain = try LocalKeychain.create(
            at: "\(folder)/keychain", password: Secret(consuming: &password), cost: ScryptCost(n: 2, r: 1, p: 1))
        return try measure { number in
            var secret = [UInt8](repeating: 0x61, count: 32)
            try keychain.add(
                .genericPassword(
                    [.account: .string("account \(number)"), .service: "benchmark", .label: "benchmark"],
                    secret: Secret(consuming: &secret)))
        }
    }

    private func plainSeconds() throws -> Double {
        var database: OpaquePointer?
        defer { sqlite3_close_v2(database) }
        guard sqlite3_open("\(folder)/plain", &database) == SQLITE_OK,
            sqlite3_exec(database, Self.layout, nil, nil, nil) == SQLITE_OK
        else { throw KeychainError(.io, "the plain database cannot be made") }
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let sql = "INSERT INTO genp (uuid, cdat, mdat, labl, agrp, pdmn, sync, acct, svce, sealed) VALUES "
        guard sqlite3_prepare_v2(database, sql + "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", -1, &statement, nil) == SQLITE_OK
        else {
            throw KeychainError(.io, "the plain database takes no rows")
        }
        return try measure { number in
            blob(statement, 1, UniqueID().bytes)
            for column in [2, 3] as [Int32] { sqlite3_bind_int64(statement, column, 1_700_000_000) }
            text(statement, 4, "benchmark")
            text(statement, 5, "local")
            text(statement, 6, "ak")
            sqlite3_bind_int64(statement, 7, 0)
            text(statement, 8, "account \(number)")
            text(statement, 9, "benchmark")
            blob(statement, 10, [UInt8](repeating: 0x61, count: 60))
            guard sqlite3_step(statement) == SQLITE_DONE, sqlite3_reset(statement) == SQLITE_OK else {
                throw KeychainError(.io, "the plain database refused a row")
            }
        }
    }

    private func blob(_ statement: OpaquePointer?, _ column: Int32, _ bytes: [UInt8]) {
        _ = csqlite_bind_blob(statement, column, bytes, UInt64(bytes.count))
    }

    private func text(_ statement: OpaquePointer?, _ column: Int32, _ text: String) {
        _ = text.withCString { csqlite_bind_text(statement, column, $0, UInt64(text.utf8.count)) }
    }

    private func measure(_ body: (Int) throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let duration = try clock.measure { for number in 0..<rows { try body(number) } }
        return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    private static let layout = """
        PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
        CREATE TABLE genp (
            id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE, cdat INTEGER, mdat INTEGER, labl ANY, agrp ANY, pdmn ANY,
            sync INTEGER, acct ANY, svce ANY, sealed BLOB
        ) STRICT;
        CREATE UNIQUE INDEX genp_unique ON genp (
            ifnull(CAST(acct AS BLOB), x''), ifnull(CAST(svce AS BLOB), x''), ifnull(CAST(agrp AS BLOB), x''),
            ifnull(sync, 0));
        CREATE INDEX genp_svce ON genp (ifnull(CAST(svce AS BLOB), x''));
        CREATE INDEX genp_labl ON genp (CAST(labl AS BLOB));
        """
}
