import ItemDictionaries
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 1.3 to 1.10, what the cases of section 6 leave open.
@Suite struct ItemRuleTests {
    private static let writable: [Venue] = [.local, .merged]

    @Test func rule1_3_oneCertificateInThreePlacesIsThreeItemsAndOneWhereThatIsWanted() throws {
        let certificate = try TestCard().key(.authentication).certificate
        let (first, second) = (try Desk(), try Desk(TestCard(guid: "00000000000000000000000000000002")))
        let local = try TestKeychain()
        let session = KeychainSession(
            searchList: SearchList(tokens: [first.token, second.token], locals: [local.keychain]),
            defaultKeychain: local.keychain)
        _ = try session.add(["v_Ref": .reference(.certificate(certificate))])
        let query: ItemDictionary = [
            "class": .string("cert"), "slnr": .data(certificate.serialNumber), "m_Limit": .string("m_LimitAll"),
            "r_Attributes": .bool(true),
        ]
        let found = try #require(try session.copyMatching(query).found?.array?.map { $0.dictionary?["tkid"]?.text })
        #expect(found.count == 3)
        #expect(Set(found).count == 3)
        let once = try session.copyMatching(query.merging(["u_Distinct": .bool(true)]) { $1 }).found?.array
        #expect(once?.map { $0.dictionary?["tkid"]?.text } == [found[0]])
    }

    @Test(arguments: [("issr", ItemValue.data([0x31, 0])), ("slnr", .data([1])), ("pkhh", .data([1]))])
    func rule1_8_aCertificateIsNotAddedAsAnother(attribute: String, value: ItemValue) throws {
        let stage = try Stage(.local)
        let certificate = try TestKey.named("anna").certificate
        expect(.param) {
            try stage.add(["v_Ref": .reference(.certificate(certificate)), attribute: value])
        }
        try stage.add(["v_Ref": .reference(.certificate(certificate)), "slnr": .data(certificate.serialNumber)])
    }

    @Test(arguments: [("kcls", ItemValue.string("0")), ("type", .string("42")), ("bsiz", .number(2048))])
    func rule1_8_aKeyIsNotAddedAsAnother(attribute: String, value: ItemValue) throws {
        let stage = try Stage(.local)
        let key = try TestKey.named("anna").privateKey
        expect(.param) { try stage.add(["v_Ref": .reference(.privateKey(key)), attribute: value]) }
        try stage.add([
            "v_Ref": .reference(.privateKey(key)), "kcls": .string("1"), "type": .string("73"), "bsiz": .number(256),
        ])
    }

    @Test(arguments: [ItemValue.number(5), .number(-1), .number(.max)])
    func rule1_2_anItemSynchronizesOrNot(value: ItemValue) throws {
        let stage = try Stage(.local)
        expect(.param) { try stage.add(["class": .string("genp"), "svce": .string("s"), "sync": value]) }
        try stage.add(["class": .string("genp"), "svce": .string("s"), "sync": .number(1)])
    }

    @Test(arguments: ["aku", "cku", "dku", "akpu"])
    func rule3_1_whatSynchronizesDoesNotStayOnThisDevice(accessible: String) throws {
        let stage = try Stage(.local)
        let item: ItemDictionary = ["class": .string("genp"), "svce": .string("s"), "pdmn": .string(accessible)]
        expect(.param) { try stage.add(item.merging(["sync": .bool(true)]) { $1 }) }
        try stage.add(item.merging(["sync": .bool(false)]) { $1 })
    }

    @Test func rule1_3_subjectAndLabelMakeNoCertificateAnother() throws {
        let stage = try Stage(.local)
        let key = try TestKey.named("anna")
        try stage.local.add(key.certificate)
        for (attribute, value) in [("labl", ItemValue.string("x")), ("subj", .data([0x31, 0]))] {
            expect(.duplicateItem) {
                try stage.add(["v_Ref": .reference(.certificate(key.certificate)), attribute: value])
            }
        }
        #expect(try stage.local.count(.certificate) == 1)
    }

    // MARK: 1.5

    @Test(arguments: Venue.allCases)
    func rule1_5_everyFilterOfCertificatesIsOneOfIdentities(venue: Venue) throws {
        let stage = try Stage(venue).withIdentity()
        let (certificate, name) = try stage.certificate()
        let filters: [(String, hit: ItemValue, miss: ItemValue)] = [
            ("m_SubjectContains", .string(String(name.dropFirst().dropLast())), .string("nobody")),
            ("m_SubjectStartsWith", .string(String(name.prefix(4))), .string(String(name.dropFirst()))),
            ("m_SubjectEndsWith", .string(String(name.suffix(4))), .string(String(name.dropLast()))),
            ("m_SubjectWholeString", .string(name), .string(String(name.dropLast()))),
            (
                "m_Issuers", .array([.data(certificate.issuer.der)]),
                .array([.data(try DistinguishedName(commonName: "nobody").der)])
            ),
            ("m_Policy", .reference(.policy(.tlsClient)), .reference(.policy(.codeSigning))),
            ("m_ValidOnDate", .date(1_700_000_000), .date(1_000_000_000)),
        ]
        let serial: ItemDictionary = ["slnr": .data(certificate.serialNumber)]
        for (key, hit, miss) in filters {
            for itemClass in ["cert", "idnt"] {
                #expect(try stage.all(itemClass, serial.merging([key: hit]) { $1 }).count == 1, "\(key)")
                #expect(try stage.all(itemClass, serial.merging([key: miss]) { $1 }).isEmpty, "\(key)")
            }
        }
        #expect(try stage.all("idnt", serial.merging(["m_EmailAddressIfPresent": .string("a@b")]) { $1 }).isEmpty)
    }

    @Test(arguments: Venue.allCases)
    func rule1_5_filtersAllHaveToPass(venue: Venue) throws {
        let stage = try Stage(venue).withIdentity()
        let name = try stage.certificate().name
        let both: ItemDictionary = ["m_SubjectWholeString": .string(name), "m_ValidOnDate": .date(1_700_000_000)]
        #expect(try stage.all("cert", both).count == 1)
        for (key, value) in [("m_SubjectWholeString", ItemValue.string("x")), ("m_ValidOnDate", .date(1))] {
            #expect(try stage.all("cert", both.merging([key: value]) { $1 }).isEmpty)
        }
    }

    @Test(arguments: Venue.allCases)
    func rule1_5_theOrderIsThatOfTheSearchListAndOfAdding(venue: Venue) throws {
        let stage = try Stage(venue)
        if stage.isWritable {
            for name in ["c", "a", "b"] {
                try stage.local.add(TestKey.named(name).certificate, [.label: .string(name)])
            }
        }
        let labels = try stage.all("cert").map { $0["labl"]?.text }
        #expect(labels.suffix(3) == (stage.isWritable ? ["c", "a", "b"] : labels.suffix(3)))
        #expect(try stage.all("cert").map { $0["labl"]?.text } == labels)
        let isOnToken = try stage.all("cert").map { $0["tkid"] != nil }
        #expect(isOnToken == isOnToken.sorted { $0 && !$1 })
    }

    // MARK: 1.6

    @Test func rule1_6_attributesAloneTellNothingElse() throws {
        let stage = try Stage(.merged).withIdentity()
        try stage.addPassword()
        for itemClass in ["genp", "cert", "keys", "idnt"] {
            for item in try stage.all(itemClass) {
                #expect(item.keys.allSatisfy { $0.utf8.count == 4 || $0 == "class" }, "\(item.keys)")
                #expect(item["sha1"] == nil)
            }
        }
    }

    @Test func rule1_6_aPasswordsReferenceIsItsItem() throws {
        let stage = try Stage(.local)
        try stage.addPassword()
        let item = try #require(try stage.copy(["class": .string("genp"), "r_Ref": .bool(true)])?.item)
        #expect(item.itemClass == .genericPassword)
        #expect(
            try stage.copy(["v_Ref": .reference(.item(item)), "r_Data": .bool(true)])?.bytes == Array("s3cret".utf8))
        try stage.update(["v_Ref": .reference(.item(item))], to: ["labl": .string("x")])
        try stage.delete(["v_Ref": .reference(.item(item))])
        expect(.itemNotFound) { try stage.copy(["v_Ref": .reference(.item(item))]) }
    }

    // MARK: 1.7

    @Test func rule1_7_aReferenceIsLegalButAmongChanges() throws {
        let stage = try Stage(.local)
        let certificate = try TestKey.named("anna").certificate
        let reference: ItemDictionary = ["v_Ref": .reference(.certificate(certificate))]
        try stage.add(reference)
        #expect(try stage.copy(reference) == nil)
        expect(.param, key: "v_Ref") { try stage.update(reference, to: reference) }
        try stage.update(reference, to: ["labl": .string("x")])
        #expect(try stage.all("cert").map { $0["labl"]?.text } == ["x"])
        try stage.delete(reference)
        expect(.itemNotFound) { try stage.copy(reference) }
    }

    // MARK: 1.8

    @Test(arguments: writable)
    func rule1_8_aClassAloneDeletesAllOfIt(venue: Venue) throws {
        let stage = try Stage(venue)
        for account in ["a", "b", "c"] { try stage.addPassword(account) }
        try stage.add(["class": .string("inet"), "srvr": .string("s")])
        try stage.delete(["class": .string("genp")])
        #expect(try stage.all("genp").isEmpty)
        #expect(try stage.all("inet").count == 1)
    }

    @Test(arguments: Venue.allCases)
    func rule1_8_aStaleReferenceFindsNothing(venue: Venue) throws {
        let stage = try Stage(venue)
        let stale: [PersistentReference.Target] = [.local(UniqueID()), .token(id: "piv:none", object: [1])]
        for target in stale {
            for itemClass in ItemClass.allCases {
                let reference = PersistentReference(itemClass, target).encoded()
                let query: ItemDictionary = ["v_PersistentRef": .data(reference)]
                expect(.itemNotFound) { try stage.copy(query) }
                expect(.itemNotFound) { try stage.update(query, to: ["labl": .string("x")]) }
                expect(.itemNotFound) { try stage.delete(query) }
            }
        }
    }

    @Test func rule1_8_aReferenceFindsWhatSynchronises() throws {
        let stage = try Stage(.local)
        let added = try stage.addPassword("a", ["sync": .number(1), "r_PersistentRef": .bool(true)])
        let query: ItemDictionary = ["v_PersistentRef": try #require(added)]
        #expect(try stage.copy(query.merging(["r_Data": .bool(true)]) { $1 })?.bytes == Array("s3cret".utf8))
        try stage.delete(query)
        expect(.itemNotFound) { try stage.copy(query) }
    }

    @Test func rule1_8_whatTheCallerSaysOfACertificateWins() throws {
        let stage = try Stage(.local)
        let certificate = try TestKey.named("anna").certificate
        let given: ItemDictionary = ["labl": .string("mine"), "alis": .data([7])]
        try stage.add(given.merging(["v_Ref": .reference(.certificate(certificate))]) { $1 })
        let item = try #require(try stage.all("cert").first)
        #expect(item["labl"]?.text == "mine")
        #expect(item["alis"]?.bytes == [7])
        #expect(item["pkhh"]?.bytes == certificate.keyHash)
    }

    // MARK: 1.9

    @Test func rule1_9_attributesOfTheKeyChooseWhichIdentityIsDeleted() throws {
        let stage = try Stage(.local)
        for name in ["anna", "ben"] {
            try stage.local.add(TestKey.named(name).privateKey, [.applicationTag: .string(name)])
            try stage.local.add(TestKey.named(name).certificate)
        }
        try stage.delete(["class": .string("idnt"), "atag": .string("ben")])
        #expect(try stage.all("cert").map { $0["labl"]?.text } == ["anna holder"])
        #expect(try stage.all("keys").map { $0["atag"]?.text } == ["anna"])
    }

    // MARK: 1.10

    @Test func rule1_10_theKeyIdentifierIsThatOfTheExtension() throws {
        let certificate = try TestKey.named("anna").certificate
        let identifier = try #require(certificate.subjectKeyIdentifier)
        #expect(InferredAttributes.certificate(certificate)[.subjectKeyID] == .data(identifier))
    }

    /// `openssl req -x509 -x509v1 -newkey ed25519 -subj / -set_serial 5`, which has neither version nor extensions.
    @Test func rule1_10_aCertificateWithoutExtensionsIsOfVersion1AndHasNoKeyIdentifier() throws {
        let stage = try Stage(.local)
        try stage.add(["class": .string("cert"), "v_Data": .data(try Self.versionOne())])
        let item = try #require(try stage.all("cert").first)
        if case .number(1)? = item["ctyp"] {} else { Issue.record("\(item)") }
        #expect(item["skid"] == nil)
        #expect(item["slnr"]?.bytes == [5])
        #expect(item["labl"] == nil)
    }

    private static func versionOne() throws -> [UInt8] {
        let key = try PrivateKey.generate(.ed25519)
        let algorithm = TLV(0x30, [TLV(0x06, [0x2B, 0x65, 0x70])])
        let name = TLV(0x30, [TLV]())
        let time = Array("260101000000Z".utf8)
        let spki = try TLVReader.only(0x30, in: key.publicKey.spki)
        let body = TLV(
            0x30,
            [TLV(0x02, [5]), algorithm, name, TLV(0x30, [TLV(0x17, time), TLV(0x17, time)]), name, spki])
        let signature = try key.sign(message: body.encoded(), using: .ed25519)
        return TLV(0x30, [body, algorithm, TLV(0x03, [0] + signature)]).encoded()
    }
}
