import Glibc
import Platform
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// The lock of all keychains of a user's programs, by the host that they share.
@Suite struct OpenKeychainsTests {
    private let user: TestUser

    init() throws { user = try TestUser() }

    /// Locks the keychains of this test alone. Other tests in the process have some open as well.
    private func lock(where isIncluded: (LocalKeychain) -> Bool = { _ in true }) {
        let home = user.directories.system.dropLast("/etc".count)
        user.preferences.lockKeychains { $0.path.hasPrefix(home) && isIncluded($0) }
    }

    @Test func aKeychainIsLockedForEachClientThatHasItOpen() throws {
        let keychains =
            [try user.create("login")] + (try (0..<2).map { _ in try LocalKeychain.open(user.path("login")) })
        for keychain in keychains { try keychain.unlock(password: .of("p")) }
        lock()
        #expect(keychains.map(\.isLocked) == [true, true, true])
    }

    @Test func aKeychainOutsideTheSearchListIsLocked() throws {
        let keychain = try user.create("other")
        try user.preferences.setSearchList([])
        lock()
        #expect(keychain.isLocked)
    }

    @Test func aKeychainOfTheListThatNoClientHasOpenIsLockedInTheSession() throws {
        let path = user.path("login")
        do {
            let keychain = try user.create("login")
            do throws(KeychainError) { try keychain.shareKeyWithSession(seconds: 60) } catch {
                #expect(error == KeychainError(.notAvailable))
                return
            }
        }
        #expect(try LocalKeychain.open(path).unlockFromSession())
        lock()
        #expect(try !LocalKeychain.open(path).unlockFromSession())
    }

    @Test func aKeychainWhoseFileIsGoneIsLocked() throws {
        let keychain = try user.create("login")
        try #require(unlink(keychain.path) == 0)
        lock()
        #expect(keychain.isLocked)
    }

    @Test func onSleepTheSettingsDecide() throws {
        let (sleeper, other) = (try user.create("sleeper"), try user.create("other"))
        try sleeper.change(KeychainSettings(locksOnSleep: true))
        lock(where: \.locksOnSleep)
        #expect(sleeper.isLocked)
        #expect(!other.isLocked)
    }
}
