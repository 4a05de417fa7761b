import Foundation
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

@Suite struct BackupTests {
    private let test: TestKeychain
    private var backup: String { test.folder.path("backup") }

    init() throws { test = try TestKeychain() }

    private func restored(_ name: String = "restored") throws -> LocalKeychain {
        try LocalKeychain.restore(backup, to: test.folder.path(name), password: .of("correct"))
    }

    private func passwords(_ keychain: LocalKeychain) throws -> [Item] {
        try keychain.items(
            matching: Query(.genericPassword, [.synchronizable: Query.anySynchronizable], limit: .all)
        ).found
    }

    @Test func whatWasBackedUpComesBackWithItsReferences() throws {
        let item = try test.addPassword("a", secret: "first")
        let certificate = try test.keychain.add(NewItem(.certificate, [.label: "C"], der: [0x30, 0]))
        try test.keychain.change(KeychainSettings(lockInterval: 300))
        #expect(try test.keychain.backUp(to: backup) == BackupCount(items: 2, leftOut: 0, damaged: 0))
        try test.keychain.update(matching: Query(item.reference), to: ItemChanges(secret: .of("second")))
        let restored = try restored()
        #expect(!restored.isLocked)
        #expect(try passwords(restored) == [item])
        #expect(try restored.secretText(item.reference) == "first")
        #expect(try restored.items(matching: Query(.certificate)).found == [certificate])
        #expect(try restored.settings.lockInterval == 300)
        #expect(try test.secretText(item) == "second")
    }

    @Test func whatStaysOnTheDeviceIsLeftOutAndCounted() throws {
        for accessible in Accessibility.all { try test.addPassword("\(accessible)", [.accessible: accessible]) }
        try test.keychain.add(NewItem(.key, [.keyClass: 2, .accessible: "aku"], secret: .of("key")))
        let count = try test.keychain.backUp(to: backup)
        #expect(count == BackupCount(items: 3, leftOut: 5, damaged: 0))
        let restored = try restored()
        #expect(try passwords(restored).map { $0[.accessible] } == ["ak", "ck", "dk"])
        #expect(try test.passwords().count == 7)
    }

    @Test func noTraceOfWhatWasLeftOutIsInTheFile() throws {
        try test.addPassword(
            "stays-here-account", service: String(repeating: "stays-here-", count: 900), [.accessible: "aku"])
        let item = try test.addPassword("leaves")
        _ = try test.keychain.backUp(to: backup)
        let bytes = try Data(contentsOf: URL(filePath: backup))
        #expect(bytes.range(of: Data("leaves".utf8)) != nil)
        #expect(bytes.range(of: Data("stays-here".utf8)) == nil)
        #expect(bytes.range(of: Data("s3cret".utf8)) == nil)
        #expect(bytes.range(of: Data(item.reference.encoded())) == nil, "the journal is nobody's business")
    }

    @Test func aLockedAndAReadOnlyKeychainIsBackedUp() throws {
        let item = try test.addPassword()
        chmod(test.path, 0o400)
        let locked = try test.reopened()
        #expect(locked.isReadOnly && locked.isLocked)
        #expect(try locked.backUp(to: backup).items == 1)
        #expect(try restored().secretText(item.reference) == "s3cret")
    }

    @Test func whatIsNoBackupIsKnownWithoutAPassword() throws {
        _ = try test.keychain.backUp(to: backup)
        try LocalKeychain.checkBackup(backup)
        try LocalKeychain.checkBackup(test.path)
        let path = test.folder.path("other #1?a=%41")
        try Data("nonsense".utf8).write(to: URL(filePath: path))
        chmod(path, 0o600)
        #expect(throws: KeychainError(.invalidKeychain)) { try LocalKeychain.checkBackup(path) }
        #expect(throws: KeychainError(.invalidKeychain)) { try LocalKeychain.checkBackup(test.folder.path) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try LocalKeychain.checkBackup(path + "1") }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: backup, toPath: path)
        try LocalKeychain.checkBackup(path)
        let names = try FileManager.default.contentsOfDirectory(atPath: test.folder.path)
        #expect(!names.contains { $0.hasPrefix("backup-") || $0.hasPrefix("other #1?a=%41-") })
    }

    @Test func onlyItsOwnerReadsABackupAndNoOtherFileIsLeft() throws {
        _ = try test.keychain.backUp(to: backup)
        let mode = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        _ = try restored()
        let names = try FileManager.default.contentsOfDirectory(atPath: test.folder.path).filter { $0.hasPrefix(".") }
        #expect(names.isEmpty)
    }

    @Test func nothingIsOverwritten() throws {
        _ = try test.keychain.backUp(to: backup)
        let before = try Data(contentsOf: URL(filePath: backup))
        #expect(throws: KeychainError(.duplicateKeychain)) { try test.keychain.backUp(to: backup) }
        #expect(throws: KeychainError(.duplicateKeychain)) { try test.keychain.backUp(to: test.path) }
        #expect(throws: KeychainError(.duplicateKeychain)) {
            try LocalKeychain.restore(backup, to: test.path, password: .of("correct"))
        }
        #expect(try Data(contentsOf: URL(filePath: backup)) == before)
    }

    @Test func theWrongPasswordRestoresNothing() throws {
        _ = try test.keychain.backUp(to: backup)
        let path = test.folder.path("restored")
        #expect(throws: KeychainError(.authFailed)) {
            try LocalKeychain.restore(backup, to: path, password: .of("wrong"))
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try LocalKeychain.restore(test.folder.path("none"), to: path, password: .of("correct"))
        }
    }

    @Test func aDamagedBackupRestoresNothing() throws {
        for number in 0..<10 { try test.addPassword("\(number)", secret: "secret \(number)") }
        _ = try test.keychain.backUp(to: backup)
        let image = try Data(contentsOf: URL(filePath: backup))
        var refused = 0
        for page in 0..<image.count / 4096 {
            var damaged = image
            for offset in stride(from: page * 4096 + 200, to: (page + 1) * 4096, by: 64) { damaged[offset] ^= 0x41 }
            let path = test.folder.path("damaged")
            try damaged.write(to: URL(filePath: path))
            chmod(path, 0o600)
            let target = test.folder.path("restored \(page)")
            // Damage of unused bytes does no harm; a keychain that is restored is complete.
            if let keychain = try? LocalKeychain.restore(path, to: target, password: .of("correct")) {
                #expect(try passwords(keychain).count == 10)
            } else {
                refused += 1
                #expect(!FileManager.default.fileExists(atPath: target))
            }
        }
        #expect(refused >= 3)
    }

    @Test func aSingleAlteredItemIsFound() throws {
        let item = try test.addPassword()
        _ = try test.keychain.backUp(to: backup)
        do {
            let database = try Database(path: backup, access: .readWrite, busyTimeout: 1000)
            try database.run("UPDATE genp SET acct = 'other'")
            try database.stampRows(of: "genp")
        }
        #expect(throws: KeychainError(.invalidKeychain)) { try restored() }
        #expect(try test.secretText(item) == "s3cret")
    }

    /// A backup with a damaged item could not be restored, which would show only when it is needed.
    @Test func whatIsDamagedIsLeftOutAndCounted() throws {
        let item = try test.addPassword()
        try test.addPassword("damaged")
        try test.database().execute("UPDATE genp SET icmt = 'x' WHERE acct = 'damaged'")
        let count = try test.keychain.backUp(to: backup)
        #expect(count == BackupCount(items: 1, leftOut: 0, damaged: 1))
        #expect(
            try restored().items(matching: Query(.genericPassword, limit: .all)).found.map { $0[.account] } == ["anna"])
        #expect(try test.secretText(item) == "s3cret")
    }

    @Test func aBackupIsOneMomentWhileOthersWrite() throws {
        let writers = try (0..<2).map { try WriterProcess(["write", test.path, "w\($0)", "60"]) }
        for writer in writers { #expect(writer.nextLine() == "ready") }
        var counts: [Int] = []
        for number in 0..<5 {
            let path = test.folder.path("backup \(number)")
            let count = try test.keychain.backUp(to: path)
            let keychain = try LocalKeychain.restore(
                path, to: test.folder.path("restored \(number)"), password: .of("correct"))
            let items = try passwords(keychain)
            #expect(items.count == count.items)
            // Each writer adds in order, so that a snapshot has no gap.
            for writer in ["w0", "w1"] {
                let accounts = items.compactMap { $0[.account]?.string }.filter { $0.hasPrefix(writer) }
                #expect(accounts == (0..<accounts.count).map { "\(writer)-\($0)" })
            }
            counts.append(count.items)
        }
        for writer in writers { #expect(writer.remainingLines().count == 60) }
        #expect(counts == counts.sorted())
    }

    @Test func aRestoredKeychainJoinsTheSearchList() throws {
        let user = try TestUser()
        let item = try test.addPassword()
        _ = try test.keychain.backUp(to: backup)
        let restored = try user.preferences.restore(backup, as: "login", password: .of("correct"))
        #expect(restored.path == user.path("login"))
        #expect(
            try LocalKeychain.open(user.preferences.defaultKeychain()).items(matching: Query(.genericPassword)).found
                == [item])
    }

    // MARK: Beside the original

    private func restoredBesideOriginal(_ name: String = "copy") throws -> LocalKeychain {
        try LocalKeychain.restore(
            backup, to: test.folder.path(name), password: .of("correct"), beside: [test.keychain.identifier])
    }

    @Test func whereItsOriginalIsGoneARestoredKeychainStandsForIt() throws {
        _ = try test.keychain.backUp(to: backup)
        let others = [KeychainIdentifier(local: UniqueID())]
        let restored = try LocalKeychain.restore(
            backup, to: test.folder.path("r"), password: .of("correct"), beside: others)
        #expect(restored.identifier == test.keychain.identifier)
    }

    @Test func besideItsOriginalARestoredKeychainIsAnother() throws {
        let item = try test.addPassword()
        try test.addPassword("none", secret: nil)
        let certificate = try test.keychain.add(NewItem(.certificate, [.label: "C"], der: [0x30, 0]))
        try test.keychain.add(NewItem(.key, [.keyClass: 2, .label: "k"], secret: .of("key")))
        _ = try test.keychain.backUp(to: backup)
        let copy = try restoredBesideOriginal()
        #expect(copy.identifier != test.keychain.identifier)
        #expect(try copy.items(matching: Query(item.reference)).found.isEmpty)
        #expect(try copy.items(matching: Query(certificate.reference)).found.isEmpty)
        let twin = try #require(try passwords(copy).first { $0[.account] == "anna" })
        #expect(twin.attributes == item.attributes && twin.keychain == copy.identifier)
        #expect(try copy.secretText(twin.reference) == "s3cret")
        let key = try #require(try copy.items(matching: Query(.key)).found.first)
        #expect(try copy.secretText(key.reference) == "key")
        #expect(try passwords(copy).count == 2)
        // The copy keeps its id, even with another password, and its changes do not reach the original.
        try copy.changePassword(from: .of("correct"), to: .of("other"), cost: .negligible)
        let again = try LocalKeychain.open(copy.path)
        #expect(again.identifier == copy.identifier)
        try again.unlock(password: .of("other"))
        #expect(try again.secretText(twin.reference) == "s3cret")
        try again.delete(matching: Query(twin.reference))
        #expect(try test.secretText(item) == "s3cret")
    }

    @Test func aBackupOfARestoredKeychainIsItsOwn() throws {
        try test.addPassword()
        _ = try test.keychain.backUp(to: backup)
        let copy = try restoredBesideOriginal()
        let second = test.folder.path("second backup")
        _ = try copy.backUp(to: second)
        let one = try LocalKeychain.restore(
            second, to: test.folder.path("one"), password: .of("correct"), beside: [test.keychain.identifier])
        #expect(one.identifier == copy.identifier)
        let two = try LocalKeychain.restore(
            second, to: test.folder.path("two"), password: .of("correct"), beside: [copy.identifier])
        #expect(two.identifier != copy.identifier && two.identifier != test.keychain.identifier)
        #expect(try two.secretText(#require(passwords(two).first).reference) == "s3cret")
    }

    @Test func lockingARestoredKeychainDoesNotLockItsOriginal() throws {
        _ = try test.keychain.backUp(to: backup)
        let copy = try restoredBesideOriginal()
        copy.lock()
        #expect(copy.isLocked)
        #expect(!test.keychain.isLocked)
    }

    @Test func anItemUnderAnApplicationPasswordIsReadInTheRestoredKeychain() throws {
        let access = try AccessControl("ak", .applicationPassword).encoded()
        let context = AuthenticationContext()
        context.setCredential(.of("app"), .applicationPassword)
        try test.keychain.add(
            .genericPassword([.account: "a", .accessControl: .data(access)], secret: .of("s3cret")),
            authentication: context, cost: .negligible)
        _ = try test.keychain.backUp(to: backup)
        let copy = try restoredBesideOriginal()
        let item = try #require(try passwords(copy).first)
        let secret = try copy.secret(of: item.reference, use: "read", authentication: context)
        #expect(secret?.copiedBytes == Array("s3cret".utf8))
    }

    @Test func bothAreSearched() throws {
        let user = try TestUser()
        let original = try user.preferences.create("login", password: .of("correct"), cost: .negligible)
        let item = try original.add(.genericPassword([.account: "anna"], secret: .of("s3cret")))
        _ = try original.backUp(to: backup)
        let restored = try user.preferences.restore(backup, as: "again", password: .of("correct"))
        #expect(restored.identifier != original.identifier)
        let present = try ProcessKeychains(user.preferences).present(cards: false)
        #expect(present.locals.map(\.path) == [original.path, restored.path] && present.missing.isEmpty)
        let found = try present.searchList.items(matching: Query(.genericPassword, limit: .all)).found
        #expect(Set(found.map(\.reference)).count == 2)
        // Once the original is deleted, a restored keychain gets its id.
        try user.preferences.delete("login")
        let third = try user.preferences.restore(backup, as: "login", password: .of("correct"))
        #expect(third.identifier == original.identifier)
        #expect(try third.items(matching: Query(item.reference)).found == [item])
    }
}
