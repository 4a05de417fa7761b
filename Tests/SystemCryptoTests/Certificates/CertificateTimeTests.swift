import Foundation
import SecureBytes
import Testing

@testable import SystemCrypto

@Suite struct CertificateTimeTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"), (1_709_164_800, "2024-02-29T00:00:00Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"), (-2_208_988_800, "1900-01-01T00:00:00Z"),
        (1_761_040_464, "2025-10-21T09:54:24Z"),
    ])
    func datesOfTheCalendar(seconds: Int64, text: String) {
        #expect(CertificateTime.iso8601(seconds) == text)
    }

    @Test func agreesWithFoundationOnEveryMonthOfFourCenturies() {
        let formatter = ISO8601DateFormatter()
        for seconds in stride(from: Int64(-11_000_000_000), to: 12_000_000_000, by: 2_629_741) {
            let expected = formatter.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
            #expect(CertificateTime.iso8601(seconds) == expected)
        }
    }

    @Test(arguments: [
        (0, DER.Tag.utcTime, "700101000000Z"), (2_524_607_999, DER.Tag.utcTime, "491231235959Z"),
        (2_524_608_000, DER.Tag.generalizedTime, "20500101000000Z"), (-631_152_000, DER.Tag.utcTime, "500101000000Z"),
        (-631_152_001, DER.Tag.generalizedTime, "19491231235959Z"),
        (253_402_300_799, DER.Tag.generalizedTime, "99991231235959Z"),
    ])
    func timesComeBack(seconds: Int64, tag: TLVTag, text: String) throws {
        let encoded = try CertificateTime.encode(seconds)
        #expect(encoded == DER.element(tag, utf8(text)))
        var reader = TLVReader(encoded, .der)
        #expect(try CertificateTime.decode(reader.read()) == seconds)
    }

    @Test(arguments: ["", "Z", "700101000000", "701301000000Z", "70010100000xZ", "700101246000Z"])
    func textThatIsNoTimeIsMalformed(text: String) {
        var reader = TLVReader(DER.element(DER.Tag.utcTime, utf8(text)), .der)
        #expect(throws: CryptoError(.malformed, "")) { try CertificateTime.decode(reader.read()) }
    }

    @Test func extremesDoNotTrap() {
        #expect(!CertificateTime.iso8601(.min).isEmpty)
        #expect(!CertificateTime.iso8601(.max).isEmpty)
    }

    @Test func validityHasBothItsEnds() throws {
        let certificate = try TestKeys.certificate(.ecP256)
        #expect(certificate.isValid(at: certificate.notBefore) && certificate.isValid(at: certificate.notAfter))
        #expect(
            !certificate.isValid(at: certificate.notBefore - 1) && !certificate.isValid(at: certificate.notAfter + 1))
    }
}
