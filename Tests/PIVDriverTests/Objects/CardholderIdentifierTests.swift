import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

@Suite struct CardholderIdentifierTests {
    @Test func theIdentifiersOfAGovernmentCard() throws {
        let chuid = try CardholderIdentifier(parsing: Fixture.chuid)
        #expect(chuid.fascn == Fixture.fascn)
        #expect(chuid.guid == .init(hex: "7b13d0e61f6e478ea0aabe0f9ad64a6c"))
        #expect(chuid.cardholderUUID == .init(hex: "db17539147494a32977d7a3843775e8a"))
        #expect(chuid.expiry == "20321202")
        #expect(chuid.isSigned)
    }

    @Test func theFirstPartOfTheObjectIsEnough() throws {
        let content = try #require(CardholderIdentifier.contentPrefix(of: Fixture.chuidFirstPart))
        let whole = try CardholderIdentifier(parsing: Fixture.chuid)
        #expect(try CardholderIdentifier(parsing: content) == whole)
    }

    @Test func whatIsCutOffBeforeTheSignatureIsAnError() throws {
        for count in 1..<Fixture.chuid.count - 4 {
            let cut = Array(Fixture.chuid.prefix(count))
            let chuid = try? CardholderIdentifier(parsing: cut)
            #expect(chuid?.isSigned != true, "\(count) bytes")
        }
        #expect(throws: TokenError(.malformed, "")) {
            try CardholderIdentifier(parsing: Array(Fixture.chuid.prefix(40)))
        }
    }

    @Test func zerosIdentifyNothing() throws {
        let zeros = String(repeating: "00", count: 16)
        let fascn = String(repeating: "00", count: 25)
        let chuid = try CardholderIdentifier(parsing: .init(hex: "3019\(fascn)3410\(zeros)3610\(zeros)3E00FE00"))
        #expect(chuid.fascn == nil)
        #expect(chuid.guid == nil)
        #expect(chuid.cardholderUUID == nil)
    }

    @Test func oldFieldsAndEmptyOnesArePassedOver() throws {
        let chuid = try CardholderIdentifier(parsing: .init(hex: "EE020010320401020304330034003000350036003E00FE00"))
        #expect(chuid.guid == nil)
        #expect(chuid.fascn == nil)
        #expect(chuid.expiry == "")
    }

    @Test(arguments: ["340101", "300100", "3602AABB"])
    func aFieldOfAnotherLengthIsAnError(hex: String) {
        #expect(throws: TokenError(.malformed, "")) { try CardholderIdentifier(parsing: .init(hex: hex)) }
    }

    @Test(
        arguments: [
            ("", nil), ("53", nil), ("5300", nil), ("530134", "34"), ("5381AA34", "34"), ("538208633410", "3410"),
            ("34100102", "34100102"), ("53FF", nil),
        ] as [(String, String?)])
    func theBeginningOfAnAnswerIsUnwrapped(data: String, content: String?) {
        #expect(CardholderIdentifier.contentPrefix(of: .init(hex: data)) == content.map { .init(hex: $0) })
    }
}
