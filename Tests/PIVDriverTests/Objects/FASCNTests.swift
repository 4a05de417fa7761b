import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

@Suite struct FASCNTests {
    @Test func aFederalNumberIsReadFieldByField() throws {
        let number = try FASCN(parsing: Fixture.fascn)
        #expect(number.agency == "4700")
        #expect(number.system == "0256")
        #expect(number.credential == "001337")
        #expect(number.series == "1")
        #expect(number.issue == "1")
        #expect(number.person == "1234567890")
        #expect(number.organizationCategory == "1")
        #expect(number.organization == "9999")
        #expect(number.association == "1")
        #expect(number.isFederal)
        #expect(number.description == "4700-0256-001337-1-1")
    }

    @Test func aNonFederalNumberTellsNothingOfTheCard() throws {
        let number = try FASCN(parsing: Fixture.nonFederalFASCN)
        #expect(number.agency == "9999")
        #expect(number.credential == "999999")
        #expect(!number.isFederal)
    }

    @Test(arguments: 0..<195)
    func aBitThatFlipsIsFoundByItsParity(bit: Int) {
        var bytes = Fixture.fascn
        bytes[bit / 8] ^= 0x80 >> UInt8(bit % 8)
        #expect(throws: TokenError(.malformed, "")) { try FASCN(parsing: bytes) }
    }

    @Test(arguments: [0, 1, 24, 26, 50])
    func anotherLengthIsAnError(count: Int) {
        #expect(throws: TokenError(.malformed, "")) { try FASCN(parsing: Array(repeating: 0xD1, count: count)) }
    }

    @Test func allZeroIsNoNumber() {
        #expect(throws: TokenError(.malformed, "")) { try FASCN(parsing: Array(repeating: 0, count: 25)) }
    }
}
