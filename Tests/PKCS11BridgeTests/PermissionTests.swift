import CCryptoki
import Glibc
import HostAPI
import KeychainHost
import KeychainModel
import Platform
import SecureBytes
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// A program uses a key with a PIN that another program gave only where a person allows it.
@Suite struct PermissionTests {
    private static let digest = [UInt8](repeating: 7, count: 32)
    private static let ecdsa = MechanismRequest(CKM_ECDSA)

    private let cards = SharedCards(askingForPermission: true)
    private let decisions = AccessDecisions()
    private let reader: VirtualReader
    private let first: TestModule

    /// A program has given the PIN.
    init() throws {
        reader = VirtualReader(card: try Cards.plain())
        first = try TestModule(reader, cards: cards)
        _ = try first.session(loggedIn: true)
    }

    /// Another program, here of this process, about which a person is asked.
    private func program(_ person: any Prompter, prompter: (any Prompter)? = nil) throws -> TestModule {
        let program = AskingProgram(ProcessHandle(getpid()))
        return try TestModule(
            reader, promptPolicy: PromptPolicy(prompter: prompter), sharing: first, cards: cards,
            permission: Permission(decisions, of: program, asking: person))
    }

    private func session(_ module: TestModule, pin: String? = nil) throws -> CK_SESSION_HANDLE {
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: pin.map { .of($0) })
        return session
    }

    private func sign(_ module: TestModule, _ session: CK_SESSION_HANDLE, id: UInt8 = 1) -> CK_RV {
        returned { _ = try module.sign(session, Self.ecdsa, module.key(session, [id]), Self.digest) }
    }

    @Test func whatIsAllowedOnceIsAskedAgainAndWhatIsAlwaysAllowedIsNot() throws {
        let person = Decides(.allowOnce, .allowAlways)
        let module = try program(person)
        let session = try session(module)
        #expect(person.questions.isEmpty, "a login uses no key")
        for count in [1, 2, 2, 2] {
            #expect(sign(module, session) == CKR_OK)
            #expect(person.questions.count == count)
        }
        let question = try #require(person.questions.first)
        #expect(question.use == .sign)
        #expect(question.item.hasPrefix("key 9A of "))
        #expect(reader.pinsSent == 1)
        // Another client of the same program.
        let other = try program(Decides())
        #expect(try sign(other, self.session(other)) == CKR_OK)
        // Another key is another question.
        #expect(sign(module, session, id: 4) == CKR_OK, "9E needs no PIN")
        #expect(person.questions.count == 2)
    }

    @Test func aDenialCancelsAndSendsNothing() throws {
        let person = Decides(.deny)
        let module = try program(person)
        let session = try session(module)
        _ = try module.key(session, [1])
        reader.clearLog()
        #expect(sign(module, session) == CKR_FUNCTION_CANCELED)
        #expect(reader.log.isEmpty)
        #expect(person.questions.count == 1)
    }

    @Test func nobodyToAskIsARefusalAtOnce() throws {
        let module = try program(NoPrompter())
        #expect(try sign(module, session(module)) == CKR_FUNCTION_CANCELED)
    }

    /// The person typed it there.
    @Test func aProgramThatGivesThePINItselfIsNotAskedAbout() throws {
        let person = Decides()
        let module = try program(person)
        let session = try session(module, pin: "123456")
        for _ in 1...2 { #expect(sign(module, session) == CKR_OK) }
        #expect(person.questions.isEmpty)
    }

    @Test func aProgramWithAWrongPINIsAskedAbout() throws {
        let person = Decides(.deny)
        let module = try program(person)
        #expect(returned { _ = try session(module, pin: "654321") } == CKR_PIN_INCORRECT)
        #expect(try sign(module, session(module)) == CKR_FUNCTION_CANCELED)
        #expect(person.questions.count == 1)
    }

    /// The login that another program's PIN made does not turn into this program's own when the card forgets the PIN.
    @Test func aCardThatForgotThePINChangesNothing() throws {
        let person = Decides(.allowOnce, .deny)
        let module = try program(person)
        let session = try session(module)
        #expect(sign(module, session) == CKR_OK)
        reader.resetByAnotherClient()
        #expect(sign(module, session) == CKR_FUNCTION_CANCELED)
        #expect(person.questions.count == 2)
    }

    /// The PIN is asked for by the question for it, and not by a permission.
    @Test func aKeyThatAsksEachTimeNeedsThePINAndNoPermission() throws {
        let person = Decides()
        let module = try program(person, prompter: TypesInTurn("123456", "123456"))
        let session = try session(module)
        try module.cryptoki.signInit(session, Self.ecdsa, key: module.key(session, [2]))
        try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: nil)
        _ = try bytes(of: module.cryptoki.sign(session, Self.digest, .bytes(1_024)))
        #expect(person.questions.isEmpty)
    }
}
