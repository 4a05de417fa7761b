import TestSupport
import Testing
import TokenKit
import VirtualCard

/// The unblocking key in successive programs, such as runs of a command.
@Suite struct UnblockingKeyTests {
    private let memory = VolatileTokenMemory()

    private static let tellingMetadata = [CardProfile.pivAppletMetadata, .canoKey, .yubiKey57]
    private static let all = tellingMetadata + [.generic, .pivApplet, .token2, .dualCAC]

    private func desk(_ profile: CardProfile) throws -> Desk { try Desk(IssuedCard(profile: profile)) }

    private func unblock(
        _ desk: Desk, _ key: StaticString, _ lastTry: LastTry = .keep
    ) throws(TokenError) {
        try desk.anotherProgram(rejectedPINs: memory).unblock(key, newPIN: "654321", lastTry)
    }

    @Test(arguments: all)
    func theSameWrongKeyIsNotSentByTheNextProgram(profile: CardProfile) throws {
        let desk = try desk(profile)
        #expect(throws: TokenError(.pinIncorrect, "")) { try unblock(desk, "00000000") }
        for _ in 0..<3 { #expect(throws: TokenError(.pinKnownIncorrect, "")) { try unblock(desk, "00000000") } }
        #expect(desk.card.unblockingTriesLeft == 2)
        #expect(desk.pinsSent == 1)
        try unblock(desk, "12345678")
        try desk.anotherProgram().verify("654321")
    }

    @Test(arguments: all)
    func theLastTryOfTheKeyIsKeptByTheNextProgram(profile: CardProfile) throws {
        let desk = try desk(profile)
        for wrong in ["00000000", "00000001"] as [StaticString] {
            #expect(throws: TokenError(.pinIncorrect, "")) { try unblock(desk, wrong) }
        }
        #expect(throws: TokenError(.pinLastTry, "")) { try unblock(desk, "00000002") }
        #expect(desk.card.unblockingTriesLeft == 1)
        #expect(try desk.anotherProgram(rejectedPINs: memory).status(.unblockingKey).triesLeft == 1)
        try unblock(desk, "12345678", .spend)
        #expect(desk.card.unblockingTriesLeft == 3)
        // With all its tries back the key may be wrong twice more.
        #expect(throws: TokenError(.pinIncorrect, "")) { try unblock(desk, "00000003") }
    }

    @Test(arguments: all)
    func aBlockedKeyIsSaidToBeBlocked(profile: CardProfile) throws {
        let desk = try desk(profile)
        for wrong in ["00000000", "00000001", "00000002"] as [StaticString] {
            #expect(throws: TokenError(.pinIncorrect, "")) { try unblock(desk, wrong, .spend) }
        }
        #expect(try desk.anotherProgram(rejectedPINs: memory).status(.unblockingKey).isBlocked)
        let sent = desk.pinsSent
        #expect(throws: TokenError(.pinBlocked, "")) { try unblock(desk, "12345678") }
        #expect(desk.pinsSent == sent)
        // A card that does not tell its tries is asked by whoever allows the last one to be spent: it counts no more of them.
        #expect(throws: TokenError(.pinBlocked, "")) { try unblock(desk, "12345678", .spend) }
        #expect(desk.pinsSent - sent == (Self.tellingMetadata.contains(profile) ? 0 : 1))
    }

    @Test func aCardThatWasResetSinceItsLastTryIsNotBlockedForGood() throws {
        let former = try desk(.generic)
        for wrong in ["00000000", "00000001", "00000002"] as [StaticString] {
            #expect(throws: TokenError(.pinIncorrect, "")) { try unblock(former, wrong, .spend) }
        }
        let card = try desk(.generic)
        #expect(throws: TokenError(.pinBlocked, "")) { try unblock(card, "12345678") }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try unblock(card, "00000001", .spend) }
        #expect(card.pinsSent == 0)
        try unblock(card, "12345678", .spend)
        #expect(try card.anotherProgram(rejectedPINs: memory).status(.unblockingKey).triesLeft == nil)
    }

    /// Blank cards of a kind have one identifier.
    @Test func theTriesOfABlankCardAreBelievedOfNoOther() throws {
        func blank() throws -> Desk { try Desk(IssuedCard(profile: .generic, keys: [:], guid: nil)) }
        let (first, second) = (try blank(), try blank())
        for wrong in ["00000000", "00000001", "00000002"] as [StaticString] {
            #expect(throws: TokenError(.pinIncorrect, "")) { try unblock(first, wrong, .spend) }
        }
        #expect(try second.anotherProgram(rejectedPINs: memory).status(.unblockingKey).triesLeft == nil)
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try unblock(second, "00000000") }
        #expect(second.pinsSent == 0)
        try unblock(second, "12345678")
    }

    @Test(arguments: tellingMetadata)
    func triesSpentByStrangersAreSeenWhereMetadataTellsThem(profile: CardProfile) throws {
        let desk = try desk(profile)
        for wrong in ["00000000", "00000001"] as [StaticString] {
            #expect(throws: TokenError(.pinIncorrect, "")) {
                try desk.anotherProgram().unblock(wrong, newPIN: "654321")
            }
        }
        #expect(throws: TokenError(.pinLastTry, "")) { try unblock(desk, "00000002") }
        #expect(throws: TokenError(.pinLastTry, "")) {
            try desk.change(.unblockingKey, from: "00000002", to: "87654321")
        }
        let status = try desk.anotherProgram().status(.unblockingKey)
        #expect(status == PINStatus(triesLeft: 1, maximumTries: 3, isDefault: true))
    }

    /// A card that does not report the key's tries (6300): the last try is not known, but a wrong key is.
    @Test func theSameWrongKeyIsNotSentToACardThatNeverTellsTries() throws {
        let desk = try desk(.silentCounter)
        #expect(throws: TokenError(.pinIncorrect, "")) { try unblock(desk, "00000000") }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try unblock(desk, "00000000") }
        #expect(throws: TokenError(.pinIncorrect, "")) { try unblock(desk, "00000001") }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try unblock(desk, "00000000") }
        #expect(desk.card.unblockingTriesLeft == 1)
    }

    @Test(arguments: all)
    func aKeyOfSevenDigitsIsSentWhereTheCardMayHaveOne(profile: CardProfile) throws {
        let mayHaveOne = ![.generic, .dualCAC].contains(profile)
        let desk = try desk(profile)
        let expected = TokenError(mayHaveOne ? .pinIncorrect : .pinFormat, "")
        #expect(throws: expected) { try desk.unblock("1234567", newPIN: "654321") }
        #expect(throws: expected) { try desk.change(.unblockingKey, from: "7654321", to: "87654321", .spend) }
        #expect(desk.card.unblockingTriesLeft == (mayHaveOne ? 1 : 3))
        guard mayHaveOne else { return }
        try desk.change(.unblockingKey, from: "12345678", to: "1234567", .spend)
        try desk.unblock("1234567", newPIN: "654321")
        try desk.verify("654321")
    }
}
