import TestSupport
import Testing
import TokenKit

@testable import ItemDictionaries
@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 1.6: every combination of return keys at every limit, on a card, in a file and over both.
@Suite struct ResultShapeTests {
    private static let keys = ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"]
    private static let limits: [(ItemValue?, isArray: Bool)] = [
        (nil, false), (.string("m_LimitOne"), false), (.number(1), false), (.number(2), true),
        (.string("m_LimitAll"), true),
    ]

    @Test(arguments: Venue.allCases, ["cert", "idnt"])
    func everyCombinationHasItsShape(venue: Venue, itemClass: String) throws {
        let stage = try Stage(venue).withIdentity()
        for set in 0..<16 {
            let asked = Self.keys.enumerated().filter { set & (1 << $0.offset) != 0 }.map(\.element)
            for (limit, isArray) in Self.limits {
                var query: ItemDictionary = ["class": .string(itemClass)]
                for key in asked { query[key] = .bool(true) }
                query["m_Limit"] = limit
                let result = try stage.copy(query)
                if asked.isEmpty {
                    #expect(result == nil)
                } else {
                    let values = isArray ? try #require(result?.array) : [try #require(result)]
                    #expect(!values.isEmpty)
                    for value in values { check(value, asked) }
                }
            }
        }
    }

    private func check(_ value: ItemValue, _ asked: [String]) {
        if asked == ["r_Data"] || asked == ["r_PersistentRef"] {
            #expect(value.bytes?.isEmpty == false)
        } else if asked == ["r_Ref"] {
            #expect(value.item != nil || value.identity != nil)
        } else {
            let dictionary = value.dictionary ?? [:]
            #expect((dictionary["v_Data"] != nil) == asked.contains("r_Data"))
            #expect((dictionary["v_Ref"] != nil) == asked.contains("r_Ref"))
            #expect((dictionary["v_PersistentRef"] != nil) == asked.contains("r_PersistentRef"))
            #expect((dictionary["class"] != nil) == asked.contains("r_Attributes"))
            #expect((dictionary["labl"] != nil) == asked.contains("r_Attributes"))
        }
    }

    @Test func anAdditionHasTheShapeOfASearchForOne() throws {
        let stage = try Stage(.local)
        let bare = try stage.addPassword("a", ["r_PersistentRef": .bool(true)])
        #expect(try PersistentReference(parsing: #require(bare?.bytes)).itemClass == .genericPassword)
        let data = try stage.addPassword("b", ["r_Data": .bool(true)])
        #expect(data?.bytes == Array("s3cret".utf8))
        let both = try stage.addPassword("c", ["r_Data": .bool(true), "r_Attributes": .bool(true)])?.dictionary
        #expect(both?["v_Data"]?.bytes == Array("s3cret".utf8))
        #expect(both?["acct"]?.text == "c")
        #expect(both?["agrp"]?.text == "local")
        #expect(both?["pdmn"]?.text == "ak")
    }

    @Test func severalSecretsComeInOneAnswer() throws {
        let stage = try Stage(.local)
        for name in ["a", "b"] { try stage.addPassword(name) }
        let query: ItemDictionary = ["class": .string("genp"), "r_Data": .bool(true), "m_Limit": .string("m_LimitAll")]
        #expect(try stage.copy(query)?.array?.map(\.bytes) == [Array("s3cret".utf8), Array("s3cret".utf8)])
    }

    @Test func oneDamagedSecretHidesNoOther() throws {
        let stage = try Stage(.local)
        for name in ["a", "b"] { try stage.addPassword(name) }
        try stage.local.forge("UPDATE genp SET labl = 'x' WHERE acct = 'a'")
        let query: ItemDictionary = ["class": .string("genp"), "r_Data": .bool(true), "m_Limit": .string("m_LimitAll")]
        #expect(try stage.copy(query)?.array?.count == 1)
        expect(.decode) { try stage.copy(query.merging(["acct": .string("a")]) { $1 }) }
        try stage.local.forge("UPDATE genp SET labl = 'x'")
        expect(.decode) { try stage.copy(query) }
    }

    @Test func aDamagedSecretDoesNotCountForTheLimit() throws {
        let stage = try Stage(.local)
        for name in ["a", "b", "c", "d"] { try stage.addPassword(name, ["v_Data": .data(Array(name.utf8))]) }
        try stage.local.forge("UPDATE genp SET labl = 'x' WHERE acct IN ('a', 'c')")
        let query: ItemDictionary = ["class": .string("genp"), "r_Data": .bool(true)]
        #expect(try stage.copy(query)?.bytes == Array("b".utf8))
        for (limit, found) in [(1 as Int64, ["b"]), (2, ["b", "d"]), (3, ["b", "d"])] {
            let result = try stage.copy(query.merging(["m_Limit": .number(limit)]) { $1 })
            let answers = try result?.array ?? [#require(result)]
            #expect(answers.map(\.bytes) == found.map { Array($0.utf8) })
        }
        #expect(try stage.copy(query.merging(["u_AuthUI": .string("u_AuthUIS")]) { $1 })?.bytes == Array("b".utf8))
        // A query without the data finds the damaged item.
        let attributes: ItemDictionary = ["class": .string("genp"), "r_Attributes": .bool(true)]
        #expect(try stage.copy(attributes)?.dictionary?["acct"]?.text == "a")
    }

    @Test func noSecretBeyondTheLimitIsAskedFor() throws {
        let stage = try Stage(.local)
        let control = AttributeValue.data(try AccessControl("ak", .applicationPassword).encoded())
        let application = AuthenticationContext()
        application.setCredential(.of("app"), .applicationPassword)
        for name in ["a", "b", "c"] {
            try stage.local.keychain.add(
                .genericPassword([.account: .string(name), .accessControl: control], secret: .of("s3cret")),
                authentication: application, cost: .negligible)
        }
        let person = TypesInTurn("app", "app", "app")
        let query: ItemDictionary = [
            "class": .string("genp"), "r_Data": .bool(true), "m_Limit": .number(2),
        ]
        let session = stage.session.asking(AuthenticationContext(prompter: person))
        #expect(try session.copyMatching(query).found?.array?.count == 2)
        #expect(person.requests.count == 2)
    }
}
