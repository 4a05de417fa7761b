import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

@Suite struct ApplicationTemplateTests {
    @Test func everythingACardMaySayIsRead() throws {
        let template = try ApplicationTemplate(parsing: Fixture.template)
        #expect(template.isPIV)
        #expect(template.label == "PIV")
        #expect(template.algorithms == [.rsa2048, .p256])
        #expect(template.lengthLimits?.command == 4095)
        #expect(template.lengthLimits?.response == 4096)
        #expect(!template.isMinimal)
    }

    @Test func aYubiKeySaysNoMoreThanItMust() throws {
        let template = try ApplicationTemplate(parsing: Fixture.minimalTemplate)
        #expect(template.isPIV)
        #expect(template.isMinimal)
        #expect(template.label == nil)
        #expect(template.lengthLimits == nil)
    }

    @Test(arguments: [
        ("nested", "6113" + "61114F0600001000010079074F05A000000308"),
        ("whole identifier in 4F", "61164F0BA00000030800001000010079074F05A000000308"),
        ("shifted by a byte", "61114F0600100001000079074F05A000000308"),
        ("without 79", "61084F06000010000100"),
        ("other version", "61114F0600001000020079074F05A000000308"),
        ("bytes after it", "61114F0600001000010079074F05A0000003080000"),
    ])
    func whatCardsMakeOfItIsRead(name: String, hex: String) throws {
        #expect(try ApplicationTemplate(parsing: .init(hex: hex)).isPIV, "\(name)")
    }

    @Test(arguments: [
        ("another application", "61114F0600001100010079074F05A000000308"),
        ("another provider", "61114F0600001000010079074F05A000000527"),
        ("no identifier", "610950035049565F500100"),
        ("nothing at all", "6100"),
    ])
    func otherApplicationsAreNotTakenForPIV(name: String, hex: String) throws {
        #expect(try !ApplicationTemplate(parsing: .init(hex: hex)).isPIV, "\(name)")
    }

    @Test(arguments: ["", "61", "6112", "6F00", "61114F06000010", "6180", "6102618000"])
    func whatIsNoTemplateIsAnError(hex: String) {
        #expect(throws: TokenError(.malformed, "")) { try ApplicationTemplate(parsing: .init(hex: hex)) }
    }

    @Test(arguments: ["AC0180", "AC03800000", "7F66020F", "7F6603020100", "7F660A0204FFFFFFFF02020100"])
    func hintsThatCannotBeReadAreNone(hex: String) throws {
        let children = [UInt8](hex: "4F06000010000100" + hex)
        let template = try? ApplicationTemplate(parsing: TLV(0x61, children).encoded())
        #expect(template?.lengthLimits == nil)
        #expect(template?.algorithms.isEmpty ?? true)
    }
}
