import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

@Suite struct CertificateObjectTests {
    private func object(_ stored: [UInt8], information: [UInt8]? = [0x00]) -> [UInt8] {
        TLV(0x70, stored).encoded() + (information.map { TLV(0x71, $0).encoded() } ?? [])
            + TLV(0xFE, [UInt8]()).encoded()
    }

    /// CertInfo of the specification, of early writers, contradicting the bytes, absent, empty, and with another bit.
    @Test(arguments: [[0x01], [0x80], [0x00], nil, [], [0x05]] as [[UInt8]?])
    func whatIsPlainlyCompressedIsUnpacked(information: [UInt8]?) throws {
        let parsed = try CertificateObject.parse(object(Fixture.gzippedCertificate, information: information))
        #expect(parsed?.certificate == Fixture.certificate)
    }

    @Test(arguments: [[0x00], [0x01], [0x80], nil] as [[UInt8]?])
    func whatIsPlainlyACertificateIsTakenAsItIs(information: [UInt8]?) throws {
        let parsed = try CertificateObject.parse(object(Fixture.certificate, information: information))
        #expect(parsed?.certificate == Fixture.certificate)
    }

    @Test func zlibIsUnpackedWhereTheFlagSaysCompressed() throws {
        let packed = [UInt8](hex: "789c3368721c05a3800600008244990b")
        let parsed = try CertificateObject.parse(object(packed, information: [0x01]))
        #expect(parsed?.certificate == [0x30, 0x82] + Array(repeating: 0x41, count: 600))
    }

    @Test(arguments: ["", "7000", "7100FE00", "70007101 00"])
    func anObjectWithoutACertificateHasNone(hex: String) throws {
        #expect(try CertificateObject.parse(.init(hex: hex)) == nil)
    }

    @Test func theMicrosoftFieldIsPassedOver() throws {
        let content = TLV(0x72, [0x01]).encoded() + object([0x30, 0x82, 0x01])
        #expect(try CertificateObject.parse(content)?.certificate == [0x30, 0x82, 0x01])
    }

    @Test(arguments: ["70", "7005AA", "7080AA", "70840000000130"])
    func brokenLengthsAreErrors(hex: String) {
        #expect(throws: TokenError(.malformed, "")) { try CertificateObject.parse(.init(hex: hex)) }
    }
}

@Suite struct InflateTests {
    @Test(arguments: 0..<Fixture.gzippedCertificate.count)
    func whatEndsEarlyIsAnError(count: Int) {
        #expect(throws: TokenError(.malformed, "")) {
            try Inflate.unpack(Array(Fixture.gzippedCertificate.prefix(count)), limit: 65_536)
        }
    }

    @Test func aWrongChecksumIsAnError() {
        var packed = Fixture.gzippedCertificate
        packed[packed.count - 6] ^= 1
        #expect(throws: TokenError(.malformed, "")) { try Inflate.unpack(packed, limit: 65_536) }
    }

    @Test func theResultMayBeAsLongAsTheLimitAndNoLonger() throws {
        let length = Fixture.certificate.count
        #expect(try Inflate.unpack(Fixture.gzippedCertificate, limit: length) == Fixture.certificate)
        #expect(throws: TokenError(.malformed, "")) {
            try Inflate.unpack(Fixture.gzippedCertificate, limit: length - 1)
        }
    }

    @Test func nothingBlowsUp() throws {
        let bomb = [UInt8](hex: Bomb.seventyThousandZeros)
        #expect(bomb.count == 103)
        #expect(throws: TokenError(.malformed, "")) { try Inflate.unpack(bomb, limit: 65_536) }
        #expect(try Inflate.unpack(bomb, limit: 70_000).count == 70_000)
    }

    @Test func neitherGzipNorZlibIsAnError() {
        #expect(throws: TokenError(.malformed, "")) { try Inflate.unpack([0x50, 0x4B, 0x03, 0x04], limit: 100) }
        #expect(throws: TokenError(.malformed, "")) { try Inflate.unpack([], limit: 100) }
    }
}

/// A hundred bytes of gzip that become 70,000.
private enum Bomb {
    static let seventyThousandZeros =
        "1f8b0800000000000203edc13101000000c2a0f54f6d094fa0000000000000000000000000000000000000000000000000000000"
        + "0000000000000000000000000000000000000000000000000000000000000000000000000000000080b701dcc8a9a670110100"
}
