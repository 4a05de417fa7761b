import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

@Suite struct CardCapabilityTests {
    @Test func theCapabilitiesOfAGovernmentCard() throws {
        let capability = try CardCapability(parsing: Fixture.cardCapability)
        #expect(capability.identifier.count == 21)
        #expect(capability.containerVersion == 0x21)
        #expect(capability.grammarVersion == 0x21)
        #expect(capability.dataModel == 0x10)
    }

    @Test func anEmptyOneTellsNothing() throws {
        let capability = try CardCapability(parsing: [])
        #expect(capability.identifier.isEmpty)
        #expect(capability.dataModel == nil)
    }
}

@Suite struct DiscoveryObjectTests {
    @Test(
        arguments: [
            ("4000", .applicationPIN, false), ("6010", [.applicationPIN, .globalPIN], false),
            ("6020", [.applicationPIN, .globalPIN], true), ("4020", .applicationPIN, false),
            ("7F20", DiscoveryObject.Policy(rawValue: 0x7F), true),
        ] as [(String, DiscoveryObject.Policy, Bool)])
    func theUsagePolicyTellsWhichPINTheHolderKnows(
        policy: String, expected: DiscoveryObject.Policy, prefersGlobal: Bool
    ) throws {
        let object = try DiscoveryObject(parsing: .init(hex: "4F0BA0000003080000100001005F2F02" + policy))
        #expect(object.policy == expected)
        #expect(object.prefersGlobalPIN == prefersGlobal)
    }

    @Test(arguments: ["", "4F00", "5F2F00", "5F2F0140", "5F2F03400000"])
    func aPolicyOfAnotherLengthIsAnError(hex: String) {
        #expect(throws: TokenError(.malformed, "")) { try DiscoveryObject(parsing: .init(hex: hex)) }
    }
}

@Suite struct KeyHistoryTests {
    @Test func fiveKeysOnTheCard() throws {
        let history = try KeyHistory(parsing: Fixture.keyHistory)
        #expect(history.onCard == 5)
        #expect(history.offCard == 0)
        #expect(history.url == nil)
        #expect(history.slots == [.retired1, .retired2, .retired3, .retired4, .retired5])
    }

    @Test func keysElsewhereTakeNoSlot() throws {
        let history = try KeyHistory(parsing: Fixture.keyHistoryWithURL)
        #expect(history.slots == [.retired1, .retired2])
        #expect(history.offCard == 3)
        #expect(history.url == "http://a/01234567")
    }

    @Test(arguments: ["C10115", "C101FF", "C1020001", "C10100C20115"])
    func moreThanTwentyKeysAreAnError(hex: String) {
        #expect(throws: TokenError(.malformed, "")) { try KeyHistory(parsing: .init(hex: hex)) }
    }

    @Test func anAddressOfAnyLengthIsOnlyText() throws {
        let address = Array(repeating: UInt8(ascii: "a"), count: 5000)
        let history = try KeyHistory(parsing: TLV(0xC1, [1]).encoded() + TLV(0xF3, address + [0x00, 0x1B]).encoded())
        #expect(history.url?.count == 5002)
        #expect(history.url?.hasSuffix("a??") == true)
    }

    @Test func anEmptyOneTellsOfNoKey() throws {
        #expect(try KeyHistory(parsing: []).slots.isEmpty)
        #expect(try KeyHistory(parsing: .init(hex: "C100C200F300FE00")).slots.isEmpty)
    }
}

@Suite struct PrintedInformationTests {
    @Test func whatIsPrintedOnAGovernmentCard() throws {
        let printed = try PrintedInformation(parsing: Fixture.printed)
        #expect(printed.name == "Golden PIV")
        #expect(printed.affiliation == "4700")
        #expect(printed.expiry == "2032DEC02")
        #expect(printed.serialNumber == "123456789")
        #expect(printed.issuer == "ICAM Test Cards")
        #expect(printed.organizationLines == ["ICAM Test Cards", "ICAM Test Cards"])
    }

    @Test func yubicosKeyInItsPlaceIsNotShown() throws {
        let printed = try PrintedInformation(parsing: .init(hex: "881A8918" + String(repeating: "AA", count: 24)))
        #expect(printed.name == nil)
        #expect(printed.organizationLines.isEmpty)
    }
}

@Suite struct SecurityObjectTests {
    @Test func theContainerMap() throws {
        let object = try SecurityObject(parsing: Fixture.securityObject)
        #expect(object.entries.map(\.number) == [1, 3, 2, 4])
        #expect(object.entries.map(\.containerID) == [0x3000, 0x6030, 0x6010, 0x3001])
        #expect(object.signedData == [0x30, 0x01, 0x00])
    }

    @Test func aMapOfAnotherLengthIsAnError() {
        #expect(throws: TokenError(.malformed, "")) { try SecurityObject(parsing: .init(hex: "BA020130")) }
    }
}
