import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// Successive programs, none of which reads the card's identity.
@Suite struct RejectedPINMemoryTests {
    private let desk: Desk
    private let memory = VolatileTokenMemory()

    init() throws {
        desk = try Desk()
    }

    private var program: Desk { desk.anotherProgram(rejectedPINs: memory) }

    @Test func whatOneProgramHadRefusedTheNextDoesNotSend() throws {
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("111111") }
        #expect(memory.all().count == 1)
        let sent = desk.pinsSent
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try program.verify("111111") }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) {
            _ = try program.perform("9A", .sign(.ecdsa(nil), [1]), pin: "111111")
        }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try program.change(from: "111111", to: "222222") }
        #expect(desk.pinsSent == sent)
        #expect(try program.status().triesLeft == 2)
        try program.verify()
    }

    /// The right PIN gives a card all its tries back, also one that does not tell them.
    @Test(arguments: [CardProfile.dualCAC, .oberthurVA])
    func theTriesBeforeTheRightPINAreNotBelievedAfterIt(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        var program: Desk { desk.anotherProgram(rejectedPINs: memory) }
        for wrong in ["111111", "222222"] as [StaticString] {
            #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify(wrong) }
        }
        #expect(throws: TokenError(.pinLastTry, "")) { try program.verify() }
        // Who asks a person tells how many tries are believed to be left.
        let believed = try program.status()
        #expect(believed.triesLeft == 1)
        #expect(believed.areTriesBelieved)
        try program.verify("123456", .spend)
        try program.verify()
        #expect(try program.status().triesLeft == nil)
        _ = try program.perform("9C", .sign(.ecdsa(nil), [1]), pin: "123456")
        let sent = desk.pinsSent
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try program.verify("111111") }
        #expect(desk.pinsSent == sent)
    }

    /// Blank cards of a kind have one identifier.
    @Test func aPINThatAnotherBlankCardRefusedIsSentWhereTheLastTryMayBeSpent() throws {
        func blank() throws -> Desk { try Desk(IssuedCard(profile: .silentCounter, keys: [:], guid: nil)) }
        let (first, second) = (try blank(), try blank())
        try second.change(from: "123456", to: "111111")
        try second.logOut()
        #expect(throws: TokenError(.pinIncorrect, "")) {
            try first.anotherProgram(rejectedPINs: memory).verify("111111")
        }
        let sent = second.pinsSent
        #expect(throws: TokenError(.pinKnownIncorrect, "")) {
            try second.anotherProgram(rejectedPINs: memory).verify("111111")
        }
        #expect(second.pinsSent == sent)
        try second.anotherProgram(rejectedPINs: memory).verify("111111", .spend)
    }

    /// A program that presented the right PIN has to read the tries left as any other, because other programs may have spent some.
    @Test(arguments: [CardProfile.yubiKey57, .yubiKey43, .generic, .genericT0], [false, true])
    func theLastTryIsKeptByAProgramThatHadTheRightPINBefore(profile: CardProfile, isPresented: Bool) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        try desk.verify()
        let other = desk.anotherProgram()
        for wrong in ["111111", "222222"] as [StaticString] {
            #expect(throws: TokenError(.pinIncorrect, "")) { try other.verify(wrong) }
        }
        // The wrong PINs ended the card's verified state, and this program does not know of that.
        if !isPresented { try? desk.logOut() }
        let sent = desk.pinsSent
        #expect(throws: TokenError(.pinLastTry, "")) { try desk.verify("333333") }
        #expect(throws: TokenError(.pinLastTry, "")) {
            _ = try desk.perform("9C", .sign(.ecdsa(nil), [1]), pin: "333333")
        }
        #expect(throws: TokenError(.pinLastTry, "")) { try desk.change(from: "333333", to: "444444") }
        #expect(desk.pinsSent == sent)
        try desk.verify("123456", .spend)
    }

    @Test(arguments: [CardProfile.yubiKey57, .generic])
    func whatAnotherProgramHadRefusedAProgramThatIsLoggedInDoesNotSend(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        let (first, second) = (
            desk.anotherProgram(rejectedPINs: memory), desk.anotherProgram(rejectedPINs: memory)
        )
        try first.verify()
        #expect(throws: TokenError(.pinIncorrect, "")) { try second.verify("111111") }
        let sent = desk.pinsSent
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try first.verify("111111") }
        #expect(desk.pinsSent == sent)
        try first.verify()
    }

    @Test func theSamePINAgainCostsNoQuestion() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57))
        let digest = [UInt8](repeating: 1, count: 32)
        _ = try desk.perform("9C", .sign(.ecdsa(nil), digest), pin: "123456")
        desk.forgetCommands()
        _ = try desk.perform("9C", .sign(.ecdsa(nil), digest), pin: "123456")
        #expect(desk.commands == [0xA4, 0x20, 0x87])
    }

    @Test func theRightPINCostsNoCommandMoreForIt() throws {
        desk.forgetCommands()
        try program.verify()
        let cost = desk.commands
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("111111") }
        desk.forgetCommands()
        try program.verify()
        #expect(desk.commands == cost)
    }

    @Test func aWrongValueThatBecameRightIsTakenAfterAnotherMistake() throws {
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("135790") }
        try program.change(from: "123456", to: "135790")
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("111222") }
        try program.verify("135790")
    }

    /// Changes by other programs show only in the card's counter.
    @Test func aWrongValueThatAnotherMadeRightIsTakenAfterAMistakeHere() throws {
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("135790") }
        try desk.change(from: "123456", to: "135790")
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("111222") }
        try program.verify("135790")
    }

    @Test func whatWasWrongBeforeTheCardWasUnblockedMayBeTheNewPIN() throws {
        for (wrong, lastTry) in [("135790", .keep), ("135791", .keep), ("135792", .spend)] as [(StaticString, LastTry)]
        {
            #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify(wrong, lastTry) }
        }
        try program.unblock("12345678", newPIN: "135790")
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("111222") }
        try program.verify("135790")
    }

    /// The first program keeps running, as an agent does.
    @Test func aProgramTakesWhatItHadRefusedOnceTheCardShowsThatTheRightOneWasPresented() throws {
        let agent = program
        #expect(throws: TokenError(.pinIncorrect, "")) { try agent.verify("135790") }
        try agent.verify()
        try program.change(from: "123456", to: "135790")
        try agent.verify("135790")
    }

    @Test func whatAnotherCardRefusedMayBeRightHere() throws {
        let other = try Desk(IssuedCard())
        #expect(throws: TokenError(.pinIncorrect, "")) {
            try other.anotherProgram(rejectedPINs: memory).verify("654321")
        }
        try desk.change(from: "123456", to: "654321")
        try program.verify("654321")
    }
}
