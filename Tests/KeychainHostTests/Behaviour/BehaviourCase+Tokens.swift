import ItemDictionaries
import KeychainModel
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// Keychain semantics 6.5, the cases about items, and 4.3.
extension BehaviourCase {
    private static let withCard: [Venue] = [.token, .merged]

    static let tokens: [BehaviourCase] = [
        BehaviourCase(79, "one certificate on a card and in a file is two items", on: [.merged]) { stage in
            let certificate = try TestCard().key(.authentication).certificate
            try stage.add(["v_Ref": .reference(.certificate(certificate))])
            let found = try stage.all("cert", ["slnr": .data(certificate.serialNumber)])
            #expect(found.map { $0["tkid"]?.text?.hasPrefix("piv:") } == [true, nil])
            let both = try stage.copy([
                "v_Ref": .reference(.certificate(certificate)), "r_PersistentRef": .bool(true),
                "m_Limit": .string("m_LimitAll"),
            ])
            #expect(both?.array?.count == 2)
        },
        BehaviourCase(78, "each once, where that is wanted") { stage in
            try stage.withIdentity()
            let count = try stage.all("cert").count
            if stage.isWritable {
                let card = try stage.desk == nil ? TestKey.named("anna") : TestCard().key(.authentication)
                try stage.local.add(card.certificate, [.synchronizable: 1, .label: "again"])
            }
            let any: ItemDictionary = ["sync": .string("syna")]
            let once = try stage.all("cert", any.merging(["u_Distinct": .bool(true)]) { $1 })
            #expect(try stage.all("cert", any).count == (stage.isWritable ? count + 1 : count))
            #expect(once.count == count)
            #expect(!once.contains { $0["labl"]?.text == "again" }, "the first of them")
            let one = try stage.all("cert", any.merging(["u_Distinct": .bool(true), "m_Limit": .number(2)]) { $1 })
            #expect(one.count == min(2, count))
            expect(.param, key: "u_Distinct") {
                try stage.copy(["class": .string("cert"), "u_Distinct": .string("yes")])
            }
        },
        BehaviourCase(80, "what is on a token is in its group and named by its id", on: withCard) { stage in
            let all = try stage.all("cert")
            let id = try #require(all[0]["tkid"])
            #expect(try stage.all("cert", ["tkid": id]).count == 4)
            #expect(try stage.all("cert", ["agrp": .string("com.apple.token")]).count == 4)
            #expect(try stage.all("cert", ["tkid": .string("")]).isEmpty)
            #expect(try stage.all("cert", ["u_LocalOnly": .bool(true)]).isEmpty)
            expect(.param, key: "u_LocalOnly") {
                try stage.copy(["class": .string("cert"), "tkid": id, "u_LocalOnly": .bool(true)])
            }
        },
        BehaviourCase(81, "the tokens' group takes nothing", on: withCard) { stage in
            let item: ItemDictionary = ["class": .string("genp"), "agrp": .string("com.apple.token")]
            expect(.missingEntitlement, key: "agrp") { try stage.add(item) }
            expect(.itemNotFound) { try stage.copy(item) }
        },
        BehaviourCase(82, "nothing on a token is changed, and nothing half", on: withCard) { stage in
            try stage.withIdentity()
            let query: ItemDictionary = ["class": .string("cert")]
            let before = try stage.all("cert")
            expect(.readOnly) { try stage.update(query, to: ["labl": .string("x")]) }
            expect(.readOnly) { try stage.delete(query) }
            expect(.readOnly) { try stage.delete(["class": .string("idnt")]) }
            #expect(try stage.all("cert").map { $0["labl"]?.text } == before.map { $0["labl"]?.text })
            expect(.param, key: "tkid") { try stage.update(query, to: ["tkid": .string("")]) }
            guard stage.isWritable else {
                return expect(.itemNotFound) {
                    try stage.delete(["class": .string("cert"), "u_LocalOnly": .bool(true)])
                }
            }
            expect(.readOnly, key: "tkid") { try stage.addPassword("a", ["tkid": .string("piv:1")]) }
            try stage.update(
                ["class": .string("cert"), "u_LocalOnly": .bool(true)], to: ["labl": .string("x")])
            #expect(try stage.all("cert", ["labl": .string("x")]).count == 1)
            try stage.delete(["class": .string("cert"), "u_LocalOnly": .bool(true)])
            #expect(try stage.all("cert").count == 4)
        },
        BehaviourCase(83, "the data of a card's key is not to be had", on: withCard) { stage in
            let query: ItemDictionary = ["class": .string("keys"), "r_Data": .bool(true)]
            expect(.dataNotAvailable) { try stage.copy(query) }
            let dictionary = try stage.copy(query.merging(["r_Attributes": .bool(true)]) { $1 })?.dictionary
            #expect(dictionary?["klbl"] != nil)
            #expect(dictionary?["v_Data"] == nil)
            #expect(stage.desk?.pinsSent == 0)
        },
        BehaviourCase(86, "a key is copied from another file, but not from a card", on: [.merged]) { stage in
            let other = try TestKeychain()
            let key = try other.add(TestKey.named("anna").privateKey, [.label: "anna"])
            let client = KeychainSession(
                searchList: SearchList(
                    members: stage.session.searchList.members + [other.keychain as any KeychainHost.Keychain]),
                defaultKeychain: stage.local.keychain)
            _ = try client.add(["v_Ref": .reference(.item(key))])
            let copied = try stage.local.count(.key)
            #expect(copied == 1)
            let onCard = try #require(try stage.copy(["class": .string("keys"), "r_Ref": .bool(true)])?.item)
            expect(.dataNotAvailable) { _ = try client.add(["v_Ref": .reference(.item(onCard))]) }
            let fixed = try other.add(TestKey.named("ben").privateKey, [.isExtractable: false])
            expect(.dataNotAvailable) { _ = try client.add(["v_Ref": .reference(.item(fixed))]) }
        },
        BehaviourCase(84, "a local certificate joins the key on a card", on: [.merged]) { stage in
            let key = try TestCard().key(.authentication)
            let card = try #require(try stage.copy(["class": .string("idnt"), "r_Ref": .bool(true)])?.identity)
            let added = try stage.add(["v_Ref": .reference(.identity(card)), "r_Ref": .bool(true)])?.identity
            #expect(added?.certificate.isOnToken == false)
            #expect(added?.key.isOnToken == true)
            #expect(try stage.local.count(.key) == 0)
            #expect(try stage.all("idnt", ["pkhh": .data(key.certificate.keyHash)]).count == 2)
            // The identity's key is on a card, so that a query without cards does not find it.
            expect(.itemNotFound) { try stage.delete(["class": .string("idnt"), "u_LocalOnly": .bool(true)]) }
            try stage.delete(["class": .string("idnt"), "tkid": .string("")])
            #expect(try stage.local.count(.certificate) == 0)
            #expect(try stage.all("idnt").count == 4)
        },
    ]
}
