import CCryptoki
import HostAPI
import KeychainModel
import SecureBytes
import Synchronization
import TestSupport
import Testing
import VirtualCard

@testable import PKCS11Bridge

/// A person is told to touch the card for a program that asks for its PIN itself, unless its user wants no interaction.
@Suite struct TouchTests {
    /// A person who touches the card when told to.
    private final class Toucher: Prompter {
        let card: VirtualCard
        private let state = Mutex((messages: [String](), isOver: false))
        var messages: [String] { state.withLock { $0.messages } }
        var isOver: Bool { state.withLock { $0.isOver } }
        var canAsk: Bool { true }
        var canAskAgain: Bool { true }

        init(_ card: VirtualCard) { self.card = card }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.userCanceled) }
        func confirm(_ question: String) throws(KeychainError) -> Bool { false }

        func show(_ message: String) -> (@Sendable () -> Void)? {
            state.withLock { $0.messages.append(message) }
            card.touch()
            return { self.state.withLock { $0.isOver = true } }
        }
    }

    private func signing(_ variable: String?, isTouched: Bool) throws -> Toucher {
        var builder = VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256)
        builder.keys[.authentication]?.touchPolicy = .always
        let card = try builder.build()
        let person = Toucher(card)
        let policy = PromptPolicy(variable: variable, program: "firefox", prompter: person)
        let module = try TestModule(VirtualReader(card: card), promptPolicy: policy)
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        if isTouched { card.touch() }
        #expect(
            try module.sign(session, MechanismRequest(CKM_ECDSA), key, [UInt8](repeating: 1, count: 32)).count == 64)
        return person
    }

    @Test(arguments: [nil, "ssh"]) func aPersonIsToldUntilTheCardHasAnswered(variable: String?) throws {
        let person = try signing(variable, isTouched: false)
        #expect(person.messages.count == 1)
        #expect(person.messages.first?.hasPrefix("Touch the card now") == true)
        let isOver = eventually { person.isOver }
        #expect(isOver)
    }

    @Test func nothingIsShownForAProgramWhoseUserWantsNoQuestions() throws {
        #expect(try signing("never", isTouched: true).messages.isEmpty)
    }
}
