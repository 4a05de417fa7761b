import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

/// A parser, and bytes that it accepts.
struct ParserCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fixture: [UInt8]
    let parse: @Sendable ([UInt8]) throws(TokenError) -> Void

    static let all: [ParserCase] = [
        ParserCase("application template", Fixture.template) { (bytes) throws(TokenError) in
            _ = try ApplicationTemplate(parsing: bytes)
        },
        ParserCase("CHUID", Fixture.chuid) { (bytes) throws(TokenError) in _ = try CardholderIdentifier(parsing: bytes)
        },
        ParserCase("FASC-N", Fixture.fascn) { (bytes) throws(TokenError) in _ = try FASCN(parsing: bytes) },
        ParserCase("card capability", Fixture.cardCapability) { (bytes) throws(TokenError) in
            _ = try CardCapability(parsing: bytes)
        },
        ParserCase("discovery", Fixture.discovery) { (bytes) throws(TokenError) in
            _ = try DiscoveryObject(parsing: bytes)
        },
        ParserCase("key history", Fixture.keyHistoryWithURL) { (bytes) throws(TokenError) in
            _ = try KeyHistory(parsing: bytes)
        },
        ParserCase("printed information", Fixture.printed) { (bytes) throws(TokenError) in
            _ = try PrintedInformation(parsing: bytes)
        },
        ParserCase("security object", Fixture.securityObject) { (bytes) throws(TokenError) in
            _ = try SecurityObject(parsing: bytes)
        },
        ParserCase("certificate", TLV(0x70, Fixture.gzippedCertificate).encoded()) { (bytes) throws(TokenError) in
            _ = try CertificateObject.parse(bytes)
        },
        ParserCase("key metadata", Fixture.keyMetadata) { (bytes) throws(TokenError) in
            _ = try KeyMetadata(parsing: bytes)?.subjectPublicKeyInfo
        },
        ParserCase("PIN metadata", Fixture.pinMetadata) { (bytes) throws(TokenError) in
            _ = try PINMetadata(parsing: bytes)
        },
        ParserCase("attestation", Fixture.certificate) { (bytes) throws(TokenError) in
            _ = try Attestation(parsing: bytes)
        },
        ParserCase("firmware", [5, 7, 1]) { (bytes) throws(TokenError) in _ = try Firmware(parsing: bytes) },
        ParserCase("serial number", [0, 1, 2, 3]) { (bytes) throws(TokenError) in _ = try SerialNumber.parse(bytes) },
        ParserCase("authentication response", .init(hex: "7C0482020102")) { (bytes) throws(TokenError) in
            var bytes = bytes
            _ = try AuthenticationResponse.parse(Secret(consuming: &bytes)).count
        },
    ]

    init(_ name: String, _ fixture: [UInt8], _ parse: @escaping @Sendable ([UInt8]) throws(TokenError) -> Void) {
        testDescription = name
        self.fixture = fixture
        self.parse = parse
    }
}

/// A card may send anything: a parser returns a value or throws `.malformed`, and never ends the process.
@Suite struct RobustnessTests {
    @Test(arguments: ParserCase.all)
    func theFixtureIsRead(parser: ParserCase) throws {
        try parser.parse(parser.fixture)
    }

    @Test(arguments: ParserCase.all)
    func everyBeginningIsReadOrRefused(parser: ParserCase) {
        for count in 0..<parser.fixture.count { expectNoOtherError(parser, Array(parser.fixture.prefix(count))) }
    }

    @Test(arguments: ParserCase.all)
    func everyChangedByteIsReadOrRefused(parser: ParserCase) {
        for index in parser.fixture.indices {
            for value in [0x00, 0x01, 0x7F, 0x80, 0x81, 0x84, 0xFF] as [UInt8] {
                var changed = parser.fixture
                changed[index] = value
                expectNoOtherError(parser, changed)
            }
        }
    }

    @Test(arguments: ParserCase.all)
    func everyShortInputIsReadOrRefused(parser: ParserCase) {
        for first in UInt8.min...UInt8.max {
            for second in [0x00, 0x01, 0x02, 0x7F, 0x80, 0x81, 0x84, 0xFF] as [UInt8] {
                expectNoOtherError(parser, [first, second])
            }
        }
    }

    private func expectNoOtherError(_ parser: ParserCase, _ bytes: [UInt8]) {
        do { try parser.parse(bytes) } catch  where error.code == .malformed {} catch {
            Issue.record("\(Hex.encode(bytes)): \(error)")
        }
    }
}
