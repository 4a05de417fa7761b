import Glibc
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// A keychain file or backup that an attacker prepared: nothing in its schema runs, and only its rows are used.
@Suite struct PreparedFileTests {
    private let test: TestKeychain
    private let item: Item
    private var backup: String { test.folder.path("backup") }

    init() throws {
        test = try TestKeychain()
        item = try test.addPassword()
    }

    /// Changes of the schema by an attacker: additions, removals and alterations.
    private static let preparations = [
        "CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM genp; END",
        "CREATE TRIGGER t AFTER UPDATE ON keychain BEGIN UPDATE keychain SET salt = old.salt; END",
        "CREATE VIEW v AS SELECT 1", "CREATE TABLE t (x)", "CREATE INDEX i ON genp (id) WHERE acct <> 'anna'",
        "DROP INDEX genp_unique",
        "DROP TABLE inet; CREATE VIEW inet AS SELECT * FROM genp",
        "DROP TABLE card_binding; CREATE TABLE card_binding (id, token, row_check)",
        "ALTER TABLE cert ADD COLUMN more ANY",
    ]

    @Test(arguments: preparations)
    func aFileWithAnotherSchemaIsNotOpened(sql: String) throws {
        try test.database().execute(sql)
        let error = try #require(throws: KeychainError.self) { try test.reopened() }
        #expect(error.code == .invalidKeychain)
        #expect(error.reason.contains("changed by another program"))
    }

    @Test(arguments: preparations)
    func aBackupWithAnotherSchemaRestoresNothing(sql: String) throws {
        _ = try test.keychain.backUp(to: backup)
        try Database(path: backup, access: .readWrite, busyTimeout: 1000).execute(sql)
        let path = test.folder.path("restored")
        let error = try #require(throws: KeychainError.self) {
            try LocalKeychain.restore(backup, to: path, password: .of("correct"))
        }
        #expect(error.code == .invalidKeychain)
        #expect(access(path, F_OK) != 0)
    }

    @Test func aNameInAForeignSchemaIsNotRepeated() throws {
        try test.database().execute("CREATE TABLE \"\u{1B}[2J\" (x)")
        let error = try #require(throws: KeychainError.self) { try test.reopened() }
        #expect(!error.reason.contains("\u{1B}"))
    }

    @Test func aTriggerInTheFileOfAnOpenKeychainDeletesNothing() throws {
        try test.database().execute(
            "CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM genp WHERE acct = 'anna'; END")
        try test.addPassword("other")
        #expect(try test.passwords().map { $0[.account] } == ["anna", "other"])
        #expect(try test.secretText(item) == "s3cret")
    }

    @Test func aTriggerInTheFileOfAnOpenKeychainUndoesNoNewPassword() throws {
        try test.database().execute(Self.undoingTrigger)
        try test.keychain.changePassword(from: .of("correct"), to: .of("other"), cost: .negligible)
        try test.database().execute("DROP TRIGGER undo")
        let reopened = try test.reopened()
        #expect(throws: KeychainError(.authFailed)) { try reopened.unlock(password: .of("correct")) }
        try reopened.unlock(password: .of("other"))
    }

    private static let undoingTrigger = """
        CREATE TRIGGER undo AFTER UPDATE OF wrapped_key ON keychain WHEN new.wrapped_key <> old.wrapped_key BEGIN
            UPDATE keychain SET salt = old.salt, wrapped_key = old.wrapped_key, key_check = old.key_check,
                row_check = old.row_check;
        END
        """

    @Test func aNewPasswordThatTheFileDoesNotKeepIsTold() throws {
        try test.database().execute(Self.undoingTrigger)
        let current = try test.keychain.wrappedKey()
        let key = try current.unwrap(password: .of("correct"), of: "test")
        let new = try WrappedKey(
            wrapping: key, of: current.keychain, password: .of("other"), cost: .negligible)
        try test.keychain.state.withLock { opened in
            // A connection that runs triggers, as the store's own do not.
            opened.database = try test.database()
            #expect(throws: KeychainError(.invalidKeychain)) { try opened.replace(current, by: new) }
        }
        try test.database().execute("DROP TRIGGER undo")
        try test.reopened().unlock(password: .of("correct"))
    }

    @Test func theStoreDoesNotWriteToASchema() throws {
        let database = try KeychainConnection.connect(test.path, access: .readWrite)
        try database.execute("PRAGMA writable_schema = ON")
        #expect(throws: SQLiteError.self) { try database.execute("DELETE FROM sqlite_schema") }
    }

    @Test(arguments: Migrations.oldestReadableVersion...Migrations.currentVersion)
    func everyReadableLayoutHasTheSchemaThatFilesAreComparedWith(layout: Int64) throws {
        #expect(try KeychainSchema.digest(ofLayout: layout) == KeychainSchema.digests[layout])
    }

    @Test(arguments: 1...Migrations.currentVersion)
    func aBackupOfAnyLayoutIsRestored(layout: Int64) throws {
        try test.keychain.change(KeychainSettings(lockInterval: 300))
        let restored = try LocalKeychain.restore(
            test.copy(inLayout: layout), to: test.folder.path("restored"), password: .of("correct"))
        let found = try restored.items(matching: Query(.genericPassword, limit: .all)).found
        #expect(found.map { $0[.account] } == ["anna"])
        #expect(try restored.secretText(item.reference) == "s3cret")
        #expect(!restored.isLocked)
        #expect(try restored.settings.lockInterval == (layout < 7 ? nil : 300))
    }
}
