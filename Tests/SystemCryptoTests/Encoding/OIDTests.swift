import Testing

@testable import SystemCrypto

@Suite struct OIDTests {
    @Test(arguments: [
        ("1.2.840.113549", "2A864886F70D"), ("2.5.4.3", "550403"), ("0.0", "00"), ("0.39", "27"), ("1.39", "4F"),
        ("2.0", "50"), ("2.999.3", "883703"), ("1.3.6.1.4.1.311.20.2.3", "2B060104018237140203"),
        ("2.25.0", "6900"),
        ("2.25.340282366920938463463374607431768211455", "6983FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF7F"),
    ])
    func textAndBytesAgree(text: String, content: String) throws {
        let identifier = try #require(OID(text))
        #expect(identifier.content == hex(content))
        #expect(identifier.description == text)
        #expect(OID(content: identifier.content) == identifier)
    }

    @Test(arguments: ["", "1", ".", "1.", ".1", "1..2", "3.1", "0.40", "1.40", "1.-2", "1.+2", "a.b", "1.2 ", "1.2.x"])
    func textThatIsNone(text: String) {
        #expect(OID(text) == nil)
    }

    @Test(arguments: ["", "80", "2A80", "2A8001", "2A" + String(repeating: "FF", count: 30) + "7F"])
    func unreadableBytesSurvive(content: String) {
        let identifier = OID(content: hex(content))
        #expect(identifier.content == hex(content))
        #expect(identifier.description == "#" + content)
    }

    @Test func literalsAreIdentifiers() {
        #expect(OID.smartCardLogon.description == "1.3.6.1.4.1.311.20.2.2")
        #expect(OID.pivCardAuthentication.description == "2.16.840.1.101.3.6.8")
    }
}
