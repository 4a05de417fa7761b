import HostAPI
import PIVDriver
import SecureBytes
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

@Suite struct PINChangeTests {
    private func context(_ prompter: any Prompter) -> AuthenticationContext {
        AuthenticationContext(prompter: prompter)
    }

    /// A card that tells no tries of its unblocking key, which was reset after the last of them was spent in another program.
    @Test func aKeyThatIsBelievedToBeBlockedIsAskedForWhereTheLastTryIsAllowed() throws {
        let memory = VolatileTokenMemory()
        func token() throws -> TokenKeychain {
            let reader = VirtualReader(card: try TestCard(profile: .generic).make())
            return TokenKeychain(TokenSlot(reader: reader, drivers: [PIVDriver(rejectedPINs: memory)]))
        }
        func lenient(_ prompter: any Prompter) -> AuthenticationContext {
            AuthenticationContext(prompter: prompter, lastTry: .spend)
        }
        let former = try token()
        for wrong in ["11111111", "22222222", "33333333"] {
            #expect(throws: KeychainError(.authFailed)) {
                try former.unblock(authentication: lenient(AnswersByScript(wrong, "654321")))
            }
        }
        let person = TypesInTurn("12345678", "654321", "654321")
        let card = try token()
        let error = #expect(throws: KeychainError(.authFailed)) {
            try card.unblock(authentication: context(person))
        }
        #expect(error?.description.contains("since its last try was refused, pass --last-try") == true)
        #expect(person.requests.isEmpty)
        try card.unblock(authentication: lenient(person))
        #expect(person.requests.first?.triesLeft == nil)
        try card.verifyPIN(authentication: context(AnswersByScript("654321")))
    }

    private func verifies(_ desk: Desk, _ pin: String) -> Bool {
        (try? Desk(desk.reader).token.verifyPIN(authentication: context(AnswersByScript(pin)))) != nil
    }

    @Test func thePINIsVerified() throws {
        let desk = try Desk()
        let person = TypesInTurn("000000", "123456")
        try desk.token.verifyPIN(authentication: context(person))
        #expect(person.requests.map(\.purpose) == [.pin, .pin])
        #expect(try desk.token.status(of: .pin).isVerified)
        _ = try desk.key("9A").sign(.nobody)
    }

    @Test func thePINIsChanged() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456", "654321")
        try desk.token.change(.pin, authentication: context(person))
        #expect(person.requests.map(\.purpose) == [.pin, .newPIN])
        #expect(person.requests.map(\.wantsRepetition) == [false, true])
        #expect(!verifies(desk, "123456"))
        #expect(verifies(desk, "654321"))
    }

    @Test func aWrongOldPINIsAskedForAgainAndTheNewOneKept() throws {
        let desk = try Desk()
        let person = TypesInTurn("000000", "654321", "123456")
        try desk.token.change(.pin, authentication: context(person))
        #expect(person.requests.map(\.purpose) == [.pin, .newPIN, .pin])
        #expect(verifies(desk, "654321"))
    }

    @Test func `A new PIN of the wrong form is asked for again at its own field`() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456", "12", "654321")
        try desk.token.change(.pin, authentication: context(person))
        #expect(person.requests.map(\.purpose) == [.pin, .newPIN, .newPIN])
        #expect(person.requests.last?.failure == "a PIN has six to eight characters; nothing was sent to the card")
        #expect(desk.pinsSent == 1)
        #expect(verifies(desk, "654321"))
    }

    @Test func theUnblockingKeyIsChanged() throws {
        let desk = try Desk(TestCard(pinTries: 0))
        try desk.token.change(.unblockingKey, authentication: context(TypesInTurn("12345678", "87654321")))
        let person = TypesInTurn("87654321", "654321")
        try desk.token.unblock(authentication: context(person))
        #expect(person.requests.map(\.purpose) == [.unblockingKey, .newPIN])
        #expect(verifies(desk, "654321"))
    }

    @Test func `An old PIN of the wrong form is asked for again at its own field`() throws {
        let desk = try Desk()
        let person = TypesInTurn("12", "123456", "654321")
        try desk.token.change(.pin, authentication: context(person))
        #expect(person.requests.map(\.purpose) == [.pin, .pin, .newPIN])
        #expect(person.requests[1].failure == "a PIN has six to eight characters; nothing was sent to the card")
        #expect(desk.pinsSent == 1)
        #expect(verifies(desk, "654321"))
    }

    @Test func `An unblocking key of the wrong form is asked for again at its own field`() throws {
        let desk = try Desk(TestCard(pinTries: 0))
        let person = TypesInTurn("12", "12345678", "654321")
        try desk.token.unblock(authentication: context(person))
        #expect(person.requests.map(\.purpose) == [.unblockingKey, .unblockingKey, .newPIN])
        #expect(desk.pinsSent == 1)
    }

    @Test func `Unblocking asks for a new PIN of the wrong form again`() throws {
        let desk = try Desk(TestCard(pinTries: 0))
        let person = TypesInTurn("12345678", "1", "654321")
        try desk.token.unblock(authentication: context(person))
        #expect(person.requests.map(\.purpose) == [.unblockingKey, .newPIN, .newPIN])
        #expect(desk.pinsSent == 1)
    }

    @Test func aWrongUnblockingKeyCostsOneTryOfAScript() throws {
        let desk = try Desk(TestCard(pinTries: 0))
        let script = AnswersByScript("00000000", "654321", "12345678")
        #expect(throws: KeychainError(.authFailed)) { try desk.token.unblock(authentication: context(script)) }
        #expect(script.timesAsked == 2)
        #expect(desk.pinsSent == 1)
    }

    @Test func whereNobodyCanBeAskedNothingIsSent() throws {
        let desk = try Desk()
        _ = try desk.token.identity()
        desk.reader.clearLog()
        let denied = KeychainError(.interactionNotAllowed)
        #expect(throws: denied) { try desk.token.verifyPIN(authentication: .nobody) }
        #expect(throws: denied) { try desk.token.change(.pin, authentication: .nobody) }
        #expect(throws: denied) { try desk.token.change(.unblockingKey, authentication: .nobody) }
        #expect(throws: denied) { try desk.token.unblock(authentication: .nobody) }
        #expect(desk.reader.log.isEmpty)
    }

    @Test func aBlockedPINIsNotChanged() throws {
        let desk = try Desk(TestCard(pinTries: 0))
        let person = TypesInTurn("123456", "654321", agrees: true)
        #expect(throws: KeychainError(.authFailed)) { try desk.token.change(.pin, authentication: context(person)) }
        #expect(person.requests.isEmpty)
        #expect(desk.pinsSent == 0)
    }

    @Test func loggingOutTakesThePINBack() throws {
        let desk = try Desk()
        _ = try desk.key("9A").sign(.owner)
        try desk.token.logOut()
        #expect(throws: KeychainError(.interactionNotAllowed)) { try desk.key("9A").sign(.nobody) }
        #expect(try !desk.token.status(of: .pin).isVerified)
    }

    @Test func theStatusTellsWithoutSpendingATry() throws {
        let desk = try Desk(TestCard(profile: .yubiKey57, pinTries: 2))
        let status = try desk.token.status(of: .pin)
        #expect(status.triesLeft == 2)
        #expect(try desk.token.status(of: .unblockingKey).triesLeft == 3)
        #expect(desk.pinsSent == 0)
        #expect(try !desk.token.facts().isEmpty)
    }
}
