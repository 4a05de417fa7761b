import Foundation
import KeychainCalls
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

@Suite struct LifecycleTests {
    // Case 69
    @Test func statusTellsUnlockedReadableAndWritable() throws {
        let test = try TestKeychain()
        #expect(test.keychain.status.rawValue == 7)
        test.keychain.lock()
        #expect(test.keychain.status.rawValue == 6)
        chmod(test.path, 0o400)
        let readOnly = try test.reopened()
        #expect(readOnly.status.rawValue == 2)
        try readOnly.unlock(password: .of("correct"))
        #expect(readOnly.status.rawValue == 3)
        try readOnly.delete()
        #expect(readOnly.status.rawValue == 0)
    }

    // Case 67
    @Test func unlockingWithoutThePasswordFailsAndAsksNobody() throws {
        let test = try TestKeychain()
        test.keychain.lock()
        #expect(throws: KeychainError(.authFailed)) {
            let session = KeychainSession(searchList: SearchList(locals: [test.keychain]))
            try KeychainCaller(session.host).unlock(test.path, password: nil)
        }
        #expect(throws: KeychainError(.authFailed)) { try test.keychain.unlock(password: .of("wrong")) }
        #expect(test.keychain.isLocked)
        try test.keychain.unlock(password: .of("correct"))
        #expect(!test.keychain.isLocked)
    }

    @Test func onlyAKeychainIsValid() throws {
        let test = try TestKeychain()
        func isValid(_ path: String) -> Bool { (try? LocalKeychain.open(path)) != nil }
        #expect(isValid(test.path))
        #expect(!isValid(test.folder.path("never-created")))
        #expect(!isValid(try test.folder.write("other", "no keychain")))
        #expect(test.keychain.isValid)
        try test.keychain.delete()
        #expect(!test.keychain.isValid)
        #expect(!isValid(test.path))
    }

    // MARK: Closing

    @Test func whoLetsGoOfAKeychainHasClosedIt() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("k")
        _ = try LocalKeychain.create(at: path, password: .of("correct"), cost: .negligible)
        func use(_ number: Int) throws {
            let keychain = try LocalKeychain.open(path)
            // Unlocking starts the lock timer, which checks at once.
            try keychain.unlock(password: .of("correct"))
            try keychain.add(.genericPassword([.account: .string("\(number)")], secret: .of("s3cret")))
        }
        for number in 0..<200 {
            try use(number)
            try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["k"], "\(number)")
        }
    }

    // MARK: Deleting

    @Test func aDeletedKeychainLeavesNoFile() throws {
        let test = try TestKeychain()
        try test.addPassword()
        try test.keychain.delete()
        #expect(try FileManager.default.contentsOfDirectory(atPath: test.folder.path).isEmpty)
    }

    @Test func everyCallAfterDeletingFails() throws {
        let test = try TestKeychain()
        let item = try test.addPassword()
        let other = try test.reopened()
        try other.unlock(password: .of("correct"))
        try test.keychain.delete()
        for keychain in [test.keychain, other] {
            let error = KeychainError(.invalidKeychain)
            #expect(throws: error) { try keychain.items(matching: Query(.genericPassword)) }
            #expect(throws: error) { try keychain.secretText(item.reference) }
            #expect(throws: error) { try keychain.add(.genericPassword([.account: "b"], secret: .of("s"))) }
            #expect(throws: error) { try keychain.update(matching: Query(item.reference), to: ItemChanges([:])) }
            #expect(throws: error) { try keychain.delete(matching: Query(item.reference)) }
            #expect(throws: error) { try keychain.unlock(password: .of("correct")) }
            #expect(throws: error) { try keychain.settings }
            #expect(throws: error) { try keychain.delete() }
            #expect(keychain.isLocked)
        }
    }

    @Test func aKeychainOfTheSameNameIsAnotherOne() throws {
        let test = try TestKeychain()
        try test.addPassword()
        try test.keychain.delete()
        let new = try LocalKeychain.create(at: test.path, password: .of("new"), cost: .negligible)
        #expect(new.identifier != test.keychain.identifier)
        #expect(throws: KeychainError(.invalidKeychain)) { try test.passwords() }
        #expect(try new.items(matching: Query(.genericPassword)).found.isEmpty)
    }

    @Test func deletingForgetsTheKey() throws {
        let test = try TestKeychain()
        try test.keychain.delete()
        #expect(test.keychain.state.withLock { $0.key == nil })
    }

    @Test func aFolderThatCannotBeWrittenKeepsItsKeychainFromAllButRoot() throws {
        let test = try TestKeychain()
        chmod(test.folder.path, 0o500)
        defer { chmod(test.folder.path, 0o700) }
        guard access(test.folder.path, W_OK) != 0 else {
            try test.keychain.delete()
            return #expect(!test.keychain.isValid)
        }
        #expect(throws: KeychainError(.writePermission)) { try test.keychain.delete() }
        #expect(test.keychain.isValid)
    }

    // MARK: Passwords

    @Test func aKeychainWithoutAPasswordUnlocksWithoutAsking() throws {
        let test = try TestKeychain(password: "")
        #expect(try !test.keychain.hasPassword)
        test.keychain.lock()
        try test.keychain.unlock(use: "read", authentication: AuthenticationContext())
        #expect(!test.keychain.isLocked)
        try test.keychain.changePassword(from: .of(""), to: .of("x"), cost: .negligible)
        #expect(try test.keychain.hasPassword)
        #expect(try test.reopened().hasPassword)
    }

    // Case 77
    @Test func anItemThatNeedsAPasswordIsNotAddedWithoutOne() throws {
        let test = try TestKeychain(password: "")
        let bound: Attributes = [.accessible: Accessibility.whenPasscodeSet]
        #expect(throws: KeychainError(.authFailed)) { try test.addPassword("a", bound) }
        let item = try test.addPassword("b")
        #expect(throws: KeychainError(.authFailed)) {
            try test.keychain.update(matching: Query(item.reference), to: ItemChanges(bound))
        }
        #expect(try test.passwords() == [item])
    }

    // Case 77
    @Test func withThePasswordGoItemsThatNeedOneAndOthersStay() throws {
        let test = try TestKeychain()
        let bound: Attributes = [.accessible: Accessibility.whenPasscodeSet]
        try test.addPassword("bound", bound)
        try test.addPassword("bound and shared", bound.merging([.accessGroup: "shared"]) { $1 })
        try test.keychain.add(NewItem(.key, bound.merging([.keyClass: 2]) { $1 }, secret: .of("k")))
        let (other, device) = (try test.addPassword("other"), try test.addPassword("device", [.accessible: "aku"]))
        try test.keychain.changePassword(from: .of("correct"), to: .of("new"), cost: .negligible)
        #expect(try test.passwords([.synchronizable: Query.anySynchronizable]).count == 4)
        try test.keychain.changePassword(from: .of("new"), to: .of(""), cost: .negligible)
        #expect(try test.passwords([.synchronizable: Query.anySynchronizable]) == [other, device])
        #expect(try test.keychain.items(matching: Query(.key, limit: .all)).found.isEmpty)
        #expect(try test.secretText(other) == "s3cret")
    }

    @Test func aRefusedChangeOfPasswordDestroysNothing() throws {
        let test = try TestKeychain()
        let item = try test.addPassword("bound", [.accessible: Accessibility.whenPasscodeSet])
        #expect(throws: KeychainError(.authFailed)) {
            try test.keychain.changePassword(from: .of("wrong"), to: .of(""), cost: .negligible)
        }
        #expect(try test.secretText(item) == "s3cret")
    }

    @Test func theCostOfAGuessIsTold() throws {
        let test = try TestKeychain()
        #expect(try test.keychain.cost == .negligible)
    }

    // Case 63
    @Test func aLockedKeychainIsSearchedWithoutAPrompt() throws {
        let test = try TestKeychain()
        let password = try test.addPassword()
        let certificate = try test.keychain.add(NewItem(.certificate, [.label: "C"], der: [0x30, 0]))
        let key = try test.keychain.add(NewItem(.key, [.keyClass: 1], der: [0x30, 0], secret: .of("k")))
        test.keychain.lock()
        #expect(try test.passwords() == [password])
        #expect(try test.keychain.items(matching: Query(.certificate)).found.first?.der == certificate.der)
        #expect(try test.keychain.items(matching: Query(.key)).found == [key])
        #expect(test.keychain.isLocked)
    }
}
