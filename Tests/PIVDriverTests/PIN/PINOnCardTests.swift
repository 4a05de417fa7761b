import PIVDriver
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@Suite struct PresentingTests {
    @Test func aRightPINIsTaken() throws {
        let desk = try Desk()
        try desk.verify()
        #expect(desk.card.triesLeft == 3)
        let status = try desk.status()
        #expect(status.isVerified)
    }

    @Test func aWrongPINCostsOneTryAndIsNotSentAgain() throws {
        let desk = try Desk()
        let error = #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("000000") }
        #expect(error?.triesLeft == 2)
        #expect(desk.card.triesLeft == 2)
        let again = #expect(throws: TokenError(.pinKnownIncorrect, "")) { try desk.verify("000000") }
        #expect(again?.triesLeft == 2)
        #expect(desk.card.triesLeft == 2)
        #expect(desk.pinsSent == 1)
        try desk.verify("123456")
        #expect(desk.card.triesLeft == 3)
    }

    @Test(arguments: ["", "12345", "123456789", "abcdef", "12345\u{FF}"] as [StaticString])
    func aPINThatTheCardWouldRefuseIsNotSent(pin: StaticString) throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinFormat, "")) { try desk.verify(pin) }
        #expect(throws: TokenError(.pinFormat, "")) { try desk.perform("9A", .sign(.ecdsa(nil), [1]), pin: pin) }
        #expect(desk.pinsSent == 0)
        #expect(desk.statusQueries == 0)
    }

    @Test func theLastTryIsKeptUntilSomebodySaysSo() throws {
        let desk = try Desk(IssuedCard(pinTries: 1))
        let error = #expect(throws: TokenError(.pinLastTry, "")) { try desk.verify("123456") }
        #expect(error?.triesLeft == 1)
        #expect(desk.pinsSent == 0)
        try desk.verify("123456", .spend)
        #expect(desk.card.triesLeft == 3)
        try desk.verify("123456")
    }

    @Test func tryingDownToTheLastIsNoticed() throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("000000") }
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("000001") }
        #expect(throws: TokenError(.pinLastTry, "")) { try desk.verify("000002") }
        let last = #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("000002", .spend) }
        #expect(last?.triesLeft == 0)
        #expect(throws: TokenError(.pinBlocked, "")) { try desk.verify("123456", .spend) }
        #expect(desk.pinsSent == 3)
    }

    @Test func aBlockedPINIsNotSent() throws {
        let desk = try Desk(IssuedCard(pinTries: 0))
        let error = #expect(throws: TokenError(.pinBlocked, "")) { try desk.verify("123456", .spend) }
        #expect(error?.triesLeft == 0)
        #expect(desk.pinsSent == 0)
        #expect(try desk.status().isBlocked)
    }

    @Test func triesSpentByOthersMeanwhileAreSeen() throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("000000") }
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.anotherProgram().verify("000001") }
        #expect(throws: TokenError(.pinLastTry, "")) { try desk.verify() }
        #expect(desk.card.triesLeft == 1)
    }

    @Test func triesSpentByOthersAreSeenAfterAReset() throws {
        let desk = try Desk()
        try desk.verify()
        let other = desk.anotherProgram()
        #expect(throws: TokenError(.pinIncorrect, "")) { try other.verify("000000") }
        #expect(throws: TokenError(.pinIncorrect, "")) { try other.verify("000001") }
        desk.reader.resetByAnotherClient()
        #expect(throws: TokenError(.pinLastTry, "")) { try desk.verify() }
        #expect(desk.card.triesLeft == 1)
    }

    @Test(arguments: [
        CardProfile.yubiKey57, .yubiKey43, .pivApplet, .silentCounter, .yubiKeyNEO, .dualCAC, .oldEndpoint,
    ])
    func aWrongPINCostsOneTryOnEveryCard(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        let error = #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("000000") }
        #expect(error?.triesLeft == (profile == .silentCounter ? nil : 2))
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try desk.verify("000000") }
        #expect(desk.card.triesLeft == 2)
        try desk.verify("123456")
        #expect(desk.card.triesLeft == 3)
    }

    @Test func overTheAirNoPINIsTaken() throws {
        let desk = try Desk(IssuedCard(profile: .contactless))
        #expect(throws: TokenError(.conditionsNotSatisfied, "")) { try desk.verify() }
        #expect(desk.card.triesLeft == 3)
    }
}

@Suite struct PINStatusTests {
    @Test func askingSpendsNothing() throws {
        let desk = try Desk(IssuedCard(pinTries: 2))
        #expect(try desk.status() == PINStatus(triesLeft: 2))
        #expect(try desk.status() == PINStatus(triesLeft: 2))
        #expect(desk.card.triesLeft == 2)
        #expect(desk.pinsSent == 0)
    }

    @Test func nothingIsAskedWhileLoggedIn() throws {
        let desk = try Desk()
        try desk.verify()
        desk.forgetCommands()
        #expect(try desk.status().isVerified)
        #expect(desk.commands.isEmpty)
    }

    @Test(arguments: [CardProfile.yubiKey57, .yubiKey54, .yubiKey531])
    func aYubiKeyIsAskedForMetadata(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        #expect(try desk.status() == PINStatus(triesLeft: 3, maximumTries: 3, isDefault: true))
        try desk.verify()
        #expect(try desk.status() == PINStatus(triesLeft: 3, maximumTries: 3, isVerified: true, isDefault: true))
        #expect(try desk.status(.unblockingKey) == PINStatus(triesLeft: 3, maximumTries: 3, isDefault: true))
        #expect(desk.statusQueries == 0)
        // The key is still usable: the question did not end the verified state.
        _ = try desk.perform("9A", .sign(.ecdsa(nil), [1]))
    }

    @Test func anUnblockingKeyIsNotAskedAbout() throws {
        let desk = try Desk()
        #expect(try desk.status(.unblockingKey).triesLeft == nil)
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.unblock("00000000", newPIN: "123456") }
        #expect(try desk.status(.unblockingKey).triesLeft == 2)
    }

    @Test(arguments: [CardProfile.dualCAC, .silentCounter])
    func aCardThatDoesNotTellLeavesItUnknown(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        #expect(try desk.status() == PINStatus(triesLeft: nil))
    }

    @Test func anotherProgramsPresentedPINIsSeenButNotRelied() throws {
        let desk = try Desk()
        try desk.anotherProgram().verify()
        #expect(try desk.status().isVerified)
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9A", .sign(.ecdsa(nil), [1])) }
    }
}

@Suite struct ChangingTests {
    @Test func aNewPINIsTheOneFromThenOn() throws {
        let desk = try Desk()
        try desk.change(from: "123456", to: "654321")
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("123456") }
        try desk.verify("654321")
        #expect(desk.card.triesLeft == 3)
    }

    @Test func aWrongOldPINCostsOneTryAndIsNotSentAgain() throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.change(from: "000000", to: "654321") }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try desk.change(from: "000000", to: "654321") }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try desk.verify("000000") }
        #expect(desk.card.triesLeft == 2)
    }

    @Test func whatWasWrongMayBeRightAfterAChange() throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("654321") }
        try desk.change(from: "123456", to: "654321")
        try desk.verify("654321")
    }

    @Test(arguments: ["12345", "abcdef", "123456789"] as [StaticString])
    func aNewPINThatTheCardWouldRefuseIsNotSent(pin: StaticString) throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinFormat, "")) { try desk.change(from: "123456", to: pin) }
        #expect(desk.pinsSent == 0)
    }

    @Test func theLastTryIsKeptHereToo() throws {
        let desk = try Desk(IssuedCard(pinTries: 1))
        #expect(throws: TokenError(.pinLastTry, "")) { try desk.change(from: "123456", to: "654321") }
        try desk.change(from: "123456", to: "654321", .spend)
        try desk.verify("654321")
    }

    @Test func theUnblockingKeyIsChangedToo() throws {
        let desk = try Desk()
        try desk.change(.unblockingKey, from: "12345678", to: "87654321")
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.unblock("12345678", newPIN: "111111") }
        try desk.unblock("87654321", newPIN: "111111")
        try desk.verify("111111")
    }

    @Test func afterAChangeThePINIsAskedForAgain() throws {
        let desk = try Desk()
        try desk.verify()
        try desk.change(from: "123456", to: "654321")
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9A", .sign(.ecdsa(nil), [1])) }
        _ = try desk.perform("9A", .sign(.ecdsa(nil), [1]), pin: "654321")
    }
}

@Suite struct UnblockingTests {
    @Test func aBlockedPINGetsANewValue() throws {
        let desk = try Desk(IssuedCard(pinTries: 0))
        #expect(throws: TokenError(.pinBlocked, "")) { try desk.verify() }
        try desk.unblock(newPIN: "654321")
        try desk.verify("654321")
        #expect(desk.card.triesLeft == 3)
    }

    @Test func aWrongUnblockingKeyCostsOneOfItsOwnTries() throws {
        let desk = try Desk()
        let error = #expect(throws: TokenError(.pinIncorrect, "")) { try desk.unblock("00000000", newPIN: "654321") }
        #expect(error?.triesLeft == 2)
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try desk.unblock("00000000", newPIN: "654321") }
        #expect(desk.card.unblockingTriesLeft == 2)
        #expect(desk.card.triesLeft == 3)
    }

    @Test func itsLastTryIsKept() throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.unblock("00000000", newPIN: "654321") }
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.unblock("00000001", newPIN: "654321") }
        #expect(throws: TokenError(.pinLastTry, "")) { try desk.unblock("12345678", newPIN: "654321") }
        try desk.unblock("12345678", newPIN: "654321", .spend)
        try desk.verify("654321")
    }

    @Test func whatWasWrongMayBeRightAfterwards() throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("654321") }
        try desk.unblock(newPIN: "654321")
        try desk.verify("654321")
    }
}

@Suite struct LoggingOutTests {
    @Test func thePINIsWantedAgain() throws {
        let desk = try Desk()
        try desk.verify()
        try desk.logOut()
        #expect(try !desk.status().isVerified)
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9A", .sign(.ecdsa(nil), [1])) }
    }

    @Test(arguments: [CardProfile.yubiKey531, .yubiKey43, .dualCAC, .pivApplet])
    func aCardThatCannotSaysSoAndIsNoLongerBelieved(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        try desk.verify()
        #expect(throws: TokenError(.unsupported, "")) { try desk.logOut() }
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9A", .sign(.ecdsa(nil), [1])) }
    }
}

/// The PIN that a card uses, its own or the global one. SP 800-73-5 part 1 §3.3.2.
@Suite struct GlobalPINTests {
    private func reference(_ desk: Desk) -> UInt8? {
        desk.reader.log.last { $0.ins == 0x20 && $0.dataCount == 8 }?.p2
    }

    @Test(
        arguments: [
            ("4000", 0x80), ("6010", 0x80), ("4020", 0x80),
        ] as [(String, UInt8)])
    func theApplicationPINUnlessTheDiscoveryObjectSaysOtherwise(policy: String, expected: UInt8) throws {
        let content = [UInt8](hex: "4F0BA0000003080000100001005F2F02" + policy)
        let desk = try Desk(IssuedCard(objects: [0x7E: content]))
        try desk.verify()
        #expect(reference(desk) == expected)
    }

    @Test func theGlobalPINWhereItIsPrimary() throws {
        let card = SmallCard()
        card.objects["7E"] = TLV(0x7E, Fixture.globalDiscovery).encoded()
        card.answers.append(("00200000", "9000"))
        card.answers.append(("0020000008", "9000"))
        var transaction = card.transaction()
        var token = try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
        try token.verify(PIN("123456"), lastTry: .keep, &transaction)
        #expect(card.commands.last == "0020000008313233343536FFFF")
        #expect(throws: TokenError(.unsupported, "")) {
            try token.unblock(with: PIN("12345678"), newPIN: PIN("123456"), lastTry: .keep, &transaction)
        }
    }

    @Test func theGlobalPINWhereThereIsNoOther() throws {
        let desk = try Desk(IssuedCard(profile: .oldEndpoint))
        try desk.verify()
        #expect(reference(desk) == 0x00)
        _ = try desk.perform("9A", .sign(.ecdsa(nil), [1]), pin: "123456")
        try desk.unblock(newPIN: "654321")
        try desk.verify("654321")
    }

    @Test(arguments: [[], [0x5F, 0x2F, 0x01, 0x40], [0xFF]] as [[UInt8]])
    func aDiscoveryObjectThatTellsNothingMeansTheApplicationPIN(content: [UInt8]) throws {
        let desk = try Desk(IssuedCard(objects: [0x7E: content]))
        try desk.verify()
        #expect(reference(desk) == 0x80)
    }
}
