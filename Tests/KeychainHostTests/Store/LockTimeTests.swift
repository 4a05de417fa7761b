import Foundation
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// A clock that only the test moves.
final class TestUptime: Sendable {
    private let time = Mutex(Uptime(total: 1_000_000, asleep: 0))

    func now() -> Uptime { time.withLock { $0 } }

    func advance(seconds: Int64, asleep: Bool = false) {
        time.withLock { time in
            let milliseconds = seconds * 1000
            time = Uptime(total: time.total + milliseconds, asleep: time.asleep + (asleep ? milliseconds : 0))
        }
    }
}

@Suite struct LockTimeTests {
    private let time = TestUptime()
    private let test: TestKeychain
    private let isKeyringAvailable = (try? KernelKeyring.revoke("tokenkit:test:none")) != nil

    init() throws {
        test = try TestKeychain(uptime: { [time] in time.now() })
    }

    private func other() throws -> LocalKeychain {
        try LocalKeychain.open(test.path, uptime: { [time] in time.now() })
    }

    // MARK: Settings

    @Test func settingsAreKeptInTheFile() throws {
        #expect(try test.keychain.settings == KeychainSettings())
        let settings = KeychainSettings(locksOnSleep: true, lockInterval: 300)
        try test.keychain.change(settings)
        #expect(try test.reopened().settings == settings)
        try test.keychain.change(KeychainSettings())
        #expect(try test.reopened().settings == KeychainSettings())
    }

    @Test func changingSettingsNeedsTheKey() throws {
        let other = try test.reopened()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try other.change(KeychainSettings(locksOnSleep: true))
        }
        #expect(throws: KeychainError(.param)) { try test.keychain.change(KeychainSettings(lockInterval: 0)) }
        #expect(try other.settings == KeychainSettings())
    }

    @Test(arguments: [(Int64(-5), UInt32(1)), (0, 1), (7, 7), (.max, .max)])
    func anIntervalThatMakesNoSenseIsTheShortest(stored: Int64, interval: UInt32) throws {
        try test.forge("UPDATE settings SET lock_interval = ?", [.integer(stored)])
        #expect(try test.keychain.settings.lockInterval == interval)
    }

    // MARK: Interval

    @Test func withoutUseItLocksWhenTheIntervalIsOver() throws {
        let item = try test.addPassword()
        try test.keychain.change(KeychainSettings(lockInterval: 60))
        time.advance(seconds: 59)
        #expect(try test.secretText(item) == "s3cret")
        time.advance(seconds: 59)
        #expect(!test.keychain.isLocked)
        #expect(try test.secretText(item) == "s3cret")
        time.advance(seconds: 60)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try test.secretText(item) }
        #expect(test.keychain.isLocked)
        try test.keychain.unlock(password: .of("correct"))
        #expect(try test.secretText(item) == "s3cret")
    }

    @Test func lookingWhetherItIsLockedIsNoUse() throws {
        try test.keychain.change(KeychainSettings(lockInterval: 60))
        for _ in 0..<3 {
            time.advance(seconds: 20)
            _ = test.keychain.status
        }
        #expect(test.keychain.isLocked)
    }

    @Test func theIntervalOfTheFileHoldsForWhoUnlocksLater() throws {
        try test.keychain.change(KeychainSettings(lockInterval: 60))
        let other = try other()
        try other.unlock(password: .of("correct"))
        time.advance(seconds: 61)
        #expect(other.isLocked)
    }

    /// By the machine's own clock and without a call: the key must not stay in memory until the next call.
    @Test func theKeyIsForgottenThoughNobodyCalls() throws {
        let test = try TestKeychain()
        try test.keychain.change(KeychainSettings(lockInterval: 1))
        let deadline = ContinuousClock.now + .seconds(60)
        while test.keychain.state.withLock({ $0.key != nil }), ContinuousClock.now < deadline { usleep(20_000) }
        #expect(test.keychain.state.withLock { $0.key == nil })
    }

    @Test func aShorterIntervalHoldsAtOnceForTheTimerAsWell() throws {
        let test = try TestKeychain()
        try test.keychain.change(KeychainSettings(locksOnSleep: true))
        try test.keychain.change(KeychainSettings(locksOnSleep: true, lockInterval: 1))
        let deadline = ContinuousClock.now + .seconds(60)
        while test.keychain.state.withLock({ $0.key != nil }), ContinuousClock.now < deadline { usleep(20_000) }
        #expect(test.keychain.state.withLock { $0.key == nil })
    }

    @Test func settingsOfAnotherProcessHoldAtOnce() throws {
        let item = try test.addPassword()
        let other = try other()
        try other.unlock(password: .of("correct"))
        try other.change(KeychainSettings(lockInterval: 60))
        #expect(try test.secretText(item) == "s3cret")
        time.advance(seconds: 61)
        #expect(test.keychain.isLocked)
        try test.keychain.unlock(password: .of("correct"))
        try other.unlock(password: .of("correct"))
        try other.change(KeychainSettings(locksOnSleep: true))
        time.advance(seconds: 3600)
        #expect(!test.keychain.isLocked)
        time.advance(seconds: 60, asleep: true)
        #expect(test.keychain.isLocked)
    }

    /// By the machine's own clock, in a process that does nothing.
    @Test func settingsOfAnotherProcessLockWhatNobodyUses() throws {
        let test = try TestKeychain()
        let other = try test.reopened()
        try other.unlock(password: .of("correct"))
        try other.change(KeychainSettings(lockInterval: 1))
        let deadline = ContinuousClock.now + .seconds(60)
        while test.keychain.state.withLock({ $0.key != nil }), ContinuousClock.now < deadline { usleep(20_000) }
        #expect(test.keychain.state.withLock { $0.key == nil })
    }

    @Test func theTimerEndsWithItsKeychain() throws {
        weak var keychain: LocalKeychain?
        do {
            let test = try TestKeychain()
            try test.keychain.change(KeychainSettings(locksOnSleep: true, lockInterval: 3600))
            keychain = test.keychain
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while keychain != nil, ContinuousClock.now < deadline { usleep(1000) }
        #expect(keychain == nil)
    }

    // MARK: Sleep

    @Test func sleepLocksWhereTheSettingsSaySo() throws {
        time.advance(seconds: 3600, asleep: true)
        #expect(!test.keychain.isLocked)
        try test.keychain.change(KeychainSettings(locksOnSleep: true))
        time.advance(seconds: 3600)
        #expect(!test.keychain.isLocked)
        time.advance(seconds: 2, asleep: true)
        #expect(test.keychain.isLocked)
    }

    // MARK: The login session

    /// Expects `notAvailable` on a kernel without a keyring, and that the keychain stays unlocked in this process.
    private func expectNoSharing() throws {
        #expect(throws: KeychainError(.notAvailable)) { try test.keychain.shareKeyWithSession(seconds: 600) }
        #expect(throws: KeychainError(.notAvailable)) { try other().unlockFromSession() }
        #expect(!test.keychain.isLocked)
    }

    @Test func aKeyInTheSessionLocksEverywhereWhenTheSessionDoes() throws {
        guard isKeyringAvailable else { return try expectNoSharing() }
        let item = try test.addPassword()
        try test.keychain.shareKeyWithSession(seconds: 600)
        let other = try other()
        #expect(try other.unlockFromSession())
        #expect(try other.secretText(item.reference) == "s3cret")
        #expect(try test.keychain.lockSession())
        #expect(other.isLocked)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try other.secretText(item.reference) }
    }

    /// As for a program that only searches, in a session for which the keychain was unlocked.
    @Test func aSearchChecksSealsByTheKeyInTheSession() throws {
        guard isKeyringAvailable else { return try expectNoSharing() }
        let bob = try test.keychain.add(.publicKey(TestKey.named("bob").publicKey))
        let other = try TestKey.named("mallory").publicKey
        try test.forge("UPDATE keys SET der = ?, klbl = ?", [.blob(other.spki), .blob(other.keyHash)])
        #expect(try self.other().items(matching: Query(bob.reference)).found.count == 1)
        try test.keychain.shareKeyWithSession(seconds: 600)
        let result = try self.other().items(matching: Query(bob.reference))
        #expect(result.found.isEmpty && result.missing.map(\.error) == [KeychainError(.decode)])
    }

    @Test func aKeyInTheSessionIsNotTakenAfterSleep() throws {
        guard isKeyringAvailable else { return try expectNoSharing() }
        try test.keychain.change(KeychainSettings(locksOnSleep: true))
        try test.keychain.shareKeyWithSession(seconds: 600)
        #expect(try other().unlockFromSession())
        time.advance(seconds: 5, asleep: true)
        #expect(try !other().unlockFromSession())
        #expect(test.keychain.isLocked)
        // The key does not stay in the session either.
        #expect(try !test.keychain.lockSession())
    }

    @Test func aKeyInTheSessionIsNotTakenAfterItsEnd() throws {
        guard isKeyringAvailable else { return try expectNoSharing() }
        try test.keychain.shareKeyWithSession(seconds: 600)
        time.advance(seconds: 601)
        #expect(try !other().unlockFromSession())
        #expect(test.keychain.isLocked)
    }

    @Test func sharingForNoTimeIsRefused() throws {
        guard isKeyringAvailable else { return try expectNoSharing() }
        #expect(throws: KeychainError(.param)) { try test.keychain.shareKeyWithSession(seconds: 0) }
        #expect(!test.keychain.isLocked)
    }

    /// The kernel counts the interval for all processes: it forgets the key by itself.
    @Test func theSessionForgetsAKeyThatNobodyUses() throws {
        guard isKeyringAvailable else { return try expectNoSharing() }
        let test = try TestKeychain()
        try test.keychain.change(KeychainSettings(lockInterval: 1))
        try test.keychain.shareKeyWithSession(seconds: 600)
        let deadline = ContinuousClock.now + .seconds(60)
        while !test.keychain.isLocked, ContinuousClock.now < deadline { usleep(20_000) }
        #expect(test.keychain.isLocked)
        #expect(try !test.reopened().unlockFromSession())
    }

    /// Each use counts, even in a short-lived process.
    @Test func usingAKeyOfTheSessionLengthensItsTime() throws {
        guard isKeyringAvailable else { return try expectNoSharing() }
        let test = try TestKeychain()
        let item = try test.addPassword()
        let name = "tokenkit:keychain:\(try WrappedKey(readingFrom: test.database()).keychain)"
        try test.keychain.change(KeychainSettings(lockInterval: 600))
        try test.keychain.shareKeyWithSession(seconds: 3600)
        #expect(try KernelKeyring.keep(name, seconds: 3))
        let other = try test.reopened()
        #expect(try other.unlockFromSession())
        #expect(try other.secretText(item.reference) == "s3cret")
        usleep(3_200_000)
        #expect(try KernelKeyring.contains(name))
        #expect(try other.lockSession())
    }

    @Test func aSharedKeyReadsAsItWasWritten() {
        let key = Secret.of(String(repeating: "k", count: 32))
        let encoded = SharedKey(key, asleep: 0x0102_0304_0506_0708, end: 77, salt: [1, 2, 3]).encoded()
        #expect(encoded.count == 51)
        guard let parsed = SharedKey(parsing: encoded) else {
            Issue.record("what was encoded is not read")
            return
        }
        let (asleep, end, salt, isSame) = (parsed.asleep, parsed.end, parsed.salt, parsed.key.equals(key))
        #expect(asleep == 0x0102_0304_0506_0708)
        #expect(end == 77)
        #expect(salt == [1, 2, 3])
        #expect(isSame)
        let isNegativeRead = SharedKey(parsing: SharedKey(key, asleep: 1, end: -1, salt: []).encoded()) != nil
        #expect(!isNegativeRead)
        for count in [0, 32, 47] {
            let isRead = SharedKey(parsing: .of(String(repeating: "x", count: count))) != nil
            #expect(!isRead)
        }
    }
}
