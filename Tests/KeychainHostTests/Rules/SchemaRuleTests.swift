import ItemDictionaries
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 1.1 to 1.4: the attributes, their kinds, and the errors for others.
@Suite struct SchemaRuleTests {
    private static let classes = ItemClass.allCases

    private static func columns(_ itemClass: ItemClass) -> [SpecifiedSchema.Column] {
        guard itemClass == .identity else { return SpecifiedSchema.columns(of: itemClass) }
        let certificate = SpecifiedSchema.columns(of: .certificate)
        let codes = Set(certificate.map(\.code))
        return certificate + SpecifiedSchema.columns(of: .key).filter { !codes.contains($0.code) }
    }

    private static let session = KeychainSession(searchList: SearchList())

    private func copy(_ itemClass: ItemClass, _ code: String, _ value: ItemValue) throws -> ItemValue? {
        try Self.session.copyMatching(["class": .string(itemClass.rawValue), code: value]).found
    }

    @Test(arguments: classes)
    func rule1_2_aClassHasTheColumnsOfTheTable(itemClass: ItemClass) {
        #expect(Set(itemClass.attributes.map(\.rawValue)) == Set(Self.columns(itemClass).map(\.code)))
    }

    @Test(arguments: SpecifiedSchema.stored)
    func rule1_2_theStarredColumnsMakeAnItemUnique(itemClass: ItemClass) {
        let starred = Self.columns(itemClass).filter(\.isUnique).map(\.code)
        #expect(Set(itemClass.uniqueAttributes.map(\.rawValue)) == Set(starred))
    }

    @Test(arguments: classes)
    func rule1_1_aColumnOfAnotherClassIsNoSuchAttribute(itemClass: ItemClass) {
        let own = Set(Self.columns(itemClass).map(\.code))
        for code in SpecifiedSchema.codes.subtracting(own) {
            expect(.noSuchAttribute, key: code) { try copy(itemClass, code, .string("a")) }
        }
    }

    @Test(arguments: classes)
    func rule1_1_aColumnTakesValuesOfItsKindAlone(itemClass: ItemClass) {
        // There are no items, so that a valid query finds nothing.
        for column in Self.columns(itemClass) {
            for value in column.kind.fitting {
                expect(.itemNotFound) { try copy(itemClass, column.code, value) }
            }
            for value in column.kind.unfitting {
                expect(.param, key: column.code) { try copy(itemClass, column.code, value) }
            }
        }
    }

    @Test(arguments: SpecifiedSchema.bookkeeping)
    func rule1_1_bookkeepingColumnsAreNobodysBusiness(code: String) throws {
        let stage = try Stage(.local)
        try stage.addPassword()
        let anna = try TestKey.named("anna")
        let values: [ItemClass: ItemReference] = [
            .certificate: .certificate(anna.certificate), .key: .privateKey(anna.privateKey),
            .identity: .keyPair(anna.certificate, anna.privateKey),
        ]
        for itemClass in Self.classes {
            let query: ItemDictionary = ["class": .string(itemClass.rawValue), code: .data([1])]
            expect(.param, key: code) { try stage.copy(query) }
            expect(.param, key: code) { try stage.delete(query) }
            expect(.param, key: code) { try stage.update(query, to: ["labl": .string("x")]) }
            var item = query
            item["v_Ref"] = values[itemClass].map { .reference($0) }
            expect(.param, key: code) { try stage.add(item) }
            expect(.param, key: code) {
                try stage.update(["class": .string("genp")], to: [code: .data([1])])
            }
        }
        #expect(try stage.all("genp").allSatisfy { $0[code] == nil })
        #expect(try stage.local.count(.certificate) == 0)
    }

    @Test func rule1_1_whatNeitherHalfOfAnIdentityHasIsNoSuchAttribute() throws {
        let stage = try Stage(.local)
        let anna = try TestKey.named("anna")
        let pair: ItemDictionary = ["v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey))]
        expect(.noSuchAttribute, key: "acct") { try stage.add(pair.merging(["acct": .string("a")]) { $1 }) }
        #expect(try stage.local.count(.certificate) == 0)
    }

    @Test func rule1_1_a128KeysAreReadAnd129AreTooMany() {
        let keys = (1...129).map { ("unknown \($0)", ItemValue.bool(true)) }
        let many = #expect(throws: KeychainError.self) {
            try Self.session.copyMatching(Dictionary(uniqueKeysWithValues: keys))
        }
        #expect(many?.code == .param && many?.key == nil)
        let enough = #expect(throws: KeychainError.self) {
            try Self.session.copyMatching(Dictionary(uniqueKeysWithValues: keys.dropFirst()))
        }
        #expect(enough?.code == .param && enough?.key?.hasPrefix("unknown") == true)
    }

    @Test func rule1_2_whatTheCallerLeavesOutIsFilledIn() throws {
        let stage = try Stage(.local)
        try stage.addPassword()
        try stage.add(["class": .string("inet"), "srvr": .string("s")])
        try stage.withIdentity()
        for (itemClass, accessible) in [("genp", "ak"), ("inet", "ak"), ("keys", "ak"), ("cert", "dk")] {
            let item = try #require(try stage.all(itemClass).first)
            #expect(item["pdmn"]?.text == accessible, "\(itemClass)")
            #expect(item["agrp"]?.text == "local")
            if case .number(0)? = item["sync"] {} else { Issue.record("\(item)") }
            for date in ["cdat", "mdat"] {
                if case .date? = item[date] {} else { Issue.record("\(item)") }
            }
            #expect(try stage.all(itemClass, ["tkid": .string("")]).count == 1)
        }
    }

    @Test func rule1_2_thereIsAlwaysAGroup() throws {
        let stage = try Stage(.local)
        expect(.param, key: "agrp") { try stage.addPassword("a", ["agrp": .null]) }
        try stage.addPassword()
        expect(.param, key: "agrp") { try stage.update(["class": .string("genp")], to: ["agrp": .null]) }
        #expect(try stage.all("genp").map { $0["agrp"]?.text } == ["local"])
    }

    // MARK: Vocabularies

    @Test(arguments: ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"])
    func rule1_2_theseAreTheAccessibilities(value: String) throws {
        let stage = try Stage(.local)
        try stage.addPassword("a", ["pdmn": .string(value)])
        try stage.addPassword("b")
        try stage.update(["class": .string("genp"), "acct": .string("b")], to: ["pdmn": .string(value)])
        #expect(try stage.all("genp", ["pdmn": .string(value)]).count == 2)
    }

    @Test(arguments: ["", "a", "AK", "ckpu", "akp", "kSecAttrAccessibleAlways"])
    func rule1_2_otherAccessibilitiesAreNone(value: String) throws {
        let stage = try Stage(.local)
        expect(.param, key: "pdmn") { try stage.addPassword("a", ["pdmn": .string(value)]) }
        try stage.addPassword()
        expect(.param, key: "pdmn") {
            try stage.update(["class": .string("genp")], to: ["pdmn": .string(value)])
        }
    }

    @Test func rule1_2_valuesHaveApplesNumbersAndCodes() {
        #expect([KeyClass.public, .private, .symmetric].map(\.rawValue) == [0, 1, 2])
        let types: [KeyType] = [.rsa, .ecPrime, .ed25519, .x25519, .ed448, .x448]
        #expect(types.map(\.rawValue) == [42, 73, 105, 106, 107, 108])
        let protocols = """
            ftp |ftpa|http|irc |nntp|pop3|smtp|sox |imap|ldap|atlk|afp |teln|ssh |ftps|htps|htpx|htsx|ftpx|smb |rtsp|rtsx|\
            daap|eppc|ipp |ntps|ldps|tels|imps|ircs|pops
            """
        #expect(InternetProtocol.named.map(\.value.rawValue) == protocols.split(separator: "|").map(String.init))
        #expect(
            InternetAuthentication.named.map(\.value.rawValue)
                == ["ntlm", "msna", "dpaa", "rpaa", "http", "httd", "form", "dflt"])
        #expect(AccessGroup.token == "com.apple.token")
        #expect(Query.anySynchronizable == "syna")
    }

    @Test(arguments: [Int64(109), 110, 111, 4_000_000])
    func rule1_2_aKeyOfATypeThatIsNotKnownIsKept(type: Int64) throws {
        let stage = try Stage(.local)
        try stage.add([
            "class": .string("keys"), "kcls": .string("1"), "type": .number(type), "v_Data": .data([1, 2, 3]),
        ])
        let found = try stage.copy(["class": .string("keys"), "type": .number(type), "r_Data": .bool(true)])
        #expect(found?.bytes == [1, 2, 3])
    }

    // MARK: 1.4

    @Test func rule1_4_anEmptyPortIsNoPort() throws {
        let stage = try Stage(.local)
        expect(.param, key: "port") { try stage.add(["class": .string("inet"), "port": .string("")]) }
        try stage.add(["class": .string("inet"), "port": .string("443")])
        expect(.param, key: "port") { try stage.update(["class": .string("inet")], to: ["port": .string("")]) }
        #expect(try stage.all("inet", ["port": .number(443)]).count == 1)
    }

    @Test func rule1_4_whatWasDataComesBackAsData() throws {
        let stage = try Stage(.local)
        try stage.add(["class": .string("inet"), "srvr": .data(Array("host".utf8)), "acct": .string("a")])
        let item = try #require(try stage.all("inet", ["srvr": .string("host"), "acct": .data([0x61])]).first)
        if case .data? = item["srvr"] {} else { Issue.record("\(item)") }
        if case .string? = item["acct"] {} else { Issue.record("\(item)") }
    }

    @Test(arguments: ["anna@", "anna@example.or", "ANNA@example.org", "nna@example.org", "anna@example.org "])
    func rule1_4_attributesAreFoundWholeAndAsTheyAre(label: String) throws {
        let stage = try Stage(.local)
        try stage.addPassword("anna@example.org", ["labl": .string("anna@example.org")])
        #expect(try stage.all("genp", ["labl": .string(label)]).isEmpty)
        #expect(try stage.all("genp", ["acct": .string(label)]).isEmpty)
    }
}
