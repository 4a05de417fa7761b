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

    /// Any program could keep the keychain unlocked for all.
    @Test func lookingAtItemsIsNoUse() throws {
        try test.addPassword()
        try test.keychain.change(KeychainSettings(lockInterval: 60))
        for _ in 0..<3 {
            time.advance(seconds: 20)
            _ = try test.passwords()
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

    // MARK: Keychains of several programs

    @Test func aKeychainOfSeveralProgramsLocksAfterTheStandardTime() throws {
        test.keychain.share()
        time.advance(seconds: Int64(KeychainSettings.standardSessionTime) - 1)
        #expect(!test.keychain.isLocked)
        time.advance(seconds: 2)
        #expect(test.keychain.isLocked)
        try test.keychain.unlock(password: .of("correct"))
        time.advance(seconds: Int64(KeychainSettings.standardSessionTime) + 1)
        #expect(test.keychain.isLocked)
    }

    @Test func aKeychainOfOneProgramStaysUnlockedWhileThatRuns() throws {
        time.advance(seconds: 30 * 86_400)
        #expect(!test.keychain.isLocked)
    }

    @Test func aGivenTimeEndsThoughTheKeychainIsUsed() throws {
        let item = try test.addPassword()
        test.keychain.lockAfter(seconds: 600)
        for _ in 0..<5 {
            time.advance(seconds: 119)
            #expect(try test.secretText(item) == "s3cret")
        }
        time.advance(seconds: 10)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try test.secretText(item) }
    }

    /// Else a program could keep open what a person wanted to be closed.
    @Test func aSecondTimeLengthensNothing() throws {
        test.keychain.lockAfter(seconds: 60)
        test.keychain.lockAfter(seconds: 600)
        try test.keychain.unlock(password: .of("correct"))
        time.advance(seconds: 61)
        #expect(test.keychain.isLocked)
        try test.keychain.unlock(password: .of("correct"))
        time.advance(seconds: 61)
        #expect(!test.keychain.isLocked)
    }

    @Test func aLockedKeychainTakesNoTime() throws {
        test.keychain.lock()
        test.keychain.lockAfter(seconds: 60)
        try test.keychain.unlock(password: .of("correct"))
        time.advance(seconds: 61)
        #expect(!test.keychain.isLocked)
    }

    /// By the machine's own clock and without a call.
    @Test func theKeyIsForgottenAfterAGivenTimeThoughNobodyCalls() throws {
        let test = try TestKeychain()
        test.keychain.lockAfter(seconds: 1)
        let deadline = ContinuousClock.now + .seconds(60)
        while test.keychain.state.withLock({ $0.key != nil }), ContinuousClock.now < deadline { usleep(20_000) }
        #expect(test.keychain.state.withLock { $0.key == nil })
    }
}
