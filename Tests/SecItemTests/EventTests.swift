import CryptoTokenKit
import Foundation
import KeychainModel
import Synchronization
import TestSupport
import Testing

@testable import SecItem

/// The lines that were reported so far.
private final class Heard: Sendable {
    private let lines = Mutex<[String]>([])

    func put(_ line: String) { lines.withLock { $0.append(line) } }

    /// Waits up to 60 s until a line was reported, and returns whether it was.
    func has(_ line: String) -> Bool {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            if lines.withLock({ $0.contains(line) }) { return true }
            usleep(2000)
        }
        return false
    }

    var all: [String] { lines.withLock { $0 } }
}

@Suite struct KeychainEventTests {
    @Test func aFunctionIsCalledWithWhatHappens() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let heard = Heard()
            let callback: SecKeychainCallback = { event, info, context in
                let item = info.pointee.item?.takeUnretainedValue()
                let context = UInt(bitPattern: context)
                heard.put("\(event) \(item == nil ? "none" : "item") \(info.pointee.keychain != nil) \(context)")
                return errSecSuccess
            }
            let context = UnsafeMutableRawPointer(bitPattern: 7)
            #expect(SecKeychainAddCallback(callback, [.addEventMask, .deleteEventMask], context) == errSecSuccess)
            #expect(SecKeychainAddCallback(callback, .everyEventMask, nil) == errSecDuplicateCallback)
            let item: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "mail"]
            #expect(add(item) == errSecSuccess)
            #expect(heard.has("addEvent item true 7"))
            #expect(SecItemUpdate(item as CFDictionary, [kSecAttrComment: "x"] as CFDictionary) == errSecSuccess)
            #expect(SecItemDelete(item as CFDictionary) == errSecSuccess)
            #expect(heard.has("deleteEvent none true 7"))
            #expect(!heard.all.contains { $0.hasPrefix("updateEvent") })
            #expect(SecKeychainRemoveCallback(callback) == errSecSuccess)
            #expect(SecKeychainRemoveCallback(callback) == errSecInvalidCallback)
        }
    }
}

@Suite struct TokenWatcherTests {
    /// A watcher whose present tokens the test sets.
    private final class Watcher: TKTokenWatcher, @unchecked Sendable {
        let present = Mutex<[String]>([])

        override var tokenIDs: [String] { present.withLock { $0 } }
    }

    private static func event(_ kind: KeychainEvent.Kind, _ id: String) -> KeychainEvent {
        KeychainEvent(kind, keychain: KeychainIdentifier(rawValue: id), location: "reader")
    }

    @Test func insertionAndRemovalAreTold() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let heard = Heard()
            let watcher = Watcher()
            watcher.note(Self.event(.tokenInserted, "piv:1"))
            watcher.setInsertionHandler { heard.put("in \($0)") }
            #expect(heard.has("in piv:1"))
            watcher.note(Self.event(.tokenInserted, "piv:2"))
            watcher.note(Self.event(.tokenInserted, "piv:2"))
            #expect(heard.all.filter { $0 == "in piv:2" }.count == 1)

            watcher.present.withLock { $0 = ["piv:1", "piv:2"] }
            watcher.addRemovalHandler({ _ in heard.put("replaced") }, forTokenID: "piv:1")
            watcher.addRemovalHandler({ heard.put("out \($0)") }, forTokenID: "piv:1")
            watcher.note(Self.event(.tokenRemoved, "piv:2"))
            watcher.note(Self.event(.tokenRemoved, "piv:1"))
            watcher.note(Self.event(.tokenRemoved, "piv:1"))
            #expect(heard.all.filter { $0.hasPrefix("out") } == ["out piv:1"])
            #expect(!heard.all.contains("replaced"))
            watcher.addRemovalHandler({ heard.put("gone \($0)") }, forTokenID: "piv:9")
            #expect(heard.has("gone piv:9"))
        }
    }

    @Test func withoutAServiceThereAreNoTokens() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let watcher = TKTokenWatcher()
            #expect(watcher.tokenIDs.isEmpty)
            #expect(watcher.tokenInfo(forTokenID: "piv:1") == nil)
        }
    }
}
