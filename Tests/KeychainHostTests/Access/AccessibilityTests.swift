import ItemDictionaries
import Synchronization
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct AccessibilityTests {
    private final class Session: Sendable {
        private let state = Mutex(false)
        var isLocked: Bool {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    private let session = Session()
    private let test: TestKeychain

    init() throws {
        test = try TestKeychain(isSessionLocked: { [session] in session.isLocked })
    }

    @Test(arguments: Accessibility.all)
    func aLockedSessionKeepsOnlyFromWhatIsForAnUnlockedOne(accessible: AttributeValue) throws {
        let item = try test.addPassword("a", [.accessible: accessible])
        session.isLocked = true
        let isKept = Accessibility.whileUnlocked.contains(accessible)
        if isKept {
            let error = KeychainError(.interactionNotAllowed)
            #expect(throws: error) { try test.secretText(item) }
            #expect(throws: error) { try test.addPassword("b", [.accessible: accessible]) }
            #expect(throws: error) {
                try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "x"]))
            }
        } else {
            #expect(try test.secretText(item) == "s3cret")
            try test.addPassword("b", [.accessible: accessible])
        }
        #expect(try test.passwords([.account: "a"]) == [item])
        #expect(try test.keychain.delete(matching: Query(item.reference)) == 1)
    }

    @Test(arguments: Accessibility.all)
    func aLockedKeychainKeepsFromEverySecret(accessible: AttributeValue) throws {
        let item = try test.addPassword("a", [.accessible: accessible])
        test.keychain.lock()
        let error = KeychainError(.interactionNotAllowed)
        #expect(throws: error) { try test.secretText(item) }
        #expect(throws: error) { try test.addPassword("b", [.accessible: accessible]) }
        #expect(throws: error) {
            try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "x"]))
        }
        #expect(try test.keychain.delete(matching: Query(item.reference)) == 1)
    }

    @Test func whatIsWrittenWhileTheSessionIsLockedIsJudgedByItsNewAccessibility() throws {
        let item = try test.addPassword("a", [.accessible: "ck"])
        session.isLocked = true
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try test.keychain.update(
                matching: Query(item.reference), to: ItemChanges([.accessible: Accessibility.whenUnlocked]))
        }
        session.isLocked = false
        try test.keychain.update(
            matching: Query(item.reference), to: ItemChanges([.accessible: Accessibility.whenUnlocked]))
        session.isLocked = true
        #expect(throws: KeychainError(.interactionNotAllowed)) { try test.secretText(item) }
    }

    @Test func certificatesAreThereAllTheTime() throws {
        session.isLocked = true
        let certificate = try test.keychain.add(NewItem(.certificate, [.label: "C"], der: [0x30, 0]))
        #expect(try test.keychain.items(matching: Query(certificate.reference)).found == [certificate])
    }
}
