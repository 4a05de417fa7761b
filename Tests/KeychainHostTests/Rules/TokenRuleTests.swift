import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 4.2 and 4.3: several cards, and what is written.
@Suite struct TokenRuleTests {
    private let desks: [Desk]
    private let local: TestKeychain
    private let session: KeychainSession
    private let ids = ["piv:00000000-0000-0000-0000-000000000001", "piv:00000000-0000-0000-0000-000000000002"]

    init() throws {
        desks = try ["1", "2"].map { number in
            try Desk(
                TestCard(guid: String(repeating: "0", count: 31) + number, name: "card \(number)"),
                reader: "Reader \(number)")
        }
        local = try TestKeychain()
        session = KeychainSession(
            searchList: SearchList(tokens: desks.map(\.token), locals: [local.keychain]),
            defaultKeychain: local.keychain)
        try local.add(TestKey.named("anna").certificate)
        try local.add(TestKey.named("anna").privateKey)
    }

    private func tokens(_ query: ItemDictionary, _ itemClass: String = "cert") throws -> [String?] {
        let fixed: ItemDictionary = [
            "class": .string(itemClass), "m_Limit": .string("m_LimitAll"), "r_Attributes": .bool(true),
        ]
        return try session.copyMatching(fixed.merging(query) { $1 }).found?.array?.map { $0.dictionary?["tkid"]?.text }
            ?? []
    }

    @Test(arguments: ["cert", "keys", "idnt"])
    func rule4_2_theTokenIdIsOneCardAndTheGroupAllOfThem(itemClass: String) throws {
        #expect(try tokens([:], itemClass) == ids.flatMap { Array(repeating: $0, count: 4) } + [nil])
        for id in ids {
            #expect(try tokens(["tkid": .string(id)], itemClass) == Array(repeating: id, count: 4))
        }
        let group: ItemDictionary = ["agrp": .string("com.apple.token")]
        #expect(try tokens(group, itemClass) == ids.flatMap { Array(repeating: $0, count: 4) })
        #expect(try tokens(["tkid": .string("")], itemClass) == [nil])
        expect(.itemNotFound) { try tokens(["tkid": .string("piv:none")], itemClass) }
    }

    @Test func rule4_2_anAbsentCardHasNoItemsAndItsReferencesComeBackWithIt() throws {
        let query: ItemDictionary = [
            "class": .string("keys"), "tkid": .string(ids[0]), "r_PersistentRef": .bool(true),
        ]
        let reference = try #require(try session.copyMatching(query).found)
        desks[0].reader.remove()
        expect(.itemNotFound) { try session.copyMatching(query) }
        expect(.itemNotFound) { try session.copyMatching(["v_PersistentRef": reference]) }
        #expect(try tokens([:]).count == 5)
        desks[0].reader.insert(
            try TestCard(guid: String(repeating: "0", count: 31) + "1", name: "card 1").make())
        #expect(
            try session.copyMatching(["v_PersistentRef": reference, "r_PersistentRef": .bool(true)]).found?.bytes
                == reference.bytes)
    }

    @Test(arguments: ["cert", "keys", "idnt"])
    func rule4_3_noWriteChangesACardOrHalfOfWhatIsMeant(itemClass: String) throws {
        let change: ItemDictionary = ["labl": .string("x")]
        let onCard: ItemDictionary = ["class": .string(itemClass), "tkid": .string(ids[1])]
        let everywhere: ItemDictionary = ["class": .string(itemClass)]
        for query in [onCard, everywhere] {
            expect(.readOnly) { try session.update(query, to: change) }
            expect(.readOnly) { try session.delete(query) }
            expect(.param, key: "tkid") { try session.update(query, to: ["tkid": .string("")]) }
        }
        #expect(try tokens([:], itemClass).count == 9)
        let here = everywhere.merging(["u_LocalOnly": .bool(true)]) { $1 }
        try session.update(here, to: change)
        #expect(try tokens(["labl": .string("x")], itemClass) == [nil])
        try session.delete(here)
        #expect(try tokens([:], itemClass).count == 8)
    }

    @Test func rule4_3_whatIsAddedToACardIsRefused() throws {
        let certificate = try TestKey.named("ben").certificate
        let item: ItemDictionary = ["v_Ref": .reference(.certificate(certificate))]
        expect(.missingEntitlement, key: "agrp") {
            try session.add(item.merging(["agrp": .string("com.apple.token")]) { $1 })
        }
        expect(.readOnly, key: "tkid") { try session.add(item.merging(["tkid": .string(ids[0])]) { $1 }) }
        expect(.readOnly) {
            try session.add(
                item.merging(["u_Keychain": .reference(.keychain(KeychainIdentifier(rawValue: ids[0])))]) { $1 })
        }
        #expect(try local.count(.certificate) == 1)
    }

    @Test func rule4_3_aCardsKeyHasNoData() throws {
        let query: ItemDictionary = ["class": .string("keys"), "tkid": .string(ids[0]), "r_Data": .bool(true)]
        expect(ErrSec(rawValue: -25316)) { try session.copyMatching(query) }
        for more in ["r_Attributes", "r_Ref", "r_PersistentRef"] {
            let dictionary = try session.copyMatching(query.merging([more: .bool(true)]) { $1 }).found?.dictionary
            #expect(dictionary?.isEmpty == false)
            #expect(dictionary?["v_Data"] == nil)
        }
        #expect(desks.allSatisfy { $0.pinsSent == 0 })
    }
}
