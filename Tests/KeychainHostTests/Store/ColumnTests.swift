import Glibc
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// The tables and indexes of the file against the table of attributes.
@Suite struct ColumnTests {
    static let classes: [ItemClass] = [.genericPassword, .internetPassword, .certificate, .key]

    private let test: TestKeychain

    init() throws { test = try TestKeychain() }

    private func rows(_ sql: String, column: Int32, _ values: [SQLValue] = []) throws -> [String] {
        let database = try test.database()
        let statement = try database.prepare(sql, values)
        var found: [String] = []
        while try statement.step() { if case .text(let text) = statement[column] { found.append(text) } }
        return found
    }

    /// A damaged row does not hide the numbers of the others.
    @Test(arguments: classes)
    func theNumbersOfRowsAreReadFromAnIndexAlone(itemClass: ItemClass) throws {
        let plan = try rows("EXPLAIN QUERY PLAN " + itemClass.columns.selectNumbers, column: 3)
        #expect(plan.first?.contains("USING COVERING INDEX") == true, "\(plan)")
    }

    @Test(arguments: classes)
    func everyAttributeHasItsColumnAndEveryColumnItsAttribute(itemClass: ItemClass) throws {
        let columns = try rows("SELECT name FROM pragma_table_info('\(itemClass.rawValue)')", column: 0)
        let attributes = itemClass.columns.attributes.map(\.rawValue)
        #expect(Set(columns) == Set(attributes + ["id", "uuid", "der", "sealed", "row_check"]))
        #expect(columns.count == attributes.count + 5)
    }

    @Test(arguments: classes)
    func columnsHoldWhatTheirAttributesAre(itemClass: ItemClass) throws {
        for row in itemClass.definitions where row.attribute != .tokenID {
            let type = try rows(
                "SELECT type FROM pragma_table_info('\(itemClass.rawValue)') WHERE name = ?", column: 0,
                [.text(row.attribute.rawValue)])
            #expect(type == [row.type == .opaque ? "BLOB" : row.type.isText ? "ANY" : "INTEGER"], "\(row.attribute)")
        }
    }

    @Test(arguments: classes)
    func theUniqueIndexHasTheUniqueAttributes(itemClass: ItemClass) throws {
        let name = "\(itemClass.rawValue)_unique"
        let sql = try #require(try rows("SELECT sql FROM sqlite_schema WHERE name = ?", column: 0, [.text(name)]).first)
        #expect(sql.hasPrefix("CREATE UNIQUE INDEX"))
        let words = sql.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        let codes = Set(itemClass.attributes.map(\.rawValue))
        #expect(words.filter(codes.contains).sorted() == itemClass.uniqueAttributes.map(\.rawValue).sorted())
    }

    @Test(
        arguments: [
            (.genericPassword, [.account: "a", .service: "s"], "genp_svce"),
            (.genericPassword, [.service: "s"], "genp_svce"),
            (.genericPassword, [.label: "l"], "genp_labl"), (.internetPassword, [.server: "s"], "inet_srvr"),
            (.internetPassword, [.account: "a", .server: "s"], "inet_srvr"),
            (.internetPassword, [.label: "l"], "inet_labl"),
            (.certificate, [.publicKeyHash: .data([1])], "cert_pkhh"),
            (.certificate, [.subject: .data([1])], "cert_subj"),
            (.certificate, [.label: "l"], "cert_labl"), (.key, [.applicationLabel: .data([1])], "keys_klbl"),
            (.key, [.applicationTag: "t"], "keys_atag"), (.key, [.label: "l"], "keys_labl"),
        ] as [(ItemClass, Attributes, String)])
    func exactMatchesUseAnIndex(itemClass: ItemClass, attributes: Attributes, index: String) throws {
        let plan = test.keychain.plan(for: try Query(itemClass, attributes))
        #expect(plan.contains { $0.hasPrefix("SEARCH") && $0.contains("USING INDEX \(index) ") }, "\(plan)")
        #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
        let expressions = plan.joined().split { !"<>=?".contains($0) && !$0.isLetter }.filter { $0.hasSuffix("=?") }
        #expect(expressions.count == attributes.count, "each of the attributes narrows the search: \(plan)")
    }
}

/// A file of an older layout is brought to the present one, and its items stay.
@Suite struct LayoutTests {
    @Test(arguments: 1..<Int(Migrations.currentVersion))
    func aFileOfAnyOlderLayoutKeepsItsItems(layout: Int) throws {
        let test = try TestKeychain()
        let item = try test.addPassword("anna", secret: "s3cret", [.label: "L"])
        try test.keychain.change(KeychainSettings(locksOnSleep: true, lockInterval: 300))
        try test.downgrade(to: layout)
        let reopened = try test.reopened()
        try reopened.unlock(password: .of("correct"))
        let found = try reopened.items(matching: Query(.genericPassword))
        #expect(found.found == [item])
        #expect(found.missing.isEmpty)
        #expect(try reopened.secretText(item.reference) == "s3cret")
        let kept = KeychainSettings(locksOnSleep: true, lockInterval: 300)
        #expect(try reopened.settings == (layout < 4 ? KeychainSettings() : kept))
        try reopened.add(.internetPassword([.server: "example.org"], secret: .of("new")))
        #expect(try reopened.items(matching: Query(.internetPassword)).found.count == 1)
        #expect(try test.database().value("PRAGMA user_version").integer == Migrations.currentVersion)
    }

    @Test(arguments: [
        "lock_interval = 86400, salt = randomblob(32)", "lock_on_sleep = 7, salt = randomblob(32)",
    ])
    func whatIsDamagedIsNotMadeGoodByAnotherLayout(assignments: String) throws {
        let test = try TestKeychain()
        try test.downgrade(to: 6)
        try test.database().execute("UPDATE keychain SET \(assignments)")
        let reopened = try test.reopened()
        #expect(throws: KeychainError(.invalidKeychain)) { try reopened.settings }
        #expect(throws: KeychainError(.invalidKeychain)) { try reopened.unlock(password: .of("correct")) }
    }

    /// A flipped bit in the row's header turns a number into NULL or bytes.
    @Test(arguments: ["NULL", "x''", "1.5", "'text'"])
    func settingsThatAreNoNumbersKeepNoFileFromThePresentLayout(value: String) throws {
        let test = try TestKeychain()
        try test.downgrade(to: 6)
        try test.database().execute("CREATE TABLE loose AS SELECT * FROM keychain")
        do {
            // SQLite lets the row of a strict table have such values only where the page is another table's.
            let database = try test.database()
            let pages = try ["keychain", "loose"].map {
                try #require(try database.value("SELECT rootpage FROM sqlite_schema WHERE name = '\($0)'").integer)
            }
            try database.execute(
                """
                UPDATE loose SET lock_on_sleep = \(value), lock_interval = \(value);
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET rootpage = \(pages[1]) WHERE name = 'keychain';
                UPDATE sqlite_schema SET rootpage = \(pages[0]) WHERE name = 'loose';
                """)
        }
        try test.database().execute("DROP TABLE loose")
        let reopened = try test.reopened()
        #expect(throws: KeychainError(.invalidKeychain)) { try reopened.settings }
        try reopened.unlock(password: .of("correct"))
    }

    /// The refusal loses nothing: the file is read as soon as it can be written.
    @Test func aFileOfAnOlderLayoutWaitsUntilItCanBeWritten() throws {
        let test = try TestKeychain()
        let item = try test.addPassword("anna", secret: "s3cret")
        try test.downgrade(to: 5)
        chmod(test.path, 0o400)
        #expect(throws: KeychainError(.wrongSecVersion)) { try test.reopened() }
        chmod(test.path, 0o600)
        let writable = try test.reopened()
        #expect(try writable.items(matching: Query(.genericPassword)).found == [item])
        try writable.unlock(password: .of("correct"))
        #expect(try writable.secretText(item.reference) == "s3cret")
    }

    @Test func aFileOfALayoutThatLacksColumnsIsNotReadWhereItCannotBeWritten() throws {
        let test = try TestKeychain()
        try test.database().execute("PRAGMA user_version = \(Migrations.oldestReadableVersion - 1)")
        chmod(test.path, 0o400)
        #expect(throws: KeychainError(.wrongSecVersion)) { try test.reopened() }
    }
}
