import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

@Suite struct PIVFormatTests {
    @Test(
        arguments: [
            ("5303700101", "700101"), ("53037001010000", "700101"), ("700101", "700101"), ("", nil), ("5300", nil),
        ] as [(String, String?)])
    func anObjectIsTakenOutOfItsWrapping(data: String, content: String?) throws {
        let found = try PIVFormat.content(of: .init(hex: data), in: .authenticationCertificate)
        #expect(found == content.map { .init(hex: $0) })
    }

    @Test(
        arguments: [
            ("", .absent), ("5300", .absent), ("5303700101", .whole([0x70, 1, 1])),
            ("530370010100", .whole([0x70, 1, 1])),
            ("53", .present), ("53820100", .present), ("5303", .present), ("530370", .present), ("700101", .present),
        ] as [(String, TokenDataFinding)])
    func theBeginningTellsWhetherAnObjectIsThereAndWhetherThatIsAll(data: String, finding: TokenDataFinding) {
        #expect(PIVFormat.finding(in: .init(hex: data), of: .keyHistory) == finding)
    }

    @Test func theBeginningOfABareObjectTellsByItsOwnTag() {
        #expect(PIVFormat.finding(in: .init(hex: "7E025F2F"), of: .discovery) == .whole([0x5F, 0x2F]))
        #expect(PIVFormat.finding(in: .init(hex: "7F6100"), of: .biometricGroupTemplate) == .absent)
        #expect(PIVFormat.finding(in: .init(hex: "7F61"), of: .biometricGroupTemplate) == .present)
    }

    @Test func discoveryAndBiometricsStandUnderTheirOwnTag() throws {
        #expect(try PIVFormat.content(of: .init(hex: "7E025F2F"), in: .discovery) == [0x5F, 0x2F])
        #expect(try PIVFormat.content(of: .init(hex: "7E00"), in: .discovery) == nil)
        #expect(try PIVFormat.content(of: .init(hex: "7F6101AA"), in: .biometricGroupTemplate) == [0xAA])
    }

    @Test(arguments: ["53", "5305AA", "5380", "538500"])
    func whatEndsEarlyNamesTheObject(hex: String) throws {
        let error = #expect(throws: TokenError.self) { try PIVFormat.content(of: .init(hex: hex), in: .keyHistory) }
        #expect(error?.code == .malformed)
        #expect(error?.reason.contains("Key History Object") == true)
    }

    @Test(arguments: [("Jo  ", "Jo"), ("a\u{1B}[31m", "a?[31m"), ("", ""), ("é", "??")])
    func textOfACardCannotSteerATerminal(bytes: String, text: String) {
        #expect(PIVFormat.text(Array(bytes.utf8)) == text)
    }

    @Test func uuidsAreWrittenInFiveGroups() {
        #expect(
            UUIDText.encode(.init(hex: "000102030405060708090A0B0C0D0E0F")) == "00010203-0405-0607-0809-0a0b0c0d0e0f")
        #expect(UUIDText.encode([]) == "----")
    }
}
