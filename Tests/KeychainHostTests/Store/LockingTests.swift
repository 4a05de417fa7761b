import Foundation
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

@Suite struct LockingTests {
    @Test func aNewKeychainIsUnlockedAndAnOpenedOneLocked() throws {
        let folder = try TemporaryFolder()
        let created = try LocalKeychain.create(at: folder.path("k"), password: .of("p"), cost: .negligible)
        #expect(!created.isLocked)
        #expect(try LocalKeychain.open(folder.path("k")).isLocked)
    }

    /// A child does not have the key, and must not seal anything under the zeros in its place.
    @Test func aForkedChildFindsTheKeychainLocked() async {
        await #expect(processExitsWith: .success) {
            let test = try TestKeychain()
            var opened = try KeychainConnection(KeychainFile(existing: test.path), clock: ConnectionEnvironment.now)
            try opened.unlock(WrappedKey(readingFrom: test.database()).unwrap(password: .of("correct"), of: "test"))
            let state = KeychainState(opened, isReadOnly: false)
            func isLocked() -> Bool {
                state.withLock { opened in
                    state.lockIfOver(&opened)
                    return opened.key == nil
                }
            }
            #expect(!isLocked())
            typealias Fork = @convention(c) () -> pid_t
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
            let child = fork()
            if child == 0 { _exit(isLocked() ? 0 : 1) }
            var status: Int32 = -1
            #expect(waitpid(child, &status, 0) == child && status == 0)
            #expect(!isLocked())
        }
    }

    @Test func everythingButSecretsIsReadableWhileLocked() throws {
        let test = try TestKeychain()
        let password = try test.addPassword()
        let bare = try test.addPassword("bare", secret: nil)
        let certificate = try test.keychain.add(NewItem(.certificate, [.label: "C"], der: [0x30, 0]))
        test.keychain.lock()
        #expect(test.keychain.isLocked)
        #expect(try test.passwords() == [password, bare])
        #expect(try test.keychain.items(matching: Query(.certificate)).found == [certificate])
        for item in [password, bare] {
            #expect(throws: KeychainError(.interactionNotAllowed)) { try test.secretText(item) }
        }
    }

    @Test func writingASecretNeedsTheKeyAndDeletingDoesNot() throws {
        let test = try TestKeychain()
        let password = try test.addPassword()
        test.keychain.lock()
        for secret in ["s", nil] {
            #expect(throws: KeychainError(.interactionNotAllowed)) { try test.addPassword("b", secret: secret) }
        }
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try test.keychain.update(matching: Query(password.reference), to: ItemChanges([.label: "x"]))
        }
        #expect(try test.passwords() == [password])
        try test.keychain.add(NewItem(.certificate, [:], der: [0x30, 0]))
        #expect(try test.keychain.delete(matching: Query(password.reference)) == 1)
    }

    @Test func theRightPasswordUnlocksAndTheWrongOneDoesNot() throws {
        let test = try TestKeychain()
        let item = try test.addPassword(secret: "s")
        let other = try test.reopened()
        for wrong in ["", "wrong", "correct ", "Correct"] {
            #expect(throws: KeychainError(.authFailed)) { try other.unlock(password: .of(wrong)) }
            #expect(other.isLocked)
        }
        try other.unlock(password: .of("correct"))
        #expect(try other.secretText(item.reference) == "s")
    }

    @Test func aFailedUnlockDoesNotLock() throws {
        let test = try TestKeychain()
        #expect(throws: KeychainError(.authFailed)) { try test.keychain.unlock(password: .of("wrong")) }
        #expect(!test.keychain.isLocked)
    }

    @Test func lockingTwiceAndUnlockingAgainWorks() throws {
        let test = try TestKeychain()
        let item = try test.addPassword(secret: "s")
        test.keychain.lock()
        test.keychain.lock()
        try test.keychain.unlock(password: .of("correct"))
        #expect(try test.secretText(item) == "s")
    }

    @Test func lockingOneOpeningLeavesTheOtherUnlocked() throws {
        let test = try TestKeychain()
        let other = try test.reopened()
        try other.unlock(password: .of("correct"))
        other.lock()
        #expect(!test.keychain.isLocked)
    }

    @Test(arguments: ["", "ümläut \u{1F511}", String(repeating: "x", count: 5000), "nul\0byte"])
    func anyBytesMakeAPassword(password: String) throws {
        let folder = try TemporaryFolder()
        _ = try LocalKeychain.create(at: folder.path("k"), password: .of(password), cost: .negligible)
        let keychain = try LocalKeychain.open(folder.path("k"))
        #expect(throws: KeychainError(.authFailed)) { try keychain.unlock(password: .of(password + "x")) }
        try keychain.unlock(password: .of(password))
        #expect(!keychain.isLocked)
    }

    // MARK: Changing the password

    @Test(arguments: [true, false])
    func aChangedPasswordOpensTheSameSecrets(locked: Bool) throws {
        let test = try TestKeychain()
        let item = try test.addPassword(secret: "s")
        if locked { test.keychain.lock() }
        try test.keychain.changePassword(from: .of("correct"), to: .of("new"), cost: .negligible)
        #expect(test.keychain.isLocked == locked)
        let other = try test.reopened()
        #expect(throws: KeychainError(.authFailed)) { try other.unlock(password: .of("correct")) }
        try other.unlock(password: .of("new"))
        #expect(try other.secretText(item.reference) == "s")
    }

    @Test func aWrongOldPasswordChangesNothing() throws {
        let test = try TestKeychain()
        #expect(throws: KeychainError(.authFailed)) {
            try test.keychain.changePassword(from: .of("wrong"), to: .of("new"), cost: .negligible)
        }
        try test.reopened().unlock(password: .of("correct"))
    }

    @Test func theKeyStaysSoAnOpenKeychainNeedsNoNewPassword() throws {
        let test = try TestKeychain()
        let other = try test.reopened()
        try other.changePassword(from: .of("correct"), to: .of("new"), cost: .negligible)
        let item = try test.addPassword(secret: "later")
        try other.unlock(password: .of("new"))
        #expect(try other.secretText(item.reference) == "later")
    }

    @Test func ofTwoChangesAtOnceOneWins() throws {
        let test = try TestKeychain()
        let database = try test.database()
        let current = try WrappedKey(readingFrom: database)
        let key = try current.unwrap(password: .of("correct"), of: "test")
        let first = try WrappedKey(wrapping: key, of: current.keychain, password: .of("a"), cost: .negligible)
        let second = try WrappedKey(wrapping: key, of: current.keychain, password: .of("b"), cost: .negligible)
        let outcomes = try [first.replace(current, in: database), second.replace(current, in: database)]
        #expect(outcomes == [true, false])
        try test.reopened().unlock(password: .of("a"))
    }

    // MARK: Costs

    @Test(arguments: [
        ScryptCost(n: 0, r: 1, p: 1), ScryptCost(n: 1, r: 1, p: 1), ScryptCost(n: 3, r: 1, p: 1),
        ScryptCost(n: 2, r: 0, p: 1), ScryptCost(n: 2, r: 1, p: 0), ScryptCost(n: 1 << 40, r: 8, p: 1),
        ScryptCost(n: 2, r: .max, p: .max), ScryptCost(n: .max, r: 1, p: 1), ScryptCost(n: 1 << 63, r: 8, p: 8),
    ])
    func costsThatAreNoneMakeNoKeychain(cost: ScryptCost) throws {
        let folder = try TemporaryFolder()
        #expect(throws: KeychainError(.param)) {
            try LocalKeychain.create(at: folder.path("k"), password: .of("p"), cost: cost)
        }
        #expect(throws: KeychainError(.noSuchKeychain)) { try LocalKeychain.open(folder.path("k")) }
    }

    @Test func theStandardCostIsAboveTodaysRecommendations() throws {
        #expect(ScryptCost.standard.isAcceptable)
        #expect(ScryptCost.standard.n >= 1 << 17 && ScryptCost.standard.r == 8)
    }

    @Test func aKeychainOfTheStandardCostOpens() throws {
        let folder = try TemporaryFolder()
        _ = try LocalKeychain.create(at: folder.path("k"), password: .of("p"))
        try LocalKeychain.open(folder.path("k")).unlock(password: .of("p"))
    }
}
