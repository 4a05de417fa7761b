import CCryptoki
import CryptokiNames
import Glibc
import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// A PIN that one program of a host has given counts for the host's other programs.
@Suite struct OnePINTests {
    private static let digest = [UInt8](repeating: 7, count: 32)
    private static let ecdsa = MechanismRequest(CKM_ECDSA)
    static let profiles: [CardProfile] = [.yubiKey54, .yubiKey57, .generic, .pivApplet]

    /// A host with one card, and a program that has given the PIN.
    private final class Stage {
        let cards = SharedCards()
        let reader: VirtualReader
        let first: TestModule
        let session: CK_SESSION_HANDLE

        init(_ profile: CardProfile = .yubiKey57) throws {
            reader = VirtualReader(card: try Cards.plain(.p256, profile))
            first = try TestModule(reader, cards: cards)
            session = try first.session(loggedIn: true)
        }

        func program(_ policy: PromptPolicy = PromptPolicy()) throws -> TestModule {
            try TestModule(reader, promptPolicy: policy, sharing: first, cards: cards)
        }
    }

    /// Signs with the key of 9A, by which the mechanism's CKA_ID is 1.
    @discardableResult
    private func sign(_ module: TestModule, _ session: CK_SESSION_HANDLE, id: UInt8 = 1) throws -> [UInt8] {
        let signature = try module.sign(session, Self.ecdsa, module.key(session, [id]), Self.digest)
        let publicKey = try module.key(session, [id], CKO_PUBLIC_KEY)
        try module.cryptoki.verifyInit(session, Self.ecdsa, key: publicKey)
        try module.cryptoki.verify(session, Self.digest, signature: signature)
        return signature
    }

    @Test(arguments: profiles) func aSecondProgramsLoginAndSignatureSendNoPIN(_ profile: CardProfile) throws {
        let stage = try Stage(profile)
        try sign(stage.first, stage.session)
        #expect(stage.reader.pinsSent == 1)
        // By an empty login, as with a reader that has keys, and by the PIN.
        for pin in [nil, "123456"] {
            let module = try stage.program()
            let session = try module.session()
            try module.cryptoki.logIn(session, CKU_USER, pin: pin.map { .of($0) })
            try sign(module, session)
        }
        #expect(stage.reader.pinsSent == 1)
        #expect(stage.reader.connectionCount == 1)
    }

    @Test func aPINThatIsKnownToBeRightCostsNoCommand() throws {
        let stage = try Stage()
        let module = try stage.program()
        let session = try module.session()
        _ = try module.find(session)
        stage.reader.clearLog()
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(stage.reader.log.isEmpty)
    }

    @Test func aWrongPINIsRefusedByTheCardAndTheRightOneGoesOnToCount() throws {
        let stage = try Stage()
        let module = try stage.program()
        let session = try module.session()
        #expect(returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("654321")) } == CKR_PIN_INCORRECT)
        #expect(stage.reader.pinsSent == 2)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        try sign(module, session)
        try sign(stage.first, stage.session)
    }

    @Test(arguments: profiles) func theLogoutOrEndOfOneProgramLeavesTheOthersLoggedIn(_ profile: CardProfile) throws {
        let stage = try Stage(profile)
        let module = try stage.program()
        let session = try module.session(loggedIn: true)
        try stage.first.cryptoki.logOut(stage.session)
        #expect(returned { try stage.first.cryptoki.logOut(stage.session) } == CKR_USER_NOT_LOGGED_IN)
        try sign(module, session)
        stage.first.cryptoki.finalize()
        try sign(module, session)
        module.cryptoki.finalize()
        let last = try stage.program()
        let lastSession = try last.session()
        try last.cryptoki.logIn(lastSession, CKU_USER, pin: nil)
        try sign(last, lastSession)
        #expect(stage.reader.pinsSent == 1)
    }

    @Test(arguments: profiles) func aCardThatForgotThePINGetsItAgainForAnyProgram(_ profile: CardProfile) throws {
        let stage = try Stage(profile)
        let module = try stage.program()
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: nil)
        stage.reader.resetByAnotherClient()
        try sign(module, session)
        #expect(stage.reader.pinsSent == 2)
        try sign(stage.first, stage.session)
        #expect(stage.reader.pinsSent == 2)
    }

    @Test func aKeyThatAsksEachTimeTakesNoOtherProgramsPIN() throws {
        let stage = try Stage()
        let module = try stage.program()
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: nil)
        #expect(returned { try sign(module, session, id: 2) } == CKR_USER_NOT_LOGGED_IN)
        #expect(stage.reader.pinsSent == 1)
        // The program that typed it may use the key once, and only once.
        try sign(stage.first, stage.session, id: 2)
        #expect(returned { try sign(stage.first, stage.session, id: 2) } == CKR_USER_NOT_LOGGED_IN)
        // An empty PIN for one use stands for the one that this program gave, and there is none.
        try module.cryptoki.signInit(session, Self.ecdsa, key: module.key(session, [2]))
        #expect(returned { try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("")) } != CKR_OK)
        try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("123456"))
        _ = try bytes(of: module.cryptoki.sign(session, Self.digest, .bytes(1_024)))
    }

    @Test func aNewPINTakesTheOldOnesPlaceForAll() throws {
        let stage = try Stage()
        let module = try stage.program()
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: nil)
        try stage.first.cryptoki.setPIN(stage.session, from: .of("123456"), to: .of("654321"))
        stage.reader.resetByAnotherClient()
        try sign(module, session)
        let other = try stage.program()
        let otherSession = try other.session()
        stage.reader.clearLog()
        try other.cryptoki.logIn(otherSession, CKU_USER, pin: .of("654321"))
        #expect(stage.reader.pinsSent == 0)
    }

    /// The PIN is kept for the card that took it.
    @Test func aCardThatIsTakenOutTakesThePINWithIt() throws {
        let stage = try Stage()
        let card = try Cards.plain()
        stage.reader.remove()
        #expect(eventually { !stage.cards.havePIN })
        stage.reader.insert(card)
        let module = try stage.program()
        let session = try module.session()
        #expect(returned { try module.cryptoki.logIn(session, CKU_USER, pin: nil) } != CKR_OK)
        stage.reader.clearLog()
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(stage.reader.pinsSent == 1)
    }

    /// A locked screen, or `tokenctl lock`.
    @Test(arguments: profiles) func aLockEndsTheLoginsOfAllPrograms(_ profile: CardProfile) throws {
        let stage = try Stage(profile)
        let module = try stage.program()
        let session = try module.session(loggedIn: true)
        #expect(stage.cards.havePIN)
        stage.cards.forgetPINs()
        #expect(!stage.cards.havePIN)
        for (module, session) in [(stage.first, stage.session), (module, session)] {
            #expect(returned { try sign(module, session) } == CKR_KEY_HANDLE_INVALID)
        }
        let other = try stage.program()
        let otherSession = try other.session()
        #expect(returned { try other.cryptoki.logIn(otherSession, CKU_USER, pin: nil) } != CKR_OK)
        try other.cryptoki.logIn(otherSession, CKU_USER, pin: .of("123456"))
        try sign(other, otherSession)
    }

    @Test func aPersonIsAskedOnceForAllPrograms() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let cards = SharedCards()
        let person = TypesInTurn("123456")
        let policy = PromptPolicy(prompter: person)
        let first = try TestModule(reader, promptPolicy: policy, cards: cards)
        for _ in 1...3 {
            let module = try TestModule(reader, promptPolicy: policy, sharing: first, cards: cards)
            let session = try module.session()
            try module.cryptoki.logIn(session, CKU_USER, pin: nil)
            try sign(module, session)
        }
        #expect(person.requests.count == 1)
        #expect(reader.pinsSent == 1)
    }

    /// What the other programs do with the card does not tell them the PIN: without a shared card nothing is shared.
    @Test func aHostOfOneProgramSharesNothing() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let first = try TestModule(reader)
        _ = try first.session(loggedIn: true)
        let second = try TestModule(reader, sharing: first)
        let session = try second.session()
        #expect(returned { try second.cryptoki.logIn(session, CKU_USER, pin: nil) } != CKR_OK)
    }
}
