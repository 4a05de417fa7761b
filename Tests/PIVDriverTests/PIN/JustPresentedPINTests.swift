import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

/// A PIN that was the last command counts for one use of a key that needs it each time.
@Suite struct JustPresentedPINTests {
    private let desk: Desk
    private let digest = [UInt8](repeating: 0x5A, count: 32)

    init() throws {
        desk = try Desk()
        _ = try desk.inventory()
        try desk.verify()
        desk.forgetCommands()
    }

    private func sign(_ pin: StaticString = "123456") throws -> [UInt8] {
        try desk.perform("9C", .sign(.ecdsa(nil), digest), pin: pin)
    }

    @Test func itIsNotSentAgainForTheNextSignatureAndIsForTheOneAfter() throws {
        _ = try sign()
        #expect(desk.commands == [0x87])
        _ = try sign()
        #expect(desk.pinsSent == 1)
    }

    @Test func itIsSentAgainWhereAnotherProgramCameBetween() throws {
        _ = try desk.anotherProgram().perform("9E", .sign(.ecdsa(nil), digest))
        desk.forgetCommands()
        #expect(try !sign().isEmpty)
        #expect(desk.pinsSent == 1)
    }

    @Test func itIsSentAgainWhereAnythingElseWasDoneSince() throws {
        _ = try desk.content(of: "chuid")
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest))
        desk.forgetCommands()
        _ = try sign()
        #expect(desk.pinsSent == 1)
    }

    @Test func itIsSentAgainAfterALogout() throws {
        try desk.logOut()
        desk.forgetCommands()
        _ = try sign()
        #expect(desk.pinsSent == 1)
    }

    @Test func anotherValueIsNotTakenForIt() throws {
        #expect(throws: TokenError(.pinIncorrect, "")) { try sign("654321") }
        #expect(desk.count(0x87) == 0)
    }
}
