import CCryptoki
import CryptokiNames
import Foundation
import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import PKCS11Bridge

/// PINs: which are sent to a card, when, and the return values and states that programs see.
@Suite struct LoginTests {
    private static let digest = [UInt8](repeating: 0x5A, count: 32)
    private static let ecdsa = MechanismRequest(CKM_ECDSA)

    @Test(arguments: ["", "1", "12345", "123456789", "abcdef", "12 456"])
    func aPINThatNoCardTakesIsNotSent(pin: String) throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        #expect(returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of(pin)) } == CKR_PIN_LEN_RANGE)
        #expect(module.reader.pinsSent == 0)
    }

    @Test func aWrongPINCostsOneTryHoweverOftenAProgramRepeatsIt() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        for _ in 0..<20 {
            #expect(
                returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("654321")) } == CKR_PIN_INCORRECT)
        }
        #expect(module.reader.pinsSent == 1)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
    }

    @Test func whatACardRefusedOfOneProgramAnotherDoesNotSend() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let first = try TestModule(reader)
        _ = try first.cryptoki.tokenInfo(first.slots[0])
        let firstSession = try first.session()
        func fail(_ module: TestModule, _ session: CK_SESSION_HANDLE) -> CK_RV {
            returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("654321")) }
        }
        #expect(fail(first, firstSession) == CKR_PIN_INCORRECT)
        let second = try TestModule(reader, sharing: first)
        _ = try second.cryptoki.tokenInfo(second.slots[0])
        let session = try second.session()
        #expect(fail(second, session) == CKR_PIN_INCORRECT)
        #expect(reader.pinsSent == 1)
        // Once the right PIN was presented, a PIN that was wrong may have become right.
        try second.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        try second.cryptoki.setPIN(session, from: .of("123456"), to: .of("654321"))
        let third = try TestModule(reader, sharing: first)
        _ = try third.cryptoki.tokenInfo(third.slots[0])
        try third.cryptoki.logIn(third.session(), CKU_USER, pin: .of("654321"))
    }

    @Test func whatIsRememberedOfRejectedPINsIsNotToBeRead() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        _ = try module.cryptoki.tokenInfo(module.slots[0])
        _ = returned { try module.cryptoki.logIn(module.session(), CKU_USER, pin: .of("654321")) }
        let folder = module.folder.path + "/run/tokenkit-rejected-pins"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let file = try #require(names.first)
        #expect(names.count == 1)
        let content = try #require(FileManager.default.contents(atPath: folder + "/" + file))
        #expect(content.range(of: Data("654321".utf8)) == nil)
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/" + file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func theFlagsFollowTheCardAndTheLastTryIsKept() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        func flags() throws -> CK_FLAGS {
            try module.cryptoki.tokenInfo(module.slots[0]).flags
                & (CKF_USER_PIN_COUNT_LOW | CKF_USER_PIN_FINAL_TRY | CKF_USER_PIN_LOCKED)
        }
        #expect(try flags() == 0)
        var wrong = 111_111
        func fail() -> CK_RV {
            wrong += 1
            return returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of(String(wrong))) }
        }
        #expect(fail() == CKR_PIN_INCORRECT)
        #expect(try flags() == CKF_USER_PIN_COUNT_LOW)
        while fail() == CKR_PIN_INCORRECT {}
        #expect(try flags() == CKF_USER_PIN_COUNT_LOW | CKF_USER_PIN_FINAL_TRY)
        let sent = module.reader.pinsSent
        #expect(fail() == CKR_PIN_LOCKED)
        #expect(module.reader.pinsSent == sent)
    }

    @Test func aUserLogsInOnceForAllSessionsAndOutWithTheLastOfThem() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let (first, second) = (try module.session(), try module.session())
        #expect(try module.cryptoki.sessionInfo(first).state == CKS_RW_PUBLIC_SESSION)
        try module.cryptoki.logIn(first, CKU_USER, pin: .of("123456"))
        #expect(try module.cryptoki.sessionInfo(second).state == CKS_RW_USER_FUNCTIONS)
        let again = returned { try module.cryptoki.logIn(second, CKU_USER, pin: .of("123456")) }
        #expect(again == CKR_USER_ALREADY_LOGGED_IN)
        try module.cryptoki.closeSession(first)
        #expect(try module.cryptoki.sessionInfo(second).state == CKS_RW_USER_FUNCTIONS)
        try module.cryptoki.closeSession(second)
        let third = try module.session()
        #expect(try module.cryptoki.sessionInfo(third).state == CKS_RW_PUBLIC_SESSION)
        #expect(returned { try module.cryptoki.logOut(third) } == CKR_USER_NOT_LOGGED_IN)
    }

    @Test func aPINThatAnotherProgramChangedEndsTheLoginForOneTry() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let module = try TestModule(reader)
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        let other = try TestModule(reader)
        let others = try other.session(loggedIn: true)
        try other.cryptoki.setPIN(others, from: .of("123456"), to: .of("654321"))
        try other.cryptoki.logOut(others)
        let sent = reader.pinsSent
        #expect(returned { _ = try module.sign(session, Self.ecdsa, key, Self.digest) } == CKR_USER_NOT_LOGGED_IN)
        #expect(reader.pinsSent == sent + 1)
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_PUBLIC_SESSION)
        #expect(returned { _ = try module.key(session, [1]) } == CKR_KEY_HANDLE_INVALID)
        #expect(reader.pinsSent == sent + 1)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("654321"))
        _ = try module.sign(session, Self.ecdsa, module.key(session, [1]), Self.digest)
    }

    @Test func handlesOfPrivateKeysEndWithTheLogin() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        _ = try module.sign(session, Self.ecdsa, key, Self.digest)
        try module.cryptoki.logOut(session)
        #expect(
            returned { try module.cryptoki.signInit(session, Self.ecdsa, key: key) } == CKR_KEY_HANDLE_INVALID)
    }

    /// PKCS #11 §5.6.10: also in the next login.
    @Test func aHandleOfAPrivateObjectIsNoneAfterALogout() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        let (always, certificate) = (try module.key(session, [4]), try module.key(session, [1], CKO_CERTIFICATE))
        try module.cryptoki.logOut(session)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(returned { try module.cryptoki.signInit(session, Self.ecdsa, key: key) } == CKR_KEY_HANDLE_INVALID)
        #expect(returned { _ = try module.value(session, key, CKA_ID) } == CKR_OBJECT_HANDLE_INVALID)
        let again = try module.key(session, [1])
        #expect(again != key)
        #expect(try module.sign(session, Self.ecdsa, again, Self.digest).count == 64)
        #expect(returned { _ = try module.value(session, key, CKA_ID) } == CKR_OBJECT_HANDLE_INVALID)
        // Public objects keep their handles.
        #expect(try module.key(session, [4]) == always)
        #expect(try module.key(session, [1], CKO_CERTIFICATE) == certificate)
    }

    /// Java closes sessions that it does not need, and goes on with its keys in others.
    @Test func aHandleOutlivesTheLoginThatEndedWithTheLastSession() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        try module.cryptoki.closeSession(session)
        let next = try module.session()
        #expect(returned { try module.cryptoki.signInit(next, Self.ecdsa, key: key) } == CKR_USER_NOT_LOGGED_IN)
        try module.cryptoki.logIn(next, CKU_USER, pin: .of("123456"))
        #expect(try module.sign(next, Self.ecdsa, key, Self.digest).count == 64)
    }

    @Test(arguments: [1, 2])
    func aSignatureEndsWithTheLoginAndThePINThatWasGivenForIt(id: UInt8) throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let (session, other) = (try module.session(loggedIn: true), try module.session())
        try module.cryptoki.signInit(session, Self.ecdsa, key: module.key(session, [id]))
        try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("123456"))
        try module.cryptoki.logOut(other)
        func sign() -> CK_RV { returned { _ = try module.cryptoki.sign(session, Self.digest, .bytes(64)) } }
        let sent = module.reader.log.count
        #expect(sign() == CKR_OPERATION_NOT_INITIALIZED)
        // A new login does not resume the signature either.
        try module.cryptoki.logIn(other, CKU_USER, pin: .of("123456"))
        #expect(sign() == CKR_OPERATION_NOT_INITIALIZED)
        #expect(module.reader.log[sent...].allSatisfy { [0x20, 0xA4].contains($0.ins) })
    }

    @Test(arguments: [(CardProfile.pivApplet, true), (.pivAppletMetadata, false), (.generic, false)])
    func aCardThatCannotForgetThePINIsToldOfInTheLog(profile: CardProfile, isTold: Bool) throws {
        let log = Log(isWanted: true)
        let module = try TestModule(VirtualReader(card: try Cards.plain(.p256, profile)), log: log)
        let session = try module.session(loggedIn: true)
        try module.cryptoki.logOut(session)
        let lines = log.take(ending: "").map { String(decoding: $0, as: UTF8.self) }
        #expect(
            lines.contains { $0.contains("the card was not locked: this card forgets a PIN only") } == isTold,
            "\(lines)")
        // The program is logged out all the same.
        #expect(returned { try module.cryptoki.logOut(session) } == CKR_USER_NOT_LOGGED_IN)
    }

    @Test func whatWasDecryptedIsNotFetchedAfterTheLogin() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain(.rsa2048)))
        let session = try module.session(loggedIn: true)
        let ciphertext = try module.publicKey(session, [3]).encrypt(Array("secret".utf8), using: .pkcs1)
        let request = MechanismRequest(CKM_RSA_PKCS)
        try module.cryptoki.decryptInit(session, request, key: module.key(session, [3]))
        #expect(try length(of: module.cryptoki.decrypt(session, ciphertext, .bytes(1))) == 6)
        try module.cryptoki.logOut(session)
        let result = returned { _ = try module.cryptoki.decrypt(session, ciphertext, .bytes(256)) }
        #expect(result == CKR_OPERATION_NOT_INITIALIZED)
    }

    @Test func whatNeedsNoLoginGoesOnAfterIt() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let signature = try module.sign(session, Self.ecdsa, module.key(session, [1]), Self.digest)
        try module.cryptoki.signInit(session, Self.ecdsa, key: module.key(session, [4]))
        try module.cryptoki.verifyInit(session, Self.ecdsa, key: module.key(session, [1], CKO_PUBLIC_KEY))
        try module.cryptoki.digestInit(session, MechanismRequest(CKM_SHA256))
        try module.cryptoki.logOut(session)
        #expect(try bytes(of: module.cryptoki.sign(session, Self.digest, .bytes(64))).count == 64)
        try module.cryptoki.verify(session, Self.digest, signature: signature)
        #expect(try bytes(of: module.cryptoki.digest(session, [1], .bytes(32))).count == 32)
    }

    @Test func aFreshLoginCountsForOneSignatureOfAKeyThatWantsThePINEachTime() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [2])
        #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64)
        #expect(returned { _ = try module.sign(session, Self.ecdsa, key, Self.digest) } == CKR_USER_NOT_LOGGED_IN)
    }

    @Test func eachFurtherSignatureTakesALoginOfItsOwn() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [2])
        for _ in 0..<3 {
            try module.cryptoki.signInit(session, Self.ecdsa, key: key)
            try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("123456"))
            #expect(try bytes(of: module.cryptoki.sign(session, Self.digest, .bytes(64))).count == 64)
        }
    }

    @Test func aLoginForAnOperationNeedsAnOperation() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let result = returned { try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("123456")) }
        #expect(result == CKR_OPERATION_NOT_INITIALIZED)
    }

    @Test func aLoginThatFailsForAnOperationDoesNotBlockTheNext() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [2])
        try module.cryptoki.signInit(session, Self.ecdsa, key: key)
        let result = returned { try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("999999")) }
        #expect(result == CKR_PIN_INCORRECT)
        // ssh-agent goes on with another key in the same session.
        #expect(try module.sign(session, Self.ecdsa, module.key(session, [1]), Self.digest).count == 64)
    }

    @Test func aQuestionForTheLengthNeitherSignsNorUsesUpALogin() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [2])
        try module.cryptoki.signInit(session, Self.ecdsa, key: key)
        module.reader.clearLog()
        #expect(try length(of: module.cryptoki.sign(session, Self.digest, .query)) == 64)
        #expect(try length(of: module.cryptoki.sign(session, Self.digest, .bytes(63))) == 64)
        #expect(module.reader.log.isEmpty)
        #expect(try bytes(of: module.cryptoki.sign(session, Self.digest, .bytes(64))).count == 64)
    }

    @Test func theCardIsToldThePINAgainWhereAnotherProgramTookItBack() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        _ = try module.sign(session, Self.ecdsa, key, Self.digest)
        module.reader.resetByAnotherClient()
        #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64)
    }

    @Test func aKeyThatNeverWantsThePINSignsWithoutALogin() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        #expect(try module.sign(session, Self.ecdsa, module.key(session, [4]), Self.digest).count == 64)
    }

    @Test func thePINIsChangedOnTheCard() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        let wrong = returned { try module.cryptoki.setPIN(session, from: .of("000000"), to: .of("222222")) }
        #expect(wrong == CKR_PIN_INCORRECT)
        try module.cryptoki.setPIN(session, from: .of("123456"), to: .of("222222"))
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("222222"))
        let readOnly = try module.cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION)
        let result = returned { try module.cryptoki.setPIN(readOnly, from: .of("222222"), to: .of("123456")) }
        #expect(result == CKR_SESSION_READ_ONLY)
    }

    @Test func noOtherUserThanTheOwnerLogsIn() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        for user in [3, CK_ULONG.max] {
            #expect(
                returned { try module.cryptoki.logIn(session, user, pin: .of("12345678")) } == CKR_USER_TYPE_INVALID)
        }
        #expect(module.reader.pinsSent == 0)
    }

    // MARK: The module asks

    /// Answers every question with the PIN, and counts them.
    private final class Typist: Prompter {
        let questions = Atomic(0)
        var canAsk: Bool { true }
        var canAskAgain: Bool { true }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            questions.add(1, ordering: .relaxed)
            return .of("123456")
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    @Test func aProgramMayLeaveTheQuestionToTheModule() throws {
        let typist = Typist()
        let module = try TestModule(
            VirtualReader(card: try Cards.plain()), promptPolicy: PromptPolicy(prompter: typist))
        let flags = try module.cryptoki.tokenInfo(module.slots[0]).flags
        #expect(flags & CKF_PROTECTED_AUTHENTICATION_PATH != 0)
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: nil)
        #expect(typist.questions.load(ordering: .relaxed) == 1)
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_USER_FUNCTIONS)
    }

    /// Takes the card out while it asks for the PIN.
    private struct Puller: Prompter {
        let reader: VirtualReader
        var canAsk: Bool { true }
        var canAskAgain: Bool { true }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            reader.remove()
            return .of("123456")
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    @Test func aCardThatGoesDuringALoginWasTakenOut() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let module = try TestModule(reader, promptPolicy: PromptPolicy(prompter: Puller(reader: reader)))
        let session = try module.session()
        #expect(returned { try module.cryptoki.logIn(session, CKU_USER, pin: nil) } == CKR_DEVICE_REMOVED)
        #expect(returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456")) } == CKR_DEVICE_REMOVED)
    }

    @Test func aKeyOfACardThatWasTakenOutIsNoWrongHandle() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let module = try TestModule(reader)
        let session = try module.session(loggedIn: true)
        let key = try #require(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).first)
        let mechanism = MechanismRequest(CKM_ECDSA)
        reader.remove()
        #expect(returned { _ = try module.find(session) } == CKR_DEVICE_REMOVED)
        for _ in 0..<2 {
            #expect(returned { try module.cryptoki.signInit(session, mechanism, key: key) } == CKR_DEVICE_REMOVED)
        }
    }

    @Test func withoutAPromptALoginNeedsAPIN() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        #expect(returned { try module.cryptoki.logIn(session, CKU_USER, pin: nil) } == CKR_ARGUMENTS_BAD)
    }

    @Test func aProgramThatCannotLogInAtTheRightMomentSeesNothingOfLogins() throws {
        let typist = Typist()
        let module = try TestModule(
            VirtualReader(card: try Cards.plain()), promptPolicy: PromptPolicy(asksItself: true, prompter: typist))
        #expect(try module.cryptoki.tokenInfo(module.slots[0]).flags & CKF_LOGIN_REQUIRED == 0)
        let session = try module.session()
        let keys = try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)))
        #expect(keys.count == 4)
        #expect(try module.value(session, keys[1], CKA_ALWAYS_AUTHENTICATE) == [0])
        for count in 1...3 {
            #expect(try module.sign(session, Self.ecdsa, keys[1], Self.digest).count == 64)
            #expect(typist.questions.load(ordering: .relaxed) == count)
        }
    }
}
