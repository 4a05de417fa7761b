import Synchronization
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// A clock that only the test moves.
final class SetClock: Sendable {
    private let seconds: Mutex<Int64>
    init(_ start: Int64) { seconds = Mutex(start) }
    func advance(_ by: Int64) { seconds.withLock { $0 += by } }
    var read: @Sendable () -> Int64 { { self.seconds.withLock { $0 } } }
}

@Suite struct UpdateTests {
    @Test func anUpdateChangesWhatItNamesAndTheModificationDate() throws {
        let clock = SetClock(1000)
        let test = try TestKeychain(clock: clock.read)
        let item = try test.addPassword("anna", secret: "s", [.label: "old", .comment: "c"])
        clock.advance(5)
        #expect(try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "new"])) == 1)
        let found = try #require(try test.passwords().first)
        #expect(found.reference == item.reference)
        #expect(found.attributes == item.attributes.merging([.label: "new", .modificationDate: .date(1005)]) { $1 })
        #expect(try test.secretText(found) == "s")
    }

    @Test func aSecretIsReplacedByALongerOne() throws {
        let test = try TestKeychain()
        let item = try test.addPassword(secret: "s")
        let longer = String(repeating: "longer ", count: 500)
        #expect(try test.keychain.update(matching: Query(item.reference), to: ItemChanges(secret: .of(longer))) == 1)
        #expect(try test.secretText(item) == longer)
    }

    @Test func aSecretIsGivenToAnItemThatHadNone() throws {
        let test = try TestKeychain()
        let item = try test.addPassword(secret: nil)
        #expect(try test.keychain.update(matching: Query(item.reference), to: ItemChanges(secret: .of("now"))) == 1)
        #expect(try test.secretText(item) == "now")
    }

    @Test func everyMatchIsChanged() throws {
        let test = try TestKeychain()
        for name in ["a", "b", "c"] { try test.addPassword(name, service: "svc") }
        try test.addPassword("d", service: "other")
        let query = try Query(.genericPassword, [.service: "svc"])
        #expect(try test.keychain.update(matching: query, to: ItemChanges([.label: "x"])) == 3)
        #expect(try test.passwords([.label: "x"]).count == 3)
        for item in try test.passwords() { #expect(try test.secretText(item) == "s3cret") }
        #expect(try test.keychain.delete(matching: query) == 3)
        #expect(try test.keychain.delete(matching: query) == 0)
        #expect(try test.passwords().map { $0[.account]?.string } == ["d"])
    }

    @Test func aCollisionUndoesTheWholeUpdate() throws {
        let test = try TestKeychain()
        let before = try ["a", "b", "c"].map { try test.addPassword($0, service: "svc") }
        #expect(throws: KeychainError(.duplicateItem)) {
            try test.keychain.update(
                matching: Query(.genericPassword, [.service: "svc"]), to: ItemChanges([.account: "same", .label: "x"]))
        }
        #expect(try test.passwords() == before)
        #expect(try test.secretText(before[0]) == "s3cret")
    }

    @Test func aSearchForTheOldValueNoLongerFindsTheItem() throws {
        let test = try TestKeychain()
        try test.addPassword("a", service: "old")
        let query = try Query(.genericPassword, [.service: "old"])
        #expect(try test.keychain.update(matching: query, to: ItemChanges([.service: "new"])) == 1)
        #expect(try test.keychain.update(matching: query, to: ItemChanges([.service: "new"])) == 0)
        #expect(try test.passwords([.service: "new"]).count == 1)
    }

    @Test func onlyTheReferredItemIsChanged() throws {
        let test = try TestKeychain()
        let first = try test.addPassword("a")
        let second = try test.addPassword("b")
        #expect(try test.keychain.update(matching: Query(first.reference), to: ItemChanges([.label: "x"])) == 1)
        #expect(try test.keychain.items(matching: Query(first.reference)).found.first?.label == "x")
        #expect(try test.keychain.items(matching: Query(second.reference)).found == [second])
    }

    @Test func whatCannotChangeIsRefused() throws {
        let test = try TestKeychain()
        let item = try test.addPassword()
        func update(_ attributes: Attributes) throws {
            _ = try test.keychain.update(matching: Query(item.reference), to: ItemChanges(attributes))
        }
        #expect(throws: KeychainError(.param)) { try update([:]) }
        #expect(throws: KeychainError(.param)) { try update([.tokenID: ""]) }
        #expect(throws: KeychainError(.noSuchAttribute)) { try update([.keyClass: 1]) }
        #expect(throws: KeychainError(.param)) { try update([.creator: "many"]) }
        #expect(throws: KeychainError(.missingEntitlement)) { try update([.accessGroup: "com.apple.token"]) }
        #expect(try test.passwords() == [item])
    }

    @Test func theDataOfCertificatesAndKeysDoesNotChange() throws {
        let test = try TestKeychain()
        let key = try test.keychain.add(NewItem(.key, [.keyClass: 1], secret: .of("pkcs8")))
        #expect(throws: KeychainError(.dataNotModifiable)) {
            try test.keychain.update(matching: Query(key.reference), to: ItemChanges(secret: .of("other")))
        }
        #expect(try test.keychain.secretText(key.reference) == "pkcs8")
    }

    @Test func whatFollowsFromTheDataDoesNotChange() throws {
        let test = try TestKeychain()
        let anna = try TestKey.named("anna")
        let items = [
            try test.keychain.add(.privateKey(anna.privateKey)), try test.keychain.add(.certificate(anna.certificate)),
        ]
        let changes: [[Attributes]] = [
            [[.keyClass: "0"], [.keyType: "42"], [.keySizeInBits: 2048], [.applicationLabel: .data([1])]],
            [[.serialNumber: .data([1])], [.publicKeyHash: .data([1])], [.issuer: .data([0x31, 0])]],
        ]
        for (item, changes) in zip(items, changes) {
            for change in changes {
                #expect(throws: KeychainError(.param)) {
                    try test.keychain.update(matching: Query(item.reference), to: ItemChanges(change))
                }
            }
            let same = item.attributes.filter { [.keyClass, .serialNumber].contains($0.key) }
            #expect(try test.keychain.update(matching: Query(item.reference), to: ItemChanges(same)) == 1)
        }
    }

    @Test(arguments: [Query.Limit.atMost(1), .atMost(5)])
    func aChangeTakesNoLimit(limit: Query.Limit) throws {
        let test = try TestKeychain()
        let query = try Query(.genericPassword, limit: limit)
        #expect(throws: KeychainError(.param)) { try test.keychain.delete(matching: query) }
        #expect(throws: KeychainError(.param)) {
            try test.keychain.update(matching: query, to: ItemChanges([.label: "x"]))
        }
    }
}
