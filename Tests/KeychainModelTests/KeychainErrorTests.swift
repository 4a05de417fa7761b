import KeychainModel
import Localization
import Testing

@Suite struct KeychainErrorTests {
    @Test(arguments: ErrSec.allNamed)
    func everyNamedCodeSaysWhatItMeans(code: ErrSec) throws {
        let name = try #require(code.name)
        #expect(name.hasPrefix("errSec"))
        #expect(code.description == "\(name) \(code.rawValue)")
        #expect(code.message.first?.isUppercase == false && !code.message.hasSuffix("."))
    }

    @Test func noTwoCodesShareAName() {
        let names = ErrSec.allNamed.compactMap(\.name)
        #expect(names.count == 80)
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: [
        (ErrSec.duplicateItem, Int32(-25299), "errSecDuplicateItem"),
        (.itemNotFound, -25300, "errSecItemNotFound"),
        (.interactionNotAllowed, -25308, "errSecInteractionNotAllowed"),
        (.wrongSecVersion, -25310, "errSecWrongSecVersion"),
        (.param, -50, "errSecParam"),
        (.missingEntitlement, -34018, "errSecMissingEntitlement"),
        (.deviceReset, -67587, "errSecDeviceReset"),
        (.decode, -26275, "errSecDecode"),
    ])
    func codesHaveTheNumbersOfApplesHeader(code: ErrSec, number: Int32, name: String) {
        #expect(code.rawValue == number)
        #expect(code.name == name)
    }

    @Test(arguments: [Int32.min, -99_999, 7, Int32.max])
    func aCodeWithoutANameKeepsItsNumber(number: Int32) {
        let code = ErrSec(rawValue: number)
        #expect(code.name == nil)
        #expect(code.description == "\(number)")
        #expect(code.message == "error \(number)")
    }

    @Test func errorsOfOneCodeAreEqualWhateverTheySay() {
        #expect(KeychainError(.param, "one") == KeychainError(.param, "two", key: "labl", triesLeft: 2))
        #expect(KeychainError(.param) != KeychainError(.decode))
    }

    @Test func theDescriptionIsReasonRemedyAndCode() {
        let error = KeychainError(.interactionNotAllowed, "the keychain is locked", remedy: "unlock it")
        #expect(error.description == "the keychain is locked (unlock it) [errSecInteractionNotAllowed -25308]")
        #expect("\(KeychainError(.diskFull))" == "the disk is full [errSecDiskFull -34]")
    }
}
