import Foundation
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

@Suite struct SecrecyTests {
    private func content(_ path: String) -> Data {
        (try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()
    }

    private func allContent(_ path: String) -> Data {
        ["", "-wal", "-shm"].reduce(Data()) { $0 + content(path + $1) }
    }

    private func contains(_ needle: String, in bytes: Data) -> Bool {
        bytes.range(of: Data(needle.utf8)) != nil
    }

    @Test func noSecretAndNoPasswordIsInAnyFile() throws {
        let test = try TestKeychain()
        let item = try test.addPassword("visible-account", secret: "invisible-secret-1")
        try test.keychain.update(matching: Query(item.reference), to: ItemChanges(secret: .of("invisible-secret-2")))
        try test.keychain.add(NewItem(.key, [.keyClass: 1, .label: "visible-key"], secret: .of("invisible-secret-3")))
        try test.keychain.changePassword(from: .of("correct"), to: .of("invisible-secret-4"), cost: .negligible)
        let bytes = allContent(test.path)
        #expect(contains("visible-account", in: bytes) && contains("visible-key", in: bytes))
        #expect(!contains("invisible-secret", in: bytes))
        #expect(!contains("correct", in: bytes))
    }

    @Test func theKeyItselfIsInNoFile() throws {
        let test = try TestKeychain()
        try test.addPassword()
        let key = try WrappedKey(readingFrom: test.database()).unwrap(password: .of("correct"), of: "test").copiedBytes
        #expect(key.count == 32)
        let bytes = allContent(test.path)
        #expect(bytes.range(of: Data(key)) == nil)
    }

    @Test func sealingTheSameTwiceGivesDifferentBytes() throws {
        let test = try TestKeychain()
        try test.addPassword("a", secret: "same")
        try test.addPassword("b", secret: "same")
        let database = try test.database()
        let distinct = try database.value("SELECT count(DISTINCT sealed) FROM genp").integer
        let nonces = try database.value("SELECT count(DISTINCT substr(sealed, 1, 12)) FROM genp").integer
        #expect(distinct == 2 && nonces == 2)
    }

    @Test func anUpdateDrawsANewNonce() throws {
        let test = try TestKeychain()
        let item = try test.addPassword()
        let database = try test.database()
        let before = try database.value("SELECT substr(sealed, 1, 12) FROM genp")
        try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "x"]))
        let after = try database.value("SELECT substr(sealed, 1, 12) FROM genp")
        #expect(before != after)
    }

    @Test func everyKeychainHasItsOwnKeySaltAndIdentifier() throws {
        let (one, two) = (try TestKeychain(), try TestKeychain())
        #expect(one.keychain.identifier != two.keychain.identifier)
        let first = try WrappedKey(readingFrom: one.database())
        let second = try WrappedKey(readingFrom: two.database())
        #expect(first.salt != second.salt)
        #expect(first.salt.count == 32)
        let foreign = try second.unwrap(password: .of("correct"), of: "test")
        let fits = first.isFor(foreign)
        #expect(!fits)
    }

    @Test func whatWasDeletedIsOverwrittenInTheFile() throws {
        let folder = try TemporaryFolder()
        do {
            let keychain = try LocalKeychain.create(at: folder.path("k"), password: .of("p"), cost: .negligible)
            let item = try keychain.add(.genericPassword([.account: "deleted-account"], secret: .of("s")))
            #expect(try keychain.delete(matching: Query(item.reference)) == 1)
        }
        #expect(!contains("deleted-account", in: content(folder.path("k"))))
    }

    @Test func associatedDataOfDifferentPartsIsNeverTheSame() {
        let id = UniqueID()
        func bytes(_ parts: [[UInt8]]) -> [UInt8] {
            var data = AssociatedData("test", keychain: id)
            for part in parts { data.append(part) }
            return data.bytes
        }
        func bytes(_ attributes: Attributes) -> [UInt8] {
            var data = AssociatedData("test", keychain: id)
            data.append(attributes)
            return data.bytes
        }
        let lists: [[[UInt8]]] = [[], [[]], [[], []], [[1]], [[1, 2]], [[1], [2]], [[], [1, 2]], [[1, 2], []]]
        #expect(Set(lists.map(bytes)).count == lists.count)
        let sets: [Attributes] = [
            [:], [.label: "a"], [.label: .data([0x61])], [.comment: "a"], [.creator: 1], [.creator: 256],
            [.isInvisible: true], [.isInvisible: false], [.creationDate: .date(1)], [.label: "a", .comment: "a"],
            [.label: "alabl"], [.label: ""],
        ]
        #expect(Set(sets.map(bytes)).count == sets.count)
    }
}
