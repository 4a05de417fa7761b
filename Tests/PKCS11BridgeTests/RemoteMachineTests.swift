import CCryptoki
import Glibc
import HostAPI
import KeychainHost
import KeychainModel
import Platform
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// A module on another machine: each use is asked about, and nothing is given or changed from there.
@Suite struct RemoteMachineTests {
    private static let digest = [UInt8](repeating: 7, count: 32)
    private static let ecdsa = MechanismRequest(CKM_ECDSA)

    private static let build7 = RemoteMachine(id: "SHA256:1", named: "build7")

    private let cards = SharedCards(askingForPermission: true)
    private let decisions = AccessDecisions()
    private let reader: VirtualReader
    private let local: TestModule

    init() throws {
        reader = VirtualReader(card: try Cards.plain())
        local = try TestModule(reader, cards: cards)
    }

    /// - Parameters:
    ///   - person: decides.
    ///   - machine: the machine that has proved to be at the other end; nil for none.
    ///   - typist: types PINs.
    private func remote(
        _ person: any Prompter, from machine: RemoteMachine? = build7,
        typing typist: any Prompter = TypesInTurn("123456")
    ) throws -> TestModule {
        let permission = Permission(
            decisions, of: AskingProgram(ProcessHandle(getpid())),
            for: AskingMachine({ machine }, otherwiseNamed: "the other end of 'ssh build7'"), asking: person,
            isForRequests: false)
        return try TestModule(
            reader, promptPolicy: PromptPolicy(forProgramsOn: "build7", prompter: typist), sharing: local,
            cards: cards, askingEachTime: true, permission: permission)
    }

    private func sign(_ module: TestModule, _ session: CK_SESSION_HANDLE, id: UInt8 = 1) -> CK_RV {
        returned { _ = try module.sign(session, Self.ecdsa, module.key(session, [id]), Self.digest) }
    }

    @Test func eachUseIsAskedAboutAlsoAfterAPINForTheMachine() throws {
        let person = Decides(.allowOnce, .allowOnce, .deny, .allowOnce)
        let module = try remote(person, from: nil)
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: nil)
        #expect(reader.pinsSent == 1)
        #expect([sign(module, session), sign(module, session)] == [CKR_OK, CKR_OK])
        #expect(sign(module, session) == CKR_FUNCTION_CANCELED)
        // A key without a PIN.
        #expect(sign(module, session, id: 4) == CKR_OK)
        #expect(person.questions.count == 4)
        for question in person.questions {
            #expect(question.machine == "the other end of 'ssh build7'" && !question.offersAlways)
        }
        #expect(reader.pinsSent == 1)
        // The PIN that was typed for the machine is nobody's: another program is asked about as well.
        let other = Decides(.deny)
        let program = try TestModule(
            reader, promptPolicy: PromptPolicy(prompter: NoPrompter()), sharing: local, cards: cards,
            permission: Permission(
                decisions, of: AskingProgram(ProcessHandle(getpid())), asking: other, isForRequests: false))
        #expect(try sign(program, program.session()) != CKR_OK)
        let loggedIn = try program.session()
        try? program.cryptoki.logIn(loggedIn, CKU_USER, pin: nil)
        #expect(sign(program, loggedIn) != CKR_OK)
    }

    @Test func whatIsAlwaysAllowedIsTheMachines() throws {
        _ = try local.session(loggedIn: true)
        let person = Decides(.allowAlways, .deny, .deny)
        let module = try remote(person)
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: nil)
        for _ in 1...3 { #expect(sign(module, session) == CKR_OK) }
        #expect(person.questions.map(\.machine) == ["build7"] && person.questions[0].offersAlways)
        #expect(sign(module, session, id: 4) == CKR_FUNCTION_CANCELED, "another key is another question")
        // Neither another machine, nor one that has proved nothing, has the allowance.
        for machine in [RemoteMachine(id: "SHA256:2", named: "build7"), nil] {
            let other = Decides(.allowOnce)
            let module = try remote(other, from: machine)
            let session = try module.session()
            try module.cryptoki.logIn(session, CKU_USER, pin: nil)
            #expect(sign(module, session) == CKR_OK)
            #expect(other.questions.count == 1)
        }
        #expect(reader.pinsSent == 1)
    }

    @Test func aPINIsNotTakenFromThereAndSpendsNoTry() throws {
        let module = try remote(Decides())
        let session = try module.session()
        let commands = reader.log.count
        for user in [CKU_USER, CKU_CONTEXT_SPECIFIC] {
            #expect(
                returned { try module.cryptoki.logIn(session, user, pin: .of("123456")) } == CKR_ARGUMENTS_BAD)
        }
        #expect(returned { try module.cryptoki.logIn(session, CKU_SO, pin: nil) } == CKR_TOKEN_WRITE_PROTECTED)
        #expect(reader.log.count == commands)
        #expect(reader.pinsSent == 0)
        let flags = try module.cryptoki.tokenInfo(module.slots[0]).flags
        #expect(flags & CKF_PROTECTED_AUTHENTICATION_PATH != 0 && flags & CKF_WRITE_PROTECTED != 0)
    }

    @Test func nothingIsChangedFromThere() throws {
        let keychain = try local.keychain()
        let person = Decides()
        let module = try remote(person, typing: TypesInTurn("open"))
        let slot = try #require(module.slots.last)
        let session = try module.cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION | CKF_RW_SESSION)
        try module.cryptoki.logIn(session, CKU_USER, pin: nil)
        let data = Template([
            (type: CKA_CLASS, value: Encoded.ulong(CKO_DATA)), (type: CKA_TOKEN, value: [1]),
            (type: CKA_VALUE, value: [1]),
        ])
        #expect(returned { _ = try module.cryptoki.createObject(session, data) } == CKR_TOKEN_WRITE_PROTECTED)
        #expect(
            returned { try module.cryptoki.setPIN(session, from: .of("open"), to: .of("new")) }
                == CKR_TOKEN_WRITE_PROTECTED)
        #expect(try module.cryptoki.tokenInfo(slot).flags & CKF_WRITE_PROTECTED != 0)
        #expect(!keychain.isLocked)
        #expect(person.questions.isEmpty)
    }
}
