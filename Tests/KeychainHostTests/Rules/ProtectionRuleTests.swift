import ItemDictionaries
import Synchronization
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 3.1: the table of accessibilities.
@Suite struct ProtectionRuleTests {
    /// For each accessibility, whether it needs an unlocked session, and whether the item may leave the device.
    private static let table: [(value: String, isForUnlocked: Bool, mayLeave: Bool)] = [
        ("ak", true, true), ("ck", false, true), ("dk", false, true), ("aku", true, false), ("cku", false, false),
        ("dku", false, false), ("akpu", true, false),
    ]

    private final class Lock: Sendable {
        private let state = Atomic(false)
        var isOn: Bool { state.load(ordering: .relaxed) }
        func set() { state.store(true, ordering: .relaxed) }
    }

    @Test(arguments: table)
    func rule3_1_whatIsForAnUnlockedSessionIsKeptByALockedOne(
        value: String, isForUnlocked: Bool, mayLeave: Bool
    ) throws {
        let lock = Lock()
        let (local, session) = try place { lock.isOn }
        let item: ItemDictionary = [
            "class": .string("genp"), "acct": .string("a"), "pdmn": .string(value), "v_Data": .data([7]),
        ]
        _ = try session.add(item)
        let query: ItemDictionary = ["class": .string("genp"), "acct": .string("a")]
        let reading = query.merging(["r_Data": .bool(true)]) { $1 }
        #expect(try session.copyMatching(reading).found?.bytes == [7])
        lock.set()
        let calls: [() throws -> Void] = [
            { _ = try session.copyMatching(reading) },
            { _ = try session.add(item.merging(["acct": .string("b")]) { $1 }) },
            { try session.update(query, to: ["v_Data": .data([7])]) },
        ]
        for call in calls {
            if isForUnlocked {
                expect(ErrSec(rawValue: -25308)) { try call() }
            } else {
                #expect(throws: Never.self) { try call() }
            }
        }
        #expect(try session.copyMatching(query.merging(["r_Attributes": .bool(true)]) { $1 }).found != nil)
        try session.delete(query)
        #expect(try local.passwords([.account: "a"]).isEmpty)
    }

    @Test(arguments: table)
    func rule3_1_whatIsForThisDeviceIsInNoBackup(value: String, isForUnlocked: Bool, mayLeave: Bool) throws {
        let (local, session) = try place { false }
        _ = try session.add([
            "class": .string("genp"), "acct": .string("a"), "pdmn": .string(value), "v_Data": .data([7]),
        ])
        let count = try local.keychain.backUp(to: local.folder.path("backup"))
        #expect(count == BackupCount(items: mayLeave ? 1 : 0, leftOut: mayLeave ? 0 : 1, damaged: 0))
    }

    private func place(
        _ isSessionLocked: @escaping @Sendable () -> Bool
    ) throws -> (TestKeychain, KeychainSession) {
        let local = try TestKeychain(isSessionLocked: isSessionLocked)
        return (
            local,
            KeychainSession(searchList: SearchList(locals: [local.keychain]), defaultKeychain: local.keychain)
        )
    }
}
