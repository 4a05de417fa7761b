import Testing

@testable import KeychainModel
@testable import KeychainStore

@Suite struct DatabaseTests {
    private func withDatabase(_ body: (borrowing Database) throws -> Void) throws {
        let database = try Database(path: ":memory:", access: .readWrite, busyTimeout: 0)
        try body(database)
    }

    @Test(
        arguments: [
            .null, .integer(.min), .integer(0), .integer(.max), .text(""), .text("a\0b"), .text("\u{1F511}"), .blob([]),
            .blob([0, 1, 0xFF]), .blob([UInt8](repeating: 7, count: 100_000)),
        ] as [SQLValue])
    func valuesComeBackAsTheyWereBound(value: SQLValue) throws {
        try withDatabase { database in
            try database.execute("CREATE TABLE t (x ANY) STRICT")
            try database.run("INSERT INTO t VALUES (?)", [value])
            let stored = try database.value("SELECT x FROM t")
            #expect(stored == value)
        }
    }

    @Test(arguments: ["SELECT 1.5", "SELECT CAST(x'FF' AS TEXT)"])
    func whatThisProgramNeverWritesIsForeign(sql: String) throws {
        try withDatabase { database in
            let value = try database.value(sql)
            #expect(value == .foreign)
        }
    }

    @Test func anErrorTellsTheStatementAndHidesTheValues() throws {
        try withDatabase { database in
            try database.execute("CREATE TABLE t (x UNIQUE)")
            try database.run("INSERT INTO t VALUES (?)", [.text("hush-hush")])
            let error = #expect(throws: SQLiteError.self) {
                try database.run("INSERT INTO t VALUES (?)", [.text("hush-hush")])
            }
            #expect(error?.code == .uniqueConstraint)
            #expect(error?.code.primary == .constraint)
            #expect(error?.sql == "INSERT INTO t VALUES (?)")
            #expect(error?.description.contains("hush") == false)
        }
    }

    @Test func aStatementOutlivesItsDatabase() throws {
        func statement() throws -> Statement {
            let database = try Database(path: ":memory:", access: .readWrite, busyTimeout: 0)
            return try database.prepare("SELECT 1")
        }
        let orphan = try statement()
        let (more, value) = try (orphan.step(), orphan[0])
        #expect(more && value == .integer(1))
    }

    @Test func malformedSQLIsAnError() throws {
        try withDatabase { database in
            #expect(throws: SQLiteError.self) { try database.run("SELEKT 1") }
            #expect(throws: SQLiteError.self) { try database.execute("SELEKT 1") }
        }
    }

    @Test func afterAFailureNothingOfATransactionStays() throws {
        try withDatabase { database in
            try database.execute("CREATE TABLE t (x)")
            #expect(throws: KeychainError(.userCanceled)) {
                try database.writing { () throws(KeychainError) in
                    try KeychainError.mapping { () throws(SQLiteError) in
                        try database.execute("INSERT INTO t VALUES (1)")
                    }
                    throw KeychainError(.userCanceled)
                }
            }
            let count = try database.value("SELECT count(*) FROM t").integer
            #expect(count == 0)
            try database.writing { () throws(KeychainError) in }
        }
    }

    @Test(arguments: [
        (SQLiteCode.uniqueConstraint, ErrSec.duplicateItem), (SQLiteCode(rawValue: 1299), .param),
        (.readOnly, .readOnly), (.databaseMoved, .invalidKeychain), (.full, .diskFull), (.io, .io),
        (SQLiteCode(rawValue: 10 | 3 << 8), .io), (.permission, .writePermission), (.authorization, .writePermission),
        (.noMemory, .allocate), (.tooBig, .dataTooLarge), (.cannotOpen, .notAvailable), (.busy, .notAvailable),
        (.locked, .notAvailable), (.corrupt, .invalidKeychain), (.notADatabase, .invalidKeychain),
        (SQLiteCode(rawValue: 1), .invalidKeychain), (SQLiteCode(rawValue: 9999), .internal),
    ])
    func codesOfSQLiteBecomeCodesOfTheKeychain(code: SQLiteCode, expected: ErrSec) {
        #expect(KeychainError(SQLiteError(code, "m")).code == expected)
    }
}
