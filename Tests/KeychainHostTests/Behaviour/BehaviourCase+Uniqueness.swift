import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 6.2.
extension BehaviourCase {
    private static let writable: [Venue] = [.local, .merged]

    private static let site: ItemDictionary = [
        "class": .string("inet"), "acct": .string("a"), "sdmn": .string("d"), "srvr": .string("s"),
        "ptcl": .string("http"), "atyp": .string("form"), "port": .number(80), "path": .string("/"),
        "v_Data": .data([1]),
    ]

    static let uniqueness: [BehaviourCase] = [
        BehaviourCase(21, "a site that differs in one part is another", on: writable) { stage in
            try stage.add(site)
            let differences: ItemDictionary = [
                "path": .string("/a"), "sdmn": .string("e"), "srvr": .string("t"), "ptcl": .string("htps"),
                "atyp": .string("httd"), "port": .number(81), "acct": .string("b"),
            ]
            for (key, value) in differences { try stage.add(site.merging([key: value]) { $1 }) }
            #expect(try stage.all("inet").count == 8)
        },
        BehaviourCase(23, "a second of the same is refused", on: writable) { stage in
            try stage.add(site)
            expect(.duplicateItem) { try stage.add(site) }
            expect(.duplicateItem) {
                try stage.add(site.merging(["labl": .string("other"), "v_Data": .data([2])]) { $1 })
            }
            #expect(try stage.all("inet", site.filter { $0.key != "v_Data" }).count == 1)
        },
        BehaviourCase(24, "returned attributes find their item again") { stage in
            try stage.withIdentity()
            if stage.isWritable { try stage.addPassword() }
            for itemClass in ["genp", "cert", "keys", "idnt"] {
                for attributes in try stage.all(itemClass) {
                    #expect(try stage.all(itemClass, attributes).count == 1, "\(attributes)")
                }
            }
        },
        BehaviourCase(25, "a renamed server is found by its new name alone", on: writable) { stage in
            try stage.add(site)
            let old: ItemDictionary = ["class": .string("inet"), "srvr": .string("s")]
            try stage.update(old, to: ["srvr": .string("t")])
            expect(.itemNotFound) { try stage.update(old, to: ["srvr": .string("t")]) }
            expect(.itemNotFound) { try stage.delete(old) }
            #expect(try stage.all("inet", ["srvr": .string("t")]).count == 1)
        },
        BehaviourCase(27, "a secret is replaced by data and nothing else", on: writable) { stage in
            try stage.addPassword()
            let query: ItemDictionary = ["class": .string("genp"), "acct": .string("anna")]
            let longer = Array(String(repeating: "longer ", count: 100).utf8)
            try stage.update(query, to: ["v_Data": .data(longer)])
            #expect(try stage.copy(query.merging(["r_Data": .bool(true)]) { $1 })?.bytes == longer)
            expect(.param, key: "v_Data") { try stage.update(query, to: ["v_Data": .null]) }
            expect(.param, key: "v_Data") { try stage.update(query, to: ["v_Data": .string("s")]) }
            expect(.param, key: "v_Data") { try stage.addPassword("b", ["v_Data": .string("s")]) }
            #expect(try stage.copy(query.merging(["r_Data": .bool(true)]) { $1 })?.bytes == longer)
        },
        BehaviourCase(29, "updates and deletions mean every match", on: writable) { stage in
            for name in ["a", "b", "c"] { try stage.addPassword(name, service: "svc") }
            try stage.addPassword("d", service: "other")
            let query: ItemDictionary = ["class": .string("genp"), "svce": .string("svc")]
            try stage.update(query, to: ["labl": .string("x")])
            #expect(try stage.all("genp", ["labl": .string("x")]).count == 3)
            try stage.delete(query)
            expect(.itemNotFound) { try stage.delete(query) }
            #expect(try stage.all("genp").map { $0["acct"]?.text } == ["d"])
        },
        BehaviourCase(30, "a collision undoes the whole update", on: writable) { stage in
            for name in ["a", "b"] { try stage.addPassword(name, service: "svc") }
            expect(.duplicateItem) {
                try stage.update(["class": .string("genp")], to: ["acct": .string("c"), "labl": .string("x")])
            }
            #expect(try stage.all("genp").map { $0["acct"]?.text } == ["a", "b"])
            #expect(try stage.all("genp", ["labl": .string("x")]).isEmpty)
        },
        BehaviourCase(31, "a persistent reference means its item, and stays", on: writable) { stage in
            let references = try ["a", "b"].map { name in
                try #require(
                    try stage.add(site.merging(["acct": .string(name), "r_PersistentRef": .bool(true)]) { $1 }))
            }
            try stage.update(["v_PersistentRef": references[0]], to: ["labl": .string("x")])
            for (reference, label) in zip(references, ["x", nil]) {
                let query: ItemDictionary = [
                    "v_PersistentRef": reference, "r_Attributes": .bool(true), "r_PersistentRef": .bool(true),
                ]
                let found = try #require(try stage.copy(query)?.dictionary)
                #expect(found["labl"]?.text == label)
                #expect(found["v_PersistentRef"]?.bytes == reference.bytes)
            }
            try stage.delete(["v_PersistentRef": references[0]])
            expect(.itemNotFound) { try stage.copy(["v_PersistentRef": references[0]]) }
            #expect(try stage.copy(["v_PersistentRef": references[1]]) == nil)
        },
        BehaviourCase(32, "the reference of what was deleted is not that of its successor", on: writable) { stage in
            let first = try #require(try stage.addPassword("a", ["r_PersistentRef": .bool(true)])?.bytes)
            try stage.delete(["class": .string("genp")])
            let second = try #require(try stage.addPassword("a", ["r_PersistentRef": .bool(true)])?.bytes)
            #expect(first != second)
            expect(.itemNotFound) { try stage.copy(["v_PersistentRef": .data(first)]) }
        },
        BehaviourCase(33, "a persistent reference is the whole query, and not for adding") { stage in
            try stage.withIdentity()
            let reference = try #require(try stage.copy(["class": .string("cert"), "r_PersistentRef": .bool(true)]))
            let query: ItemDictionary = ["v_PersistentRef": reference]
            #expect(try stage.copy(query) == nil)
            #expect(try stage.copy(query.merging(["class": .string("cert")]) { $1 }) == nil)
            expect(.param, key: "labl") { try stage.copy(query.merging(["labl": .string("a")]) { $1 }) }
            expect(.param, key: "labl") { try stage.delete(query.merging(["labl": .string("a")]) { $1 }) }
            expect(.param, key: "labl") {
                try stage.update(query.merging(["labl": .string("a")]) { $1 }, to: ["icmt": .string("x")])
            }
            expect(.param, key: "class") { try stage.copy(query.merging(["class": .string("genp")]) { $1 }) }
            expect(.param, key: "v_PersistentRef") { try stage.add(query) }
        },
        BehaviourCase(35, "a client has its own groups", on: writable) { stage in
            try stage.addPassword("foreign", ["agrp": .string("g2")])
            let client = KeychainSession(
                searchList: stage.session.searchList, defaultKeychain: stage.local.keychain,
                accessGroups: AccessGroups(["g1", "g3"]))
            let item: ItemDictionary = ["class": .string("genp"), "acct": .string("own"), "v_Data": .data([1])]
            expect(.missingEntitlement, key: "agrp") {
                _ = try client.add(item.merging(["agrp": .string("g2")]) { $1 })
            }
            _ = try client.add(item)
            _ = try client.add(item.merging(["agrp": .string("g3")]) { $1 })
            let query: ItemDictionary = [
                "class": .string("genp"), "m_Limit": .string("m_LimitAll"), "r_Attributes": .bool(true),
            ]
            let groups = try client.copyMatching(query).found?.array?.map { $0.dictionary?["agrp"]?.text }
            #expect(groups == ["g1", "g3"])
            expect(.itemNotFound) { _ = try client.copyMatching(query.merging(["agrp": .string("g2")]) { $1 }) }
            expect(.missingEntitlement, key: "agrp") {
                try client.update(["class": .string("genp"), "acct": .string("own")], to: ["agrp": .string("g2")])
            }
            try client.delete(["class": .string("genp")])
            #expect(try stage.all("genp").map { $0["acct"]?.text } == ["foreign"])
        },
        BehaviourCase(36, "a client without groups has nothing") { stage in
            let client = KeychainSession(
                searchList: stage.session.searchList, defaultKeychain: stage.local.keychain,
                accessGroups: AccessGroups([]))
            expect(.missingEntitlement) { _ = try client.copyMatching(["class": .string("cert")]) }
            expect(.missingEntitlement) { _ = try client.add(["class": .string("genp"), "acct": .string("a")]) }
            expect(.missingEntitlement) { try client.delete(["class": .string("cert")]) }
            expect(.missingEntitlement) { try client.update(["class": .string("cert")], to: ["labl": .string("x")]) }
        },
    ]
}
