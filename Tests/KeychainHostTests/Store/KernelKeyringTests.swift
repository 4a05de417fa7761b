import Glibc
import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// Where the kernel offers no keyring, as in some containers, the same calls must say so.
@Suite struct KernelKeyringTests {
    private let name = "tokenkit:test:\(UniqueID())"
    private let isAvailable: Bool

    init() {
        isAvailable = (try? KernelKeyring.revoke("tokenkit:test:none")) != nil
    }

    private func read(_ name: String) throws -> [UInt8]? {
        try KernelKeyring.secret(name)?.copiedBytes
    }

    @Test func aSecretIsKeptReplacedAndRevoked() throws {
        guard isAvailable else { return try expectUnavailable() }
        #expect(try read(name) == nil)
        try KernelKeyring.store(.of("first"), as: name, seconds: 60)
        #expect(try read(name) == Array("first".utf8))
        try KernelKeyring.store(.of("second"), as: name, seconds: 60)
        #expect(try read(name) == Array("second".utf8))
        #expect(try KernelKeyring.revoke(name))
        #expect(try read(name) == nil)
        #expect(try !KernelKeyring.revoke(name))
    }

    /// A program of another user, which inherits the session, has the keyring and not the folder.
    @Test func withoutTheFolderOfTheUserTheKeyringSaysNothing() throws {
        guard isAvailable else { return try expectUnavailable() }
        let (own, anothers) = (try TemporaryFolder(), try TemporaryFolder())
        defer { _ = try? KernelKeyring.revoke(name) }
        func read(_ folder: String?) throws -> [UInt8]? {
            try KernelKeyring.secret(name, wrappedIn: folder)?.copiedBytes
        }
        try KernelKeyring.store(.of("secret"), as: name, seconds: 60, wrappedIn: own.path)
        #expect(try read(own.path) == Array("secret".utf8))
        #expect(try read(anothers.path) == nil)
        #expect(try read(nil) == nil)
        try KernelKeyring.store(.of("other"), as: name + "2", seconds: 60, wrappedIn: anothers.path)
        _ = try KernelKeyring.revoke(name + "2")
        #expect(try read(anothers.path) == nil, "a value of the other user's does not open it")
        let file = own.path("tokenkit-session/key")
        var status = stat()
        #expect(lstat(file, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_uid == geteuid())
        // A folder that others can read is not used.
        chmod(own.path("tokenkit-session"), 0o755)
        #expect(try read(own.path) == nil)
        #expect(throws: KeychainError(.notAvailable)) {
            try KernelKeyring.store(.of("x"), as: name, seconds: 60, wrappedIn: own.path)
        }
    }

    @Test func aSecretOfTheSessionIsMadeOnceAndBoundToItsName() throws {
        let folder = try TemporaryFolder()
        let isThere = SessionSecret(in: folder.path) != nil || SessionSecret(in: nil) != nil
        #expect(!isThere)
        let sealed = try SessionSecret.make(in: folder.path).seal(.of("secret"), as: "a")
        #expect(
            sealed.count == 6 + SessionSecret.overhead
                && sealed.dropFirst(12).prefix(6) != ArraySlice(Array("secret".utf8)))
        let again = try SessionSecret.make(in: folder.path)
        let opened = again.open(sealed, as: "a")?.copiedBytes
        #expect(opened == Array("secret".utf8))
        let others = [
            again.open(sealed, as: "b")?.count, again.open([], as: "a")?.count,
            again.open(Array(sealed.dropLast()), as: "a")?.count,
        ]
        #expect(others.allSatisfy { $0 == nil })
        try folder.write("tokenkit-session/key", [1])
        #expect(throws: KeychainError(.notAvailable)) { _ = try SessionSecret.make(in: folder.path) }
    }

    @Test func noOtherNameFindsIt() throws {
        guard isAvailable else { return try expectUnavailable() }
        try KernelKeyring.store(.of("s"), as: name, seconds: 60)
        defer { _ = try? KernelKeyring.revoke(name) }
        #expect(try read(name + "x") == nil)
        #expect(try read(String(name.dropLast())) == nil)
    }

    @Test(arguments: [1, 32, 4096])
    func anySizeComesBackWhole(count: Int) throws {
        guard isAvailable else { return try expectUnavailable() }
        let text = String(repeating: "x", count: count)
        try KernelKeyring.store(.of(text), as: name, seconds: 60)
        defer { _ = try? KernelKeyring.revoke(name) }
        #expect(try read(name) == Array(text.utf8))
    }

    @Test func nothingIsKeptForNoTimeAndNothingIsNotKept() {
        #expect(throws: KeychainError(.param)) { try KernelKeyring.store(.of("s"), as: name, seconds: 0) }
        #expect(throws: KeychainError(.param)) { try KernelKeyring.store(.of(""), as: name, seconds: 9) }
        #expect(throws: KeychainError(.param)) {
            try KernelKeyring.store(.of(String(repeating: "x", count: 32_768)), as: name, seconds: 9)
        }
    }

    @Test func anOpeningUnlocksWithWhatAnotherLeft() throws {
        let test = try TestKeychain()
        let item = try test.addPassword(secret: "s")
        let other = try test.reopened()
        guard isAvailable else { return try expectUnavailable() }
        #expect(try !other.unlockFromSession())
        try test.keychain.shareKeyWithSession(seconds: 60)
        #expect(try other.unlockFromSession())
        #expect(try other.secretText(item.reference) == "s")
        #expect(try other.lockSession())
        #expect(other.isLocked)
        #expect(try !other.unlockFromSession())
        #expect(try !test.keychain.lockSession())
    }

    @Test func whatTheSessionHasTheKeyOfIsUnlockedAndLockedForAll() throws {
        let test = try TestKeychain()
        let other = try test.reopened()
        guard isAvailable else {
            try test.keychain.lockEverywhere()
            #expect(test.keychain.isLocked)
            return
        }
        #expect(other.status == [.readable, .writable])
        try test.keychain.shareKeyWithSession(seconds: 60)
        #expect(other.status == [.readable, .writable, .unlocked])
        try test.keychain.lockEverywhere()
        try test.keychain.lockEverywhere()
        for keychain in [test.keychain, other, try test.reopened()] {
            #expect(keychain.status == [.readable, .writable])
        }
    }

    @Test func aLockedKeychainHasNothingToLeave() throws {
        let test = try TestKeychain()
        test.keychain.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) { try test.keychain.shareKeyWithSession(seconds: 60) }
    }

    @Test func aForeignKeyUnderTheKeychainsNameIsNotTaken() throws {
        guard isAvailable else { return try expectUnavailable() }
        let test = try TestKeychain()
        let id = try WrappedKey(readingFrom: test.database()).keychain
        let name = "tokenkit:keychain:\(id)"
        for foreign in [String(repeating: "x", count: 32), "short"] {
            try KernelKeyring.store(.of(foreign), as: name, seconds: 60)
            let other = try test.reopened()
            #expect(try !other.unlockFromSession())
            #expect(other.isLocked)
        }
        #expect(try KernelKeyring.revoke(name))
    }

    private func expectUnavailable() throws {
        let error = try #require(throws: KeychainError.self) { try KernelKeyring.store(.of("s"), as: name, seconds: 9) }
        #expect(error.code == .notAvailable)
        #expect(error.remedy?.contains("one program") == true)
    }
}
