import HostAPI
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// A context's own credentials come before any question. Keychain semantics 3.3 and 4.4.
@Suite struct AuthenticationContextTests {
    private func context(pin: String, _ prompter: any Prompter = NoPrompter()) -> AuthenticationContext {
        let context = AuthenticationContext(prompter: prompter)
        context.setCredential(.of(pin), .pin)
        return context
    }

    @Test func aPINInTheContextServesEveryKeyWithoutAQuestion() throws {
        let desk = try Desk()
        let context = context(pin: "123456")
        // Case 85 without a question: 9C gets the PIN each time.
        for name in ["9A", "9C", "9C"] { _ = try desk.key(name).sign(context) }
        #expect(desk.pinsSent == 3)
        #expect(context.hasCredential(.pin))
    }

    @Test func whereThePINWasPresentedNoTryIsSpentOnTheContexts() throws {
        let card = try TestCard().make()
        let desk = Desk(VirtualReader(card: card))
        _ = try desk.key("9A").sign(context(pin: "123456"))
        let wrong = context(pin: "000000")
        _ = try desk.key("9A").sign(wrong)
        #expect(desk.pinsSent == 1 && card.triesLeft == 3)
        #expect(wrong.hasCredential(.pin))
        // A key that needs the PIN each time gets the context's.
        #expect(throws: KeychainError(.authFailed)) { try desk.key("9C").sign(wrong) }
        #expect(desk.pinsSent == 2 && card.triesLeft == 2)
    }

    @Test func aRefusedPINIsSentOnceAndForgotten() throws {
        let card = try TestCard().make()
        let desk = Desk(VirtualReader(card: card))
        let context = context(pin: "000000")
        let error = #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context) }
        #expect(error?.triesLeft == 2)
        #expect(!context.hasCredential(.pin))
        desk.reader.clearLog()
        #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context) }
        #expect(desk.pinsSent == 0)
        #expect(card.triesLeft == 2)
        context.removeCredential(.pin)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try desk.key("9A").sign(context) }
    }

    @Test func afterARefusedPINNobodyIsAsked() throws {
        let desk = try Desk()
        let person = TypesInTurn("123456")
        for pin in ["000000", "12"] {
            let context = context(pin: pin, person)
            for _ in 1...2 {
                #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context) }
            }
            #expect(throws: KeychainError(.authFailed)) {
                try desk.key("9A").askAhead(use: "sign", authentication: context)
            }
        }
        #expect(person.requests.isEmpty)
        #expect(desk.pinsSent == 1)
        // Another keychain is opened by a password, which the context has not given.
        let local = try TestKeychain()
        local.keychain.lock()
        let refused = context(pin: "000000", TypesInTurn("correct"))
        _ = try? desk.key("9A").sign(refused)
        try local.keychain.unlock(use: "read", authentication: refused)
    }

    @Test func copiesOfAContextShareWhatIsForgotten() throws {
        let original = context(pin: "000000")
        let copy = original
        _ = try? Desk().key("9A").sign(copy)
        #expect(!original.hasCredential(.pin))
        #expect(!original.withoutQuestions().hasCredential(.pin))
    }

    // Case 93
    @Test func aContextsPINDoesNotSpendTheLastTryUnattended() throws {
        let card = try TestCard(pinTries: 1).make()
        let desk = Desk(VirtualReader(card: card))
        let context = context(pin: "123456")
        let error = #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context) }
        #expect(error?.triesLeft == 1)
        #expect(desk.pinsSent == 0)
        #expect(card.triesLeft == 1)
        // The PIN was not refused, so the context keeps it for a person who agrees to the last try.
        #expect(context.hasCredential(.pin))
        let blocked = try Desk(TestCard(pinTries: 0))
        let refusal = #expect(throws: KeychainError(.authFailed)) { try blocked.key("9A").sign(context) }
        #expect(refusal?.reason.contains("blocked") == true)
        #expect(blocked.pinsSent == 0)
        #expect(try blocked.items(.certificate).count == 4)
    }

    // Case 91
    @Test func whereAskingIsForbiddenNothingIsSentAndNobodyAsked() throws {
        let desk = try Desk()
        let key = try desk.key("9A")
        let person = TypesInTurn("123456")
        desk.reader.clearLog()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try key.sign(AuthenticationContext(prompter: person).withoutQuestions())
        }
        #expect(person.requests.isEmpty)
        #expect(desk.reader.log.isEmpty)
        // A credential of the context needs no interaction.
        _ = try key.sign(context(pin: "123456", person).withoutQuestions())
        #expect(person.requests.isEmpty)
    }

    @Test func `A context without questions names its prompter's other ways`() {
        for prompter in [NoPrompter(), NoPrompter(alternative: "use -x")] {
            let restricted = AuthenticationContext(prompter: prompter).withoutQuestions()
            #expect(restricted.prompter.alternative == prompter.alternative)
        }
    }

    @Test func aPasswordInTheContextUnlocksAFile() throws {
        let local = try TestKeychain()
        try local.add(try TestKey.named("anna").privateKey, [.label: "mine"])
        local.keychain.lock()
        let context = AuthenticationContext()
        context.setCredential(.of("correct"), .password)
        let key = try #require(try local.keychain.keys(.name("mine")).first)
        _ = try key.sign(context)
        #expect(!local.keychain.isLocked)
    }

    // Case 67
    @Test func aWrongPasswordInTheContextIsTriedOnce() throws {
        let local = try TestKeychain()
        local.keychain.lock()
        let context = AuthenticationContext()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try local.keychain.unlock(use: "read", authentication: context)
        }
        context.setCredential(.of("wrong"), .password)
        #expect(throws: KeychainError(.authFailed)) { try local.keychain.unlock(use: "read", authentication: context) }
        #expect(!context.hasCredential(.password))
        #expect(local.keychain.isLocked)
        let person = TypesInTurn("correct")
        let asking = AuthenticationContext(prompter: person)
        asking.setCredential(.of("wrong"), .password)
        for _ in 1...2 {
            #expect(throws: KeychainError(.authFailed)) {
                try local.keychain.unlock(use: "read", authentication: asking)
            }
        }
        #expect(person.requests.isEmpty)
        asking.removeCredential(.password)
        try local.keychain.unlock(use: "read", authentication: asking)
    }

    @Test func aCredentialOfOneKindIsNoneOfAnother() throws {
        let context = AuthenticationContext()
        context.setCredential(.of("123456"), .password)
        #expect(!context.hasCredential(.pin) && !context.hasCredential(.applicationPassword))
        #expect(throws: KeychainError(.interactionNotAllowed)) { try Desk().key("9A").sign(context) }
        context.setCredential(.of("x"), .applicationPassword)
        context.removeCredential(.password)
        #expect(!context.hasCredential(.password) && context.hasCredential(.applicationPassword))
    }

    // Case 97
    @Test func whatOneSessionVerifiedDoesNotServeAnother() throws {
        let a = try Desk()
        let b = Desk(a.reader)
        let (first, second) = (TypesInTurn("123456", "123456"), TypesInTurn("123456"))
        _ = try a.key("9A").sign(AuthenticationContext(prompter: first))
        _ = try b.key("9A").sign(AuthenticationContext(prompter: second))
        #expect(first.requests.count == 1 && second.requests.count == 1)
        try a.token.reset()
        _ = try a.key("9A").sign(AuthenticationContext(prompter: first))
        #expect(first.requests.count == 2)
    }

    @Test func aCardIsUnlockedWhileThisSessionsPINCounts() throws {
        let desk = try Desk()
        #expect(try !desk.token.isUnlocked())
        try desk.token.verifyPIN(authentication: .owner)
        #expect(try desk.token.isUnlocked())
        // A PIN counts only in the session that presented it, and not after another program has reset the card.
        #expect(try !Desk(desk.reader).token.isUnlocked())
        desk.reader.resetByAnotherClient()
        #expect(try !desk.token.isUnlocked())
        try desk.token.verifyPIN(authentication: .owner)
        try desk.token.reset()
        #expect(try !desk.token.isUnlocked())
        let empty = Desk(VirtualReader()).token
        #expect(throws: KeychainError(.noSuchKeychain)) { try empty.isUnlocked() }
        #expect(throws: KeychainError(.noSuchKeychain)) { try empty.reset() }
    }
}
