import Testing

@testable import KeychainModel

@Suite struct AttributeTests {
    @Test(arguments: ItemClass.allCases)
    func everyAttributeOfAClassHasATypeAndAFourCharacterCode(itemClass: ItemClass) {
        for attribute in itemClass.attributes {
            #expect(attribute.type != nil, "\(attribute)")
            #expect(attribute.rawValue.utf8.count == 4)
            #expect(itemClass.has(attribute))
        }
        #expect(Set(itemClass.attributes).count == itemClass.attributes.count)
        #expect(itemClass.uniqueAttributes.allSatisfy(itemClass.has))
    }

    @Test(arguments: [
        (ItemClass.genericPassword, ["acct", "svce", "agrp", "sync"]),
        (.internetPassword, ["acct", "sdmn", "srvr", "ptcl", "atyp", "port", "path", "agrp", "sync"]),
        (.certificate, ["ctyp", "issr", "slnr", "agrp", "sync"]),
        (.identity, ["ctyp", "issr", "slnr", "agrp", "sync"]),
        (.key, ["kcls", "klbl", "atag", "crtr", "type", "bsiz", "esiz", "sdat", "edat", "agrp", "sync"]),
    ])
    func uniquenessIsWhatAppleDocuments(itemClass: ItemClass, codes: [String]) {
        #expect(itemClass.uniqueAttributes.map(\.rawValue).sorted() == codes.sorted())
    }

    @Test func anIdentityTakesTheAttributesOfBothHalves() {
        for attribute in ItemClass.certificate.attributes + ItemClass.key.attributes {
            #expect(ItemClass.identity.has(attribute))
        }
        #expect(!ItemClass.identity.has(.account))
    }

    @Test(arguments: [
        (AttributeValue.string("a"), AttributeType.string, AttributeValue?.some(.string("a"))),
        (.data([1]), .string, .data([1])), (.string("a"), .data, .string("a")), (.data([1]), .data, .data([1])),
        (.number(5), .number, .number(5)), (.string("42"), .number, .number(42)), (.bool(true), .number, .number(1)),
        (.string(""), .number, nil), (.string("4x"), .number, nil), (.data([4]), .number, nil),
        (.bool(false), .boolean, .bool(false)), (.number(1), .boolean, .bool(true)), (.number(2), .boolean, nil),
        (.string("yes"), .boolean, nil), (.date(9), .date, .date(9)), (.number(9), .date, nil),
        (.number(1), .string, nil), (.bool(true), .data, nil), (.date(1), .string, nil), (.string("1"), .date, nil),
        (.string("http"), .code, .string("http")), (.data(Array("ftp ".utf8)), .code, .string("ftp ")),
        (.number(0x6874_7470), .code, .string("http")), (.string(""), .code, .string("")),
        (.number(0), .code, .string("")),
        (.string("ftp"), .code, nil), (.string("htt\u{7F}"), .code, nil), (.string("é--"), .code, nil),
        (.number(1), .code, nil), (.number(-1), .code, nil), (.number(1 << 40), .code, nil), (.bool(true), .code, nil),
        (.data([1]), .opaque, .data([1])), (.string("a"), .opaque, nil), (.bool(true), .opaque, nil),
    ])
    func valuesConvertAsTheStoreDoes(value: AttributeValue, type: AttributeType, expected: AttributeValue?) {
        #expect(value.converted(to: type) == expected)
    }

    @Test func aStringAndItsBytesMatchEachOther() {
        #expect(AttributeValue.string("é").matches(.data([0xC3, 0xA9])))
        #expect(AttributeValue.data([0x61]).matches(.string("a")))
        #expect(!AttributeValue.string("\u{E9}").matches(.string("e\u{301}")), "bytes, not Unicode equivalence")
    }

    @Test func numbersMatchByValueAndNeverMatchText() {
        #expect(AttributeValue.number(1).matches(.bool(true)))
        #expect(!AttributeValue.number(1).matches(.number(2)))
        #expect(!AttributeValue.number(1).matches(.string("1")))
        #expect(!AttributeValue.string("1").matches(.number(1)))
    }

    @Test(arguments: ["foo", "abcd", "", "u_AuthUI", "persistref"])
    func aCodeNoClassHasIsAParameterErrorThatNamesIt(code: String) throws {
        let error = try #require(throws: KeychainError.self) {
            try ItemClass.genericPassword.checked([Attribute(rawValue: code): "x"])
        }
        #expect(error.code == .param)
        #expect(error.key == code)
    }

    @Test func anAttributeOfAnotherClassIsRefusedByName() throws {
        let error = try #require(throws: KeychainError.self) { try ItemClass.certificate.checked([.account: "x"]) }
        #expect(error.code == .noSuchAttribute)
        #expect(error.key == "acct")
    }

    @Test func aValueOfTheWrongKindIsRefusedByName() throws {
        let error = try #require(throws: KeychainError.self) { try ItemClass.key.checked([.keySizeInBits: "long"]) }
        #expect(error.code == .param)
        #expect(error.key == "bsiz")
    }

    @Test(arguments: ["genp", "inet", "cert", "keys", "idnt"])
    func classesAreKnownByTheirCodes(code: String) throws {
        #expect(try ItemClass(code: code).rawValue == code)
    }

    @Test(arguments: ["site", "", "GENP", "generic password"])
    func anUnknownClassSaysWhichThereAre(code: String) throws {
        let error = try #require(throws: KeychainError.self) { try ItemClass(code: code) }
        #expect(error.code == .noSuchClass)
        #expect(error.remedy?.contains("genp") == true)
    }
}
