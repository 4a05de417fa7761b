import SecureBytes
import TestSupport
import Testing
import TokenKit
import VirtualCard

private func selected(_ profile: CardProfile = .generic) throws -> CardConversation {
    let card = try CardConversation(profile)
    try card.select()
    return card
}

extension CardConversation {
    fileprivate func status(_ reference: UInt8 = 0x80) throws -> StatusWord {
        try send(0x20, 0x00, reference, le: nil).status
    }

    fileprivate func change(_ reference: UInt8, _ old: String, _ new: String) throws -> StatusWord {
        try send(0x24, 0x00, reference, Self.padded(old) + Self.padded(new), le: nil).status
    }

    fileprivate func unblock(_ puk: String, _ new: String) throws -> StatusWord {
        try send(0x2C, 0x00, 0x80, Self.padded(puk) + Self.padded(new), le: nil).status
    }
}

@Suite struct VerifyTests {
    @Test func theRightPINIsVerifiedUntilReset() throws {
        let card = try selected()
        #expect(try card.status() == 0x63C3)
        #expect(try card.verify() == .success)
        #expect(try card.status() == .success)
        card.card.reset()
        try card.select()
        #expect(try card.status() == 0x63C3)
    }

    @Test func eachWrongPINCostsOneTryAndTheRightOneGivesThemBack() throws {
        let card = try selected()
        #expect(try card.verify("654321") == 0x63C2)
        #expect(try card.verify("654321") == 0x63C1)
        #expect(try card.verify() == .success)
        #expect(try card.verify("654321") == 0x63C2)
        #expect(try card.status() == 0x63C2)
    }

    @Test func noTryIsLeftAfterThree() throws {
        let card = try selected()
        for left in [0x63C2, 0x63C1, 0x63C0] as [UInt16] {
            #expect(try card.verify("000000") == StatusWord(rawValue: left))
        }
        #expect(try card.verify() == .authenticationMethodBlocked)
        #expect(try card.status() == .authenticationMethodBlocked)
    }

    @Test func triesAreNotGivenBackByReset() throws {
        let card = try selected()
        try card.verify("000000")
        card.card.reset()
        try card.select()
        #expect(try card.status() == 0x63C2)
    }

    @Test func aWrongPINEndsWhatWasVerified() throws {
        let card = try selected()
        try card.verify()
        try card.verify("000000")
        #expect(try card.status() == 0x63C2)
    }

    @Test func logoutForgetsThePIN() throws {
        let card = try selected()
        try card.verify()
        #expect(try card.send(0x20, 0xFF, 0x80, le: nil).status == .success)
        #expect(try card.status() == 0x63C3)
    }

    @Test(arguments: [
        "3132333435", "313233343536", "3132333435FFFFFF", "FFFFFFFFFFFFFFFF", "31323334353641FF", "3132FF343536FFFF",
        "313233343536FFFFFF", "3132333435360000",
    ])
    func aMalformedPINCostsNothing(hex: String) throws {
        let card = try selected()
        #expect(try card.send(0x20, 0x00, 0x80, [UInt8](hex: hex), le: nil).status == .incorrectData)
        #expect(try card.status() == 0x63C3)
    }

    @Test(arguments: [(UInt8(0x00), UInt8(0x81)), (0x00, 0x00), (0x00, 0x96), (0x00, 0x98)])
    func otherReferencesAreUnknown(p1: UInt8, p2: UInt8) throws {
        let card = try selected()
        #expect(try card.send(0x20, p1, p2, CardConversation.padded("123456"), le: nil).status == .referenceNotFound)
    }

    @Test func otherParametersAreRefused() throws {
        let card = try selected()
        #expect(try card.send(0x20, 0x01, 0x80, le: nil).status == .incorrectParameters)
        #expect(try card.send(0x20, 0xFF, 0x80, [0x31], le: nil).status == .incorrectParameters)
    }
}

@Suite struct ChangeReferenceDataTests {
    @Test func thePINIsChangedAndVerified() throws {
        let card = try selected()
        #expect(try card.change(0x80, "123456", "24681357") == .success)
        #expect(try card.status() == .success)
        #expect(try card.verify() == 0x63C2)
        #expect(try card.verify("24681357") == .success)
    }

    @Test func aWrongOldPINCostsATryAndChangesNothing() throws {
        let card = try selected()
        #expect(try card.change(0x80, "000000", "246813") == 0x63C2)
        #expect(try card.verify() == .success)
    }

    @Test(arguments: ["12345", "", "abcdef"])
    func aNewPINMustBeOne(new: String) throws {
        let card = try selected()
        #expect(try card.change(0x80, "123456", new) == .incorrectData)
        #expect(try card.status() == 0x63C3)
    }

    @Test func thePUKIsChangedAndCounted() throws {
        let card = try selected()
        #expect(try card.change(0x81, "00000000", "87654321") == 0x63C2)
        #expect(try card.change(0x81, "12345678", "87654321") == .success)
        #expect(try card.unblock("12345678", "246813") == 0x63C2)
        #expect(try card.unblock("87654321", "246813") == .success)
        #expect(try card.verify("246813") == .success)
    }

    @Test func shortDataIsRefused() throws {
        let card = try selected()
        #expect(try card.send(0x24, 0x00, 0x80, CardConversation.padded("123456"), le: nil).status == .incorrectData)
    }
}

@Suite struct ResetRetryCounterTests {
    @Test func aBlockedPINIsReplaced() throws {
        let card = try selected()
        for _ in 0..<3 { try card.verify("000000") }
        #expect(try card.unblock("12345678", "246813") == .success)
        #expect(try card.status() == 0x63C3)
        #expect(try card.verify("246813") == .success)
    }

    @Test func thePUKIsBlockedAfterThree() throws {
        let card = try selected()
        for left in [0x63C2, 0x63C1, 0x63C0] as [UInt16] {
            #expect(try card.unblock("00000000", "246813") == StatusWord(rawValue: left))
        }
        #expect(try card.unblock("12345678", "246813") == .authenticationMethodBlocked)
        #expect(try card.verify() == .success)
    }

    @Test func onlyThePINIsUnblocked() throws {
        let card = try selected()
        let data = CardConversation.padded("12345678") + CardConversation.padded("246813")
        #expect(try card.send(0x2C, 0x00, 0x81, data, le: nil).status == .incorrectParameters)
    }
}

@Suite struct PINQuirkTests {
    @Test(arguments: [
        ("yubikey-neo", StatusWord(0x63, 0x02)), ("silent-counter", 0x6300), ("generic", 0x63C2),
        ("yubikey-5.7", 0x63C2), ("strict-clone", 0x63C2),
    ])
    func triesAreToldInTheProfilesWay(name: String, status: StatusWord) throws {
        let card = try selected(#require(CardProfile.named(name)))
        #expect(try card.verify("000000") == status)
    }

    @Test(arguments: [
        ("yubikey-neo", StatusWord(0x63, 0x03)), ("yubikey-4.2", 0x63C3), ("yubikey-4.3", .success),
        ("yubikey-5.3.1", 0x63C3), ("dual-cac", .wrongLength),
    ])
    func theStatusOfAVerifiedPINIsToldInTheProfilesWay(name: String, status: StatusWord) throws {
        let card = try selected(#require(CardProfile.named(name)))
        try card.verify()
        #expect(try card.status() == status)
    }

    @Test func askingForTheStatusLogsOutOnYubiKey531() throws {
        let card = try selected(.yubiKey531)
        try card.authenticate()
        try card.putData(0x5FC109, [1])
        try card.verify()
        #expect(try card.getData(0x5FC109).status == .success)
        #expect(try card.status() == 0x63C3)
        #expect(try card.getData(0x5FC109).status == .securityStatusNotSatisfied)
    }

    @Test func logoutIsUnknownToOldCards() throws {
        #expect(try selected(.yubiKey531).send(0x20, 0xFF, 0x80, le: nil).status == .incorrectParameters)
        #expect(try selected(.yubiKey54).send(0x20, 0xFF, 0x80, le: nil).status == .success)
    }

    @Test(arguments: ["313233", "FFFFFFFFFFFFFFFF"])
    func aMalformedPINCostsATryOnCopies(hex: String) throws {
        let card = try selected(.strictClone)
        #expect(try card.send(0x20, 0x00, 0x80, [UInt8](hex: hex), le: nil).status == 0x63C2)
    }

    @Test func anEmptyPINCostsATryOnYubiKeys() throws {
        let card = try selected(.yubiKey57)
        #expect(try card.verify("") == 0x63C2)
    }

    @Test func yubiKeysTakeLetters() throws {
        let card = try selected(.yubiKey57)
        #expect(try card.change(0x80, "123456", "pass!word".prefix(8).description) == .success)
        #expect(try card.verify("pass!wor") == .success)
    }

    @Test func aChangedPINIsNotVerifiedOnYubiKeys() throws {
        let card = try selected(.yubiKey57)
        #expect(try card.change(0x80, "123456", "246813") == .success)
        #expect(try card.status() == 0x63C3)
    }

    @Test func theFirstEndpointCardsHaveThePINUnderReference00() throws {
        let card = try selected(.oldEndpoint)
        #expect(try card.verify() == .referenceNotFound)
        #expect(try card.verify(reference: 0x00) == .success)
        #expect(try card.status(0x00) == .success)
    }
}
