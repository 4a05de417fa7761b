import Glibc
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// The keychain files that the clients of one host have in common.
@Suite struct SharedKeychainsTests {
    private let user: TestUser
    private let files = SharedKeychains(forSession: true)

    init() throws { user = try TestUser() }

    /// A client of the host.
    private func client() -> ProcessKeychains { ProcessKeychains(user.preferences, files: files) }

    private func password(_ account: String) throws -> NewItem {
        try .genericPassword([.account: .string(account), .service: "mail"], secret: .of("s3cret"))
    }

    @Test func aFileIsOpenedOnceForAllClients() throws {
        let path = try user.create("login").path
        let (one, two) = (client(), client())
        #expect(try one.keychain(at: path) === two.keychain(at: path))
        let link = user.folder.path("link")
        #expect(symlink(path, link) == 0)
        #expect(try one.keychain(at: path) === two.keychain(at: link))
        #expect(try ProcessKeychains(user.preferences).keychain(at: path) !== one.keychain(at: path))
    }

    @Test func whatOneClientUnlocksOrLocksIsSoForAll() throws {
        let path = try user.create("login").path
        let (one, two) = (client(), client())
        try one.keychain(at: path).unlock(password: .of("p"))
        let item = try one.keychain(at: path).add(password("anna"))
        #expect(try two.keychain(at: path).secretText(item.reference) == "s3cret")
        _ = try two.lockFiles()
        #expect(try one.keychain(at: path).isLocked)
    }

    @Test func aCreatedKeychainIsUnlockedForAll() throws {
        let (one, two) = (client(), client())
        let created = try user.preferences.create("login", password: .of("p"), cost: .negligible)
        one.adopt(created)
        #expect(try two.keychain(at: created.path) === created)
        #expect(files.unlocked == [created.path])
    }

    @Test func anUnlockedKeychainOutlivesItsClients() throws {
        let path = try user.create("login").path
        var one: ProcessKeychains? = client()
        try one?.keychain(at: path).unlock(password: .of("p"))
        one?.letGo()
        one = nil
        #expect(files.unlocked == [path])
        #expect(try !client().keychain(at: path).isLocked)
    }

    /// Its disk may be taken away.
    @Test func aLockedKeychainThatNoClientUsesIsClosed() throws {
        let path = try user.create("login").path
        let (one, two) = (client(), client())
        weak var opened: LocalKeychain?
        opened = try one.keychain(at: path)
        _ = try two.keychain(at: path)
        one.letGo()
        #expect(opened != nil)
        two.letGo()
        #expect(opened == nil)
    }

    @Test func aFileThatTakesThePlaceOfAnotherIsAnotherKeychain() throws {
        let path = try user.create("login").path
        let (one, two) = (client(), client())
        let former = try one.keychain(at: path)
        try former.unlock(password: .of("p"))
        try user.preferences.delete("login")
        _ = try user.create("login")
        #expect(try two.keychain(at: path).isLocked)
        #expect(try one.keychain(at: path) === two.keychain(at: path))
        #expect(try one.keychain(at: path) !== former)
        #expect(former.isLocked)
    }

    @Test func aClientSeesTheChangesOfAnother() throws {
        let path = try user.create("login").path
        let (one, two) = (client(), client())
        try one.keychain(at: path).unlock(password: .of("p"))
        let version = try two.keychain(at: path).version
        try one.keychain(at: path).add(password("anna"))
        #expect(try two.keychain(at: path).version != version)
        #expect(try two.keychain(at: path).items(matching: Query(.genericPassword)).found.count == 1)
    }

    @Test func manyThreadsOpenOneKeychain() async throws {
        let path = try user.create("login").path
        let clients = (0..<16).map { _ in client() }
        let opened = try await withThrowingTaskGroup(of: LocalKeychain.self) { group in
            for client in clients { group.addTask { try client.keychain(at: path) } }
            return try await group.reduce(into: Set<ObjectIdentifier>()) { $0.insert(ObjectIdentifier($1)) }
        }
        #expect(opened.count == 1)
    }

    // MARK: Locking all

    @Test func aKeychainOutsideTheSearchListIsLocked() throws {
        let keychain = try user.create("other")
        try user.preferences.setSearchList([])
        client().adopt(keychain)
        files.lock()
        #expect(keychain.isLocked)
    }

    @Test func aKeychainWhoseFileIsGoneIsLocked() throws {
        let keychain = try user.create("login")
        client().adopt(keychain)
        try #require(unlink(keychain.path) == 0)
        files.lock()
        #expect(keychain.isLocked)
    }

    @Test func onSleepTheSettingsDecide() throws {
        let (sleeper, other) = (try user.create("sleeper"), try user.create("other"))
        try sleeper.change(KeychainSettings(locksOnSleep: true))
        for keychain in [sleeper, other] { client().adopt(keychain) }
        files.lock(where: \.locksOnSleep)
        #expect(sleeper.isLocked)
        #expect(!other.isLocked)
    }
}
