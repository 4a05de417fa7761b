import SecureBytes
import TestSupport
import Testing

@testable import KeychainModel

@Suite struct NormalizedNameTests {
    private func name(_ text: String, tag: TLVTag) -> [UInt8] {
        NameBuilder.name([[(NameBuilder.commonName, tag, Array(text.utf8))]])
    }

    @Test(arguments: [
        ("anna", "ANNA"), ("  Anna   Maria ", "ANNA MARIA"), ("", ""), ("   ", ""), ("A-1", "A-1"), ("z{", "Z{"),
    ])
    func printableStringsAreUpperCasedAndTrimmed(text: String, expected: String) {
        let expectedContent = Array(name(expected, tag: 0x13).dropFirst(2))
        #expect(NormalizedName.content(of: name(text, tag: 0x13)) == expectedContent)
    }

    @Test(arguments: [0x0C, 0x14, 0x16] as [TLVTag])
    func otherStringTypesStayAsTheyAre(tag: TLVTag) {
        let original = name("  anna  Maria ", tag: tag)
        #expect(NormalizedName.content(of: original) == Array(original.dropFirst(2)))
    }

    @Test func lengthsAreEncodedAnewWhenAValueShrinks() {
        let long = String(repeating: " ", count: 200) + "a"
        #expect(NormalizedName.content(of: name(long, tag: 0x13)) == Array(name("A", tag: 0x13).dropFirst(2)))
    }

    @Test func normalisingTwiceChangesNothing() throws {
        let once = try #require(NormalizedName.content(of: name("anna  b", tag: 0x13)))
        #expect(NormalizedName.content(of: once) == once)
    }

    @Test func namesOfSeveralPartsKeepTheirOrder() throws {
        let parts: [[(type: [UInt8], tag: TLVTag, value: [UInt8])]] = [
            [(NameBuilder.organization, 0x13, Array("acme".utf8)), (NameBuilder.commonName, 0x0C, Array("x".utf8))],
            [(NameBuilder.commonName, 0x0C, Array("anna".utf8))],
        ]
        var expected = parts
        expected[0][0].value = Array("ACME".utf8)
        #expect(NormalizedName.content(of: NameBuilder.name(parts)) == Array(NameBuilder.name(expected).dropFirst(2)))
    }

    @Test(
        arguments: [
            [0x30], [0x30, 5, 1], [0x02, 1, 1], [0x30, 0, 0], [0x31, 2, 0x30, 0], [0x30, 0x80], [0x31, 1, 0x30],
        ] as [[UInt8]])
    func otherBytesAreNoName(bytes: [UInt8]) {
        #expect(NormalizedName.content(of: bytes) == nil)
    }

    @Test func anIssuerMatchesAsItStandsAndNormalised() throws {
        let issuer = name("anna", tag: 0x13)
        let content = try #require(NormalizedName.content(of: issuer))
        let item = Item(
            .certificate, attributes: [.issuer: .data(content)], keychain: KeychainIdentifier(rawValue: "piv:1"),
            reference: PersistentReference(.certificate, .local(UniqueID())))
        #expect(try Query(.certificate, [.issuer: .data(issuer)]).matches(item))
        #expect(try Query(.certificate, [.issuer: .data(content)]).matches(item))
        #expect(try !Query(.certificate, [.issuer: .data(name("bert", tag: 0x13))]).matches(item))
    }
}
