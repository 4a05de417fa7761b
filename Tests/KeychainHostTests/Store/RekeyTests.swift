import Foundation
import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// A new password or key, and its effects on older copies of the file, sessions, cards and other processes.
@Suite struct RekeyTests {
    private let test: TestKeychain
    private let item: Item

    init() throws {
        test = try TestKeychain()
        item = try test.addPassword()
    }

    @discardableResult
    private func rekey(_ old: String = "correct", _ new: String = "new") throws -> PasswordChange {
        try test.keychain.rekey(from: .of(old), to: .of(new), cost: .negligible)
    }

    private static let keychainColumns = ["scrypt_n", "scrypt_r", "scrypt_p", "salt", "wrapped_key", "key_check"]

    private func keychainRow() throws -> [SQLValue] {
        let database = try test.database()
        return try Self.keychainColumns.map { column in try database.value("SELECT \(column) FROM keychain") }
    }

    private func paste(_ row: [SQLValue]) throws {
        let assignments = Self.keychainColumns.map { "\($0) = ?" }.joined(separator: ", ")
        try test.forge("UPDATE keychain SET \(assignments)", row)
    }

    // MARK: Copies from before

    @Test func anOlderCopysRowDoesNotOpenARekeyedKeychain() throws {
        let row = try keychainRow()
        try rekey()
        try test.addPassword("later")
        try paste(row)
        let reopened = try test.reopened()
        #expect(throws: KeychainError(.authFailed)) { try reopened.unlock(password: .of("new")) }
        try reopened.unlock(password: .of("correct"))
        for item in try test.passwords() {
            #expect(throws: KeychainError(.decode)) { try reopened.secretText(item.reference) }
        }
    }

    /// Only a new key prevents this, not a new password.
    @Test func anOlderCopysRowOpensAKeychainThatOnlyGotAnotherPassword() throws {
        let row = try keychainRow()
        try test.keychain.changePassword(from: .of("correct"), to: .of("new"), cost: .negligible)
        try paste(row)
        let reopened = try test.reopened()
        try reopened.unlock(password: .of("correct"))
        #expect(try reopened.secretText(item.reference) == "s3cret")
    }

    @Test func everythingIsSealedAnewAndReadsAsBefore() throws {
        let key = try TestKey.named("anna").privateKey
        let keychain = test.keychain
        let bare = try test.addPassword("bare", secret: nil)
        try keychain.add(.internetPassword([.server: "s"], secret: .of("internet")))
        let signer = try keychain.add(.privateKey(key, [.label: "k"]))
        let symmetric = try keychain.generateSymmetricKey([.label: "aes"])
        let keys = [signer, symmetric]
        let bytes = try keys.map { try material(of: $0, in: keychain) }
        let application = AuthenticationContext()
        application.setCredential(.of("app"), .applicationPassword)
        let control = try AccessControl("ak", .applicationPassword)
        let guarded = try keychain.add(
            .genericPassword(
                [.account: "guarded", .accessControl: .data(control.encoded()), .accessible: "ak"], secret: .of("twice")
            ),
            authentication: application, cost: .negligible)
        let old = try WrappedKey(readingFrom: test.database()).unwrap(password: .of("correct"), of: "test")
        try rekey()
        let reopened = try test.reopened()
        #expect(throws: KeychainError(.authFailed)) { try reopened.unlock(password: .of("correct")) }
        try reopened.unlock(password: .of("new"))
        for keychain in [keychain, reopened] {
            #expect(!keychain.isLocked)
            #expect(try keychain.secretText(item.reference) == "s3cret")
            #expect(try keychain.secretText(bare.reference) == nil)
            #expect(try keys.map { try material(of: $0, in: keychain) } == bytes)
            let twice = try keychain.secret(of: guarded.reference, use: "read", authentication: application)?
                .copiedBytes
            #expect(twice == Array("twice".utf8))
        }
        let id = try WrappedKey(readingFrom: test.database()).keychain
        for itemClass in ItemClass.stored {
            for found in try keychain.items(matching: Query(itemClass, limit: .all)).found {
                let row = try keychain.use { opened throws(KeychainError) in try opened.row(of: found.reference) }
                #expect(throws: KeychainError(.decode)) { _ = try row.open(key: old, keychain: id) }
            }
        }
    }

    private func material(of key: Item, in keychain: LocalKeychain) throws -> [UInt8] {
        try #require(
            try keychain.use { opened throws(KeychainError) in
                try opened.secret(of: key.reference, leaving: false)?.copiedBytes
            })
    }

    // MARK: In one step

    /// The file's content, row by row.
    private func content() throws -> [[SQLValue]] {
        let database = try test.database()
        return try (["keychain", "card_binding"] + ItemClass.stored.map(\.rawValue)).map { table in
            let rows = try database.prepare("SELECT * FROM \(table) ORDER BY id")
            var values: [SQLValue] = []
            while try rows.step() { values += (0..<rows.columnCount).map { rows[$0] } }
            return values
        }
    }

    @Test(arguments: [
        "BEFORE UPDATE ON keychain", "AFTER UPDATE ON keychain", "AFTER UPDATE ON genp WHEN old.acct = 'anna'",
        "AFTER UPDATE ON genp WHEN old.acct = 'last'", "AFTER UPDATE ON keys", "AFTER INSERT ON journal",
    ])
    func aNewKeyThatFailsOnTheWayChangesNothing(event: String) throws {
        try test.keychain.add(.privateKey(TestKey.named("anna").privateKey))
        try test.addPassword("last")
        let before = try content()
        let current = try test.keychain.wrappedKey()
        let old = try current.unwrap(password: .of("correct"), of: "test")
        let new = Secret.of(String(repeating: "n", count: 32))
        let replacement = try WrappedKey(
            wrapping: new, of: current.keychain, password: .of("new"), cost: .negligible)
        try test.database().execute("CREATE TRIGGER stop \(event) BEGIN SELECT RAISE(ABORT, 'stopped'); END")
        try test.keychain.state.withLock { opened in
            // A connection that runs triggers, as the store's own do not.
            opened.database = try test.database()
            #expect(throws: KeychainError.self) {
                try opened.rekey(from: old, to: new, current, replacement) { $0 }
            }
        }
        try test.database().execute("DROP TRIGGER stop")
        #expect(try content() == before)
        let reopened = try test.reopened()
        try reopened.unlock(password: .of("correct"))
        #expect(try reopened.secretText(item.reference) == "s3cret")
    }

    @Test func aProcessKilledAmidANewKeyLeavesTheOldOneOrTheNew() throws {
        for number in 0..<40 { try test.addPassword("a\(number)", secret: "secret \(number)") }
        for round in 0..<40 {
            let isOld = (try? test.reopened().unlock(password: .of("correct"))) != nil
            let process = try WriterProcess(
                ["rekey", test.path, isOld ? "other" : "correct"], password: isOld ? "correct" : "other")
            #expect(process.nextLine() == "ready")
            for step in 0..<round % 3 { #expect(process.nextLine() == String(step)) }
            usleep(UInt32.random(in: 0..<6000))
            process.kill()
            _ = process.remainingLines()
            let reopened = try test.reopened()
            do { try reopened.unlock(password: .of("correct")) } catch { try reopened.unlock(password: .of("other")) }
            for found in try reopened.items(matching: Query(.genericPassword, limit: .all)).found {
                #expect(try reopened.secretText(found.reference) != nil)
            }
        }
    }

    @Test func aDamagedItemIsNamedAndNothingIsChanged() throws {
        let other = try test.addPassword("b")
        for damage in [
            "UPDATE genp SET icmt = 'nope' WHERE acct = 'b'", "UPDATE genp SET row_check = NULL WHERE acct = 'b'",
        ] {
            try test.database().execute(damage)
            let before = try content()
            let error = try #require(throws: KeychainError(.decode)) { try rekey() }
            #expect(error.reason.contains(Hex.encode(other.reference.encoded())))
            #expect(!error.reason.contains(Hex.encode(item.reference.encoded())))
            #expect(try content() == before)
        }
        #expect(try test.secretText(item) == "s3cret")
        try test.keychain.delete(matching: Query(other.reference))
        try rekey()
        #expect(try test.secretText(item) == "s3cret")
    }

    /// The attacker sets correct checksums; a new seal would make the altered item valid.
    @Test func anItemWhoseSealDoesNotFitIsNotSealedAnew() throws {
        try test.forge("UPDATE genp SET acct = 'bob'")
        #expect(throws: KeychainError(.decode)) { try rekey() }
        try test.reopened().unlock(password: .of("correct"))
    }

    // MARK: Other processes

    @Test func whoeverHasTheKeychainOpenIsLockedByANewKey() throws {
        let other = try test.reopened()
        try other.unlock(password: .of("correct"))
        #expect(try other.secretText(item.reference) == "s3cret")
        try rekey()
        #expect(throws: KeychainError(.interactionNotAllowed)) { try other.secretText(item.reference) }
        #expect(other.isLocked)
        try other.unlock(password: .of("new"))
        #expect(try other.secretText(item.reference) == "s3cret")
    }

    /// The key changes between a connection's look at the file and its transaction.
    @Test func nothingIsWrittenUnderAnOldKey() throws {
        var opened = try KeychainConnection(KeychainFile(existing: test.path), clock: ConnectionEnvironment.now)
        try opened.unlock(WrappedKey(readingFrom: test.database()).unwrap(password: .of("correct"), of: "test"))
        let isOver = opened.lockIfOver()
        #expect(!isOver)
        try rekey()
        func expectLocked(_ body: () throws(KeychainError) -> Void) {
            do throws(KeychainError) {
                try body()
                Issue.record("the old key was used")
            } catch {
                #expect(error.code == .interactionNotAllowed)
            }
        }
        expectLocked { () throws(KeychainError) in
            _ = try opened.add(.genericPassword([.account: "b"], secret: .of("x")))
        }
        expectLocked { () throws(KeychainError) in
            let step = KeychainStep.update(
                [ResolvedQuery(Query(item.reference))], ItemChanges(secret: .of("x")), SealedSecrets())
            _ = try opened.carryOut([step]) { $0.count }
        }
        expectLocked { () throws(KeychainError) in _ = try opened.secret(of: item.reference) }
        #expect(try test.passwords() == [item])
        #expect(try test.secretText(item) == "s3cret")
    }

    // MARK: The log beside the file

    private func files(have bytes: [UInt8]) -> Bool {
        ["", "-wal", "-journal"].contains { suffix in
            (try? Data(contentsOf: URL(fileURLWithPath: test.path + suffix)))?.range(of: Data(bytes)) != nil
        }
    }

    @Test(arguments: [false, true])
    func noFileHasTheOldRowAfterwardsThoughAnotherProcessHasItOpen(rekeys: Bool) throws {
        let old = try test.keychain.wrappedKey()
        let sealed = try #require(try test.database().value("SELECT sealed FROM genp").blob)
        let process = try WriterProcess(["hold", test.path, "keep"])
        #expect(process.nextLine() == "unlocked")
        #expect(files(have: old.wrapped))
        let change =
            rekeys
            ? try rekey() : try test.keychain.changePassword(from: .of("correct"), to: .of("new"), cost: .negligible)
        #expect(change.leftover == nil)
        #expect(!files(have: old.wrapped))
        #expect(files(have: sealed) == !rekeys)
        process.kill()
        _ = process.remainingLines()
    }

    @Test func aLogThatAnotherProgramReadsIsTold() throws {
        let reader = try test.database()
        let rows = try reader.prepare("SELECT * FROM genp")
        #expect(try rows.step())
        let change = try rekey()
        let leftover = try #require(change.leftover)
        #expect(leftover.reason.contains("test.keychain-wal"))
        #expect(leftover.remedy != nil)
        try test.reopened().unlock(password: .of("new"))
        withExtendedLifetime(rows) {}
    }

    // MARK: Cards

    private func desk(_ algorithm: CardAlgorithm, guid: Int) throws -> Desk {
        let card = TestCard(
            profile: .yubiKey57, algorithm: algorithm, slots: [.keyManagement],
            guid: String(repeating: "0", count: 31) + String(guid), name: "card \(guid)")
        return try Desk(card, reader: "Reader \(guid)")
    }

    @Test(arguments: [CardAlgorithm.rsa2048, .p256, .x25519])
    func aBoundCardOpensItWithTheNewKeyAndWasNotNeededForThat(algorithm: CardAlgorithm) throws {
        let desk = try desk(algorithm, guid: 1)
        let binding = try test.keychain.bind(to: desk.token, authentication: .owner)
        let commands = desk.reader.log.count
        let change = try rekey()
        #expect(change.renewed.map(\.token.rawValue) == [binding.tokenID] && change.dropped.isEmpty)
        #expect(desk.reader.log.count == commands)
        let reopened = try test.reopened()
        let isOpen = try reopened.unlock(with: [desk.token], use: "read", authentication: .owner)
        #expect(isOpen)
        #expect(try reopened.secretText(item.reference) == "s3cret")
        try CardBindingTable.put(binding.row, in: test.database())
        #expect(throws: KeychainError(.dataNotAvailable)) {
            try test.reopened().unlock(with: [desk.token], use: "read", authentication: .owner)
        }
    }

    /// Otherwise the keychain's new key would be wrapped for the attacker's card.
    @Test func aCardThatSomebodyWroteIntoTheFileIsNotBoundAnew() throws {
        let (own, stranger) = (try desk(.p256, guid: 1), try desk(.p256, guid: 2))
        let binding = try test.keychain.bind(to: own.token, authentication: .owner)
        let elsewhere = try TestKeychain()
        let foreign = try elsewhere.keychain.bind(to: stranger.token, authentication: .owner)
        try CardBindingTable.put(foreign.row, in: test.database())
        // A replaced public key of a bound card is not used either.
        try test.forge(
            "UPDATE card_binding SET public_key = ? WHERE token = ?",
            [.blob(foreign.publicKey), .text(binding.tokenID)])
        let change = try rekey()
        #expect(Set(change.dropped.map(\.token.rawValue)) == [binding.tokenID, foreign.tokenID])
        #expect(change.renewed.isEmpty)
        #expect(try test.keychain.cardBindings().isEmpty)
    }
}
