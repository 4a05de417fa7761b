import CCryptoki
import Glibc
import HostAPI
import KeychainHost
import KeychainModel
import Platform
import SecureBytes
import SystemCrypto
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
            permission: Permission(decisions, of: program, asking: person, isForRequests: false))
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
        let person = Decides(.allowOnce, .allowAlways, .allowAlways)
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
        for _ in 1...2 { #expect(sign(module, session, id: 4) == CKR_OK) }
        #expect(person.questions.map(\.use) == [.sign, .sign, .sign])
        #expect(sign(other, try other.session(), id: 4) == CKR_OK)
    }

    /// Any program could use it otherwise, also one that nobody has logged in for.
    @Test func aKeyWithoutAPINIsAskedAboutToo() throws {
        let person = Decides(.allowOnce, .deny)
        let module = try program(person)
        let session = try module.session()
        cards.forgetPINs()
        #expect(sign(module, session, id: 4) == CKR_OK)
        let commands = reader.log.count
        #expect(sign(module, session, id: 4) == CKR_FUNCTION_CANCELED)
        #expect(reader.log.count == commands)
        #expect(person.questions.allSatisfy { $0.item.hasPrefix("key 9E of ") })
        #expect(person.questions.count == 2)
        let silent = try program(NoPrompter())
        #expect(sign(silent, try silent.session(), id: 4) == CKR_FUNCTION_CANCELED)
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
        // A login without a PIN would be worth nothing, and is not offered.
        #expect(try module.cryptoki.tokenInfo(module.slots[0]).flags & CKF_PROTECTED_AUTHENTICATION_PATH == 0)
        #expect(returned { _ = try self.session(module) } == CKR_ARGUMENTS_BAD)
        let session = try self.session(module, pin: "123456")
        #expect(sign(module, session) == CKR_OK)
    }

    @Test func whoCanBeAskedIsOfferedALoginWithoutAPIN() throws {
        let module = try program(Decides())
        #expect(try module.cryptoki.tokenInfo(module.slots[0]).flags & CKF_PROTECTED_AUTHENTICATION_PATH != 0)
    }

    /// The person typed it there.
    @Test func aProgramThatGivesThePINItselfIsNotAskedAbout() throws {
        let person = Decides()
        let module = try program(person)
        let session = try session(module, pin: "123456")
        for id: UInt8 in [1, 1, 4] { #expect(sign(module, session, id: id) == CKR_OK) }
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

    /// A client of the host's face says of itself that a login for this one use came before.
    @Test(arguments: [UInt8(1), 2]) func aClaimedAuthorizationIsNone(id: UInt8) throws {
        let person = Decides()
        let module = try program(person)
        let session = try session(module)
        _ = try module.key(session, [id])
        #expect(throws: KeychainError.self) {
            let reference = try #require(
                try module.host.tokenItems(
                    in: reader.name, TokenItemSelection([.privateKeys], cryptokiID: [id]),
                    RequestContext(questions: .never, place: reader.name)
                ).found.first { $0.isPrivateKey }
            ).reference
            var request = KeyRequest(.sign(Self.digest), .signature(.ecdsa(.sha256)), with: reference)
            request.isAuthorized = true
            _ = try module.host.perform(request, RequestContext(questions: .never, place: reader.name))
        }
        #expect(person.questions.count == (id == 1 ? 1 : 0))
        #expect(reader.pinsSent == 1)
    }

    @Test func aLockTakesThePINFromAllLogins() throws {
        let module = try program(Decides(.allowAlways))
        let session = try session(module)
        #expect(sign(module, session) == CKR_OK)
        cards.forgetPINs()
        #expect(!cards.havePIN)
        #expect(sign(module, session) == CKR_KEY_HANDLE_INVALID)
        #expect(!cards.havePIN, "nothing gives it back")
        #expect(reader.pinsSent == 1)
    }

    /// Printed Information needs the PIN, and another program's is none.
    @Test func dataThatNeedsThePINIsNotReadWithThatOfAnotherProgram() throws {
        let printed = (CKA_OBJECT_ID, [UInt8](hex: "060A60864801650307023001"))
        let module = try program(Decides())
        let session = try session(module)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA)), printed).isEmpty)
        let own = try first.session()
        #expect(try first.find(own, (CKA_CLASS, Encoded.ulong(CKO_DATA)), printed).count == 1)
        #expect(reader.pinsSent == 1)
    }

    /// Presented again, the right PIN would give the tries back to whoever guesses.
    @Test func guessesOfAnotherProgramForgetThePIN() throws {
        let module = try program(Decides())
        let session = try session(module)
        for guess in ["111111", "222222"] {
            #expect(
                returned { try module.cryptoki.setPIN(session, from: .of(guess), to: .of("333333")) } != CKR_OK)
        }
        reader.resetByAnotherClient()
        #expect(sign(first, try first.session()) != CKR_OK)
        #expect(reader.pinsSent == 3, "the login's and two guesses")
    }

    /// The time of the PIN ends also where the client that gave it has ended.
    @Test func thePINsTimeOutlastsItsGiver() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let cards = SharedCards()
        let first = try TestModule(reader, cards: cards)
        try first.process.preferences.setPINTimeout(1)
        let other = try TestModule(reader, sharing: first, cards: cards)
        _ = try other.session()
        _ = try first.session(loggedIn: true)
        first.cryptoki.finalize()
        let commands = reader.log.count
        #expect(eventually { !cards.havePIN })
        #expect(eventually { reader.log.count > commands }, "the card is told")
    }
}
