import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 6.1.
extension BehaviourCase {
    private static let everyReturn: ItemDictionary = [
        "r_Data": .bool(true), "r_Attributes": .bool(true), "r_Ref": .bool(true), "r_PersistentRef": .bool(true),
    ]

    private static func anna() throws -> ItemDictionary {
        ["v_Ref": .reference(.certificate(try TestKey.named("anna").certificate))]
    }

    static let adding: [BehaviourCase] = [
        BehaviourCase(1, "adding without a return key returns nothing", on: [.local, .merged]) { stage in
            let result = try stage.add(anna())
            #expect(result == nil)
            #expect(try stage.local.count(.certificate) == 1)
        },
        BehaviourCase(2, "there is nowhere to add to", on: [.token]) { stage in
            let anna = try anna()
            expect(.noDefaultKeychain) { try stage.add(anna) }
        },
        BehaviourCase(3, "adding returns the one thing that is asked for", on: [.local, .merged]) { stage in
            let certificate = try TestKey.named("anna").certificate
            for key in ["r_PersistentRef", "r_Ref", "r_Data"] {
                let result = try stage.add(anna().merging([key: .bool(true)]) { $1 })
                switch key {
                case "r_PersistentRef":
                    let query: ItemDictionary = ["v_PersistentRef": try #require(result), "r_Data": .bool(true)]
                    #expect(try stage.copy(query)?.bytes == certificate.der)
                case "r_Ref": #expect(result?.item?.certificate == certificate)
                default: #expect(result?.bytes == certificate.der)
                }
                try stage.delete(["class": .string("cert"), "tkid": .string("")])
            }
        },
        BehaviourCase(5, "adding returns everything in one dictionary", on: [.local, .merged]) { stage in
            let result = try stage.add(anna().merging(everyReturn) { $1 })?.dictionary
            let dictionary = try #require(result)
            #expect(dictionary["class"]?.text == "cert")
            #expect(dictionary["labl"]?.text == "anna holder")
            #expect(dictionary["v_Data"]?.bytes == dictionary["v_Ref"]?.item?.der)
            #expect(dictionary["v_PersistentRef"]?.bytes == dictionary["v_Ref"]?.item?.reference.encoded())
            #expect(dictionary["sha1"] == nil)
        },
        BehaviourCase(6, "finding returns everything in one dictionary") { stage in
            try stage.withIdentity()
            for itemClass in ["cert", "idnt"] {
                let result = try stage.copy(everyReturn.merging(["class": .string(itemClass)]) { $1 })
                let dictionary = try #require(result?.dictionary)
                #expect(dictionary["class"]?.text == itemClass)
                let der = try #require(dictionary["v_Data"]?.bytes)
                #expect(try Certificate(der: der).commonName != nil)
                #expect(dictionary["v_PersistentRef"]?.bytes?.isEmpty == false)
                #expect(dictionary["v_Ref"] != nil)
            }
        },
        BehaviourCase(7, "what synchronises is found only when that is said", on: [.local, .merged]) { stage in
            try stage.add(anna().merging(["sync": .number(1)]) { $1 })
            let label: ItemDictionary = ["labl": .string("anna holder")]
            #expect(try stage.all("cert", label.merging(["sync": .bool(true)]) { $1 }).count == 1)
            #expect(try stage.all("cert", label.merging(["sync": .string("syna")]) { $1 }).count == 1)
            #expect(try stage.all("cert", label).isEmpty)
            try stage.delete(["class": .string("cert"), "sync": .number(1)])
            let left = try stage.local.keychain.items(matching: Query(.certificate, [.synchronizable: "syna"]))
            #expect(left.found.isEmpty)
        },
        BehaviourCase(9, "an unknown key is named") { stage in
            expect(.param, key: "foo") { try stage.copy(["class": .string("cert"), "foo": .number(1)]) }
            expect(.param, key: "m_Foo") { try stage.copy(["class": .string("cert"), "m_Foo": .number(1)]) }
            expect(.param, key: "v_") { try stage.delete(["class": .string("cert"), "v_": .number(1)]) }
            expect(.param, key: "abcd") { try stage.copy(["class": .string("cert"), "abcd": .number(1)]) }
            expect(.noSuchAttribute, key: "acct") { try stage.copy(["class": .string("cert"), "acct": .string("a")]) }
        },
        BehaviourCase(11, "access control is no text") { stage in
            let query: ItemDictionary = ["class": .string("genp"), "accc": .string("ak")]
            expect(.param, key: "accc") { try stage.copy(query) }
            expect(.param, key: "accc") { try stage.delete(query) }
            guard stage.isWritable else { return }
            expect(.param, key: "accc") { try stage.add(query) }
            let count = try stage.local.count(.genericPassword)
            #expect(count == 0)
        },
        BehaviourCase(13, "bookkeeping columns are nobody's business") { stage in
            for column in AttributeDefinition.bookkeeping.map(\.rawValue) {
                let query: ItemDictionary = ["class": .string("genp"), column: .number(1)]
                expect(.param, key: column) { try stage.copy(query) }
                expect(.param, key: column) { try stage.delete(query) }
                expect(.param, key: column) { try stage.update(query, to: ["labl": .string("x")]) }
                guard stage.isWritable else { continue }
                expect(.param, key: column) { try stage.add(query) }
                try stage.addPassword(column)
                expect(.param, key: column) {
                    try stage.update(["class": .string("genp")], to: [column: .number(1)])
                }
            }
        },
        BehaviourCase(15, "an item without data has none in its dictionary", on: [.local, .merged]) { stage in
            try stage.add(["class": .string("genp"), "acct": .string("a"), "svce": .string("s")])
            let found = try stage.all("genp", ["r_Data": .bool(true)])
            #expect(found.count == 1)
            #expect(found[0]["v_Data"] == nil)
            #expect(found[0]["acct"]?.text == "a")
            #expect(found[0]["svce"]?.text == "s")
            #expect(try stage.copy(["class": .string("genp"), "r_Data": .bool(true)])?.bytes == [])
        },
        BehaviourCase(17, "a search finds one item unless it says more") { stage in
            if stage.isWritable {
                for name in ["a", "b", "c"] {
                    try stage.local.add(TestKey.named(name).privateKey, [.applicationTag: "t"])
                }
            }
            let count = stage.isWritable ? 3 + (stage.desk == nil ? 0 : 4) : 4
            let query: ItemDictionary = ["class": .string("keys"), "type": .string("73"), "r_Ref": .bool(true)]
            #expect(try stage.copy(query)?.item?.itemClass == .key)
            #expect(try stage.copy(query.merging(["m_Limit": .number(1)]) { $1 })?.item != nil)
            #expect(try stage.copy(query.merging(["m_Limit": .number(2)]) { $1 })?.array?.count == 2)
            #expect(try stage.copy(query.merging(["m_Limit": .string("m_LimitAll")]) { $1 })?.array?.count == count)
            let tagged = query.merging(["atag": .string("t"), "m_Limit": .string("m_LimitAll")]) { $1 }
            if stage.isWritable { #expect(try stage.copy(tagged)?.array?.count == 3) }
        },
        BehaviourCase(18, "nothing found is an error and never an empty array") { stage in
            for limit in [ItemValue.string("m_LimitOne"), .string("m_LimitAll"), .number(7)] {
                expect(.itemNotFound) {
                    try stage.copy(["class": .string("genp"), "m_Limit": limit, "r_Attributes": .bool(true)])
                }
            }
        },
        BehaviourCase(19, "data is no condition, and a return flag is true or false") { stage in
            expect(.param, key: "v_Data") { try stage.copy(["class": .string("cert"), "v_Data": .data([1])]) }
            for flag in ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"] {
                for value in [ItemValue.string("yes"), .number(1), .null] {
                    expect(.param, key: flag) { try stage.copy(["class": .string("cert"), flag: value]) }
                }
            }
        },
        BehaviourCase(20, "asking for nothing tells only whether there is something") { stage in
            try stage.withIdentity()
            #expect(try stage.copy(["class": .string("cert")]) == nil)
            #expect(try stage.copy(["class": .string("idnt"), "r_Data": .bool(false)]) == nil)
        },
    ]
}
