import SecureBytes
import Testing

@testable import SystemCrypto

@Suite struct DistinguishedNameTests {
    /// A name of attributes in order, each in its own set.
    private func name(_ attributes: [(OID, TLVTag, [UInt8])]) throws -> DistinguishedName {
        let sets = attributes.map { identifier, tag, value in
            DER.element(DER.Tag.set, DER.sequence([DER.objectIdentifier(identifier), DER.element(tag, value)]))
        }
        return try DistinguishedName(der: DER.sequence(sets))
    }

    @Test(arguments: [
        ("plain", "CN=plain"), ("Jö 鍵", "CN=Jö 鍵"), ("a,b+c", #"CN=a\,b\+c"#), ("#x", "CN=\\#x"), (" x ", #"CN=\ x\ "#),
        ("line\nbreak", #"CN=line\0Abreak"#), ("\u{1B}[2J", #"CN=\1B[2J"#), ("a\u{0}b", #"CN=a\00b"#),
        ("c1\u{9B}31m", #"CN=c1\C2\9B31m"#), ("right\u{202E}to left", #"CN=right\E2\80\AEto left"#),
        ("zero\u{200B}width", #"CN=zero\E2\80\8Bwidth"#),
    ])
    func textShowsNothingThatMovesTheCursor(commonName: String, text: String) throws {
        #expect(try DistinguishedName(commonName: commonName).description == text)
    }

    @Test func theMostSpecificPartComesFirst() throws {
        let name = try name([
            ("2.5.4.6", 0x13, utf8("DE")), ("2.5.4.10", 0x0C, utf8("Org")), ("2.5.4.3", 0x0C, utf8("first")),
            ("2.5.4.3", 0x0C, utf8("second")),
        ])
        #expect(name.description == "CN=second,CN=first,O=Org,C=DE")
        #expect(name.commonName == "second")
        #expect(name.emailAddresses == [])
    }

    @Test func oldStringTypesAreRead() throws {
        #expect(try name([("2.5.4.3", 0x1E, [0x00, 0x4A, 0x00, 0xF6])]).commonName == "Jö")
        #expect(try name([("2.5.4.3", 0x14, [0x4A, 0xF6])]).commonName == "Jö")
        #expect(try name([("2.5.4.3", 0x1C, [0, 0, 0, 0x4A, 0, 0, 0, 0xF6])]).commonName == "Jö")
        let mail = try name([("1.2.840.113549.1.9.1", 0x16, utf8("jo@example.org"))])
        #expect(mail.emailAddresses == ["jo@example.org"])
        #expect(mail.commonName == nil)
    }

    @Test func attributesNobodyKnowsAreShownInHexadecimal() throws {
        let text = try name([("1.2.3.4.5", 0x0C, utf8("x"))]).description
        #expect(text.hasPrefix("1.2.3.4.5=#"))
    }

    @Test func noNameIsEmpty() throws {
        let name = try DistinguishedName(der: [0x30, 0x00])
        #expect(name.isEmpty && name.description == "" && name.commonName == nil)
        #expect(try !DistinguishedName(commonName: "").isEmpty)
    }

    @Test func anythingElseIsMalformed() throws {
        let der = try DistinguishedName(commonName: "x").der
        for wrong in [[], [0x31, 0x00], der + [0], Array(der.dropLast()), [0x30, 0x01]] {
            #expect(throws: CryptoError(.malformed, "")) { try DistinguishedName(der: wrong) }
        }
    }

    @Test func equalityIsOfTheBytes() throws {
        let one = try DistinguishedName(commonName: "x")
        #expect(try one == DistinguishedName(der: one.der))
        #expect(try Set([one, DistinguishedName(der: one.der), DistinguishedName(commonName: "y")]).count == 2)
    }
}

@Suite struct KeyUsageTests {
    /// The bit strings of RFC 5280 §4.2.1.3, without zeros at their end.
    @Test(
        arguments: [
            ([.digitalSignature], "03020780"), ([.digitalSignature, .nonRepudiation], "030206C0"),
            ([.crlSign], "03020102"),
            ([.encipherOnly], "03020001"), ([.decipherOnly], "0303070080"), ([], "030100"),
            ([.keyAgreement, .decipherOnly], "0303070880"),
        ] as [(KeyUsage, String)])
    func bitStringsComeBack(usage: KeyUsage, encoded: String) throws {
        #expect(usage.encoded == hex(encoded))
        #expect(try KeyUsage(parsing: hex(encoded)) == usage)
    }

    @Test func otherThingsAreMalformed() {
        for wrong in ["", "0500", "0302", "0302078000"] {
            #expect(throws: CryptoError(.malformed, "")) { try KeyUsage(parsing: hex(wrong)) }
        }
    }
}
