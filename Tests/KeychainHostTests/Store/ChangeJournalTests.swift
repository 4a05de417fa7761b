import Glibc
import Synchronization
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

@Suite struct ChangeJournalTests {
    private let test: TestKeychain

    init() throws { test = try TestKeychain() }

    private func entries(after number: Int64 = 0) throws -> [ChangeJournal.Entry] {
        try ChangeJournal.entries(after: number, in: test.database())
    }

    @Test func everyChangeIsWrittenDownWithItsItemAndProcess() throws {
        let start = try ChangeJournal.end(of: test.database())
        let item = try test.addPassword()
        try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "x"]))
        try test.keychain.delete(matching: Query(item.reference))
        let entries = try entries(after: start)
        #expect(entries.map(\.kind) == [.add, .update, .delete])
        #expect(entries.allSatisfy { $0.item == item.reference && $0.process == getpid() })
        #expect(entries.map(\.number) == [start + 1, start + 2, start + 3])
    }

    @Test func lockingAndPasswordsAreWrittenDown() throws {
        let start = try ChangeJournal.end(of: test.database())
        let reader = JournalReader(test.path, since: .max)
        test.keychain.lock()
        test.keychain.lock()
        try test.keychain.unlock(password: .of("correct"))
        try test.keychain.changePassword(from: .of("correct"), to: .of("new"), cost: .negligible)
        #expect(try entries(after: start).map(\.kind) == [.lock, .unlock, .passwordChanged])
        #expect(reader?.newEvents().map(\.kind) == [.lock, .unlock, .passwordChanged])
    }

    /// Without a listener, a program that reads one secret would flush the disk for nothing.
    @Test func lockingIsWrittenDownOnlyForThoseWhoListen() throws {
        let notifier = ChangeNotifier(of: test.path)
        let end = try ChangeJournal.end(of: test.database())
        func lockAndUnlock() throws {
            test.keychain.lock()
            try test.keychain.unlock(password: .of("correct"))
        }
        try lockAndUnlock()
        #expect(!notifier.hasListeners)
        #expect(try ChangeJournal.end(of: test.database()) == end)
        try withExtendedLifetime(JournalReader(test.path, since: .max)) {
            #expect(notifier.hasListeners)
            try lockAndUnlock()
        }
        #expect(!notifier.hasListeners)
        #expect(try ChangeJournal.end(of: test.database()) == end + 2)
        try lockAndUnlock()
        #expect(try ChangeJournal.end(of: test.database()) == end + 2)
    }

    @Test func whatFailedIsNotWrittenDown() throws {
        let item = try test.addPassword("a")
        try test.addPassword("b")
        let end = try ChangeJournal.end(of: test.database())
        #expect(throws: KeychainError(.duplicateItem)) { try test.addPassword("a") }
        #expect(throws: KeychainError(.duplicateItem)) {
            try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.account: "b"]))
        }
        #expect(throws: KeychainError(.authFailed)) { try test.keychain.unlock(password: .of("wrong")) }
        #expect(try ChangeJournal.end(of: test.database()) == end)
    }

    @Test func onlyWhatMayBeLostIsWrittenWithoutAFlush() throws {
        let levels = try test.keychain.state.withLock { opened in
            func level() -> Int64? { (try? opened.database.value("PRAGMA synchronous"))?.integer }
            var levels = [level()]
            try opened.database.writing { () throws(KeychainError) in levels.append(level()) }
            try opened.database.writing(isDurable: false) { () throws(KeychainError) in levels.append(level()) }
            levels.append(level())
            try? opened.database.writing(isDurable: false) { () throws(KeychainError) in throw KeychainError(.io) }
            levels.append(level())
            return levels
        }
        let (normal, full): (Int64, Int64) = (1, 2)
        #expect(levels == [full, full, normal, full, full])
    }

    @Test func onlyTheLastEntriesAreKept() throws {
        let database = try test.database()
        try database.execute("BEGIN")
        let (kept, surplus) = (ChangeJournal.minimumCount, ChangeJournal.surplus)
        for _ in 0..<kept + 3 * surplus { try ChangeJournal.append(.add, nil, to: database) }
        try database.execute("COMMIT")
        let end = try ChangeJournal.end(of: database)
        let entries = try entries()
        #expect((kept...kept + surplus).contains(Int64(entries.count)))
        #expect(entries.last?.number == end)
        #expect(entries.first?.number == end - Int64(entries.count) + 1)
    }

    @Test func whatNobodyHereWroteIsLeftOut() throws {
        let database = try test.database()
        let start = try ChangeJournal.end(of: database)
        try database.execute(
            """
            INSERT INTO journal (kind, item, pid) VALUES (99, NULL, 1), (3, x'00', 1), (3, NULL, 99999999999);
            """)
        let entries = try entries(after: start)
        #expect(entries.map(\.kind) == [.add])
        #expect(entries.first?.item == nil)
    }

    @Test func noSecretIsWrittenDown() throws {
        let item = try test.addPassword(secret: "invisible")
        let written = try #require(try entries().last?.item)
        #expect(written == item.reference)
        #expect(try test.database().value("SELECT count(*) FROM journal WHERE instr(item, 'invisible')") == .integer(0))
    }
}
