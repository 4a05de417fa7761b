import CCryptoki
import KeychainModel
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import PKCS11Bridge

/// Keychains that lock while programs are logged in: after a time without use, in the machine's sleep, by another program.
@Suite struct LockingTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    private static let digest = [UInt8](repeating: 0x5A, count: 32)
    private static let ecdsa = MechanismRequest(CKM_ECDSA)

    /// Makes the module forget the keychain's key, as the end of its time does.
    private func lock(_ session: CK_SESSION_HANDLE) throws {
        try module.process.keychain(at: cryptoki.session(session).slot.name).lock()
    }

    private func state(_ session: CK_SESSION_HANDLE) throws -> CK_STATE { try cryptoki.sessionInfo(session).state }

    @Test func theLoginEndsWhenTheKeychainLocks() throws {
        let id = try addIdentity("anna").publicKey.keyHash
        let session = try session()
        let key = try module.key(session, id)
        try lock(session)
        #expect(try state(session) == CKS_RW_PUBLIC_SESSION)
        #expect(returned { _ = try module.key(session, id) } == CKR_KEY_HANDLE_INVALID)
        #expect(returned { try cryptoki.signInit(session, Self.ecdsa, key: key) } == CKR_USER_NOT_LOGGED_IN)
        #expect(returned { try cryptoki.logOut(session) } == CKR_USER_NOT_LOGGED_IN)
        try cryptoki.logIn(session, CKU_USER, pin: .of("open"))
        #expect(try state(session) == CKS_RW_USER_FUNCTIONS)
        #expect(try module.sign(session, Self.ecdsa, module.key(session, id), Self.digest).count == 64)
        try cryptoki.logOut(session)
        #expect(try state(session) == CKS_RW_PUBLIC_SESSION)
    }

    @Test func aSignatureThatWasBegunBeforeSaysWhatItMisses() throws {
        let id = try addIdentity("anna").publicKey.keyHash
        let session = try session()
        try cryptoki.signInit(session, Self.ecdsa, key: module.key(session, id))
        try lock(session)
        #expect(
            returned { _ = try cryptoki.sign(session, Self.digest, .bytes(64)) } == CKR_USER_NOT_LOGGED_IN)
    }

    @Test func whatSessionsHadOfTheUserEndsWithTheLock() throws {
        let id = try addIdentity("anna").publicKey.keyHash
        let session = try session()
        let key = try module.key(session, id)
        let pair = try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])]), Template())
        try cryptoki.signInit(session, Self.ecdsa, key: pair.privateKey)
        try lock(session)
        #expect(returned { _ = try module.value(session, pair.privateKey, CKA_ID) } == CKR_OBJECT_HANDLE_INVALID)
        try cryptoki.logIn(session, CKU_USER, pin: .of("open"))
        #expect(returned { _ = try module.value(session, pair.privateKey, CKA_ID) } == CKR_OBJECT_HANDLE_INVALID)
        #expect(
            returned { _ = try cryptoki.sign(session, Self.digest, .bytes(64)) } == CKR_USER_NOT_LOGGED_IN)
        #expect(try module.value(session, pair.publicKey, CKA_CLASS) == Encoded.ulong(CKO_PUBLIC_KEY))
        // The handle of the keychain's key is still valid.
        #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64)
        #expect(try module.key(session, id) == key)
    }

    @Test func aWrongPasswordAfterwardsLogsNobodyIn() throws {
        let session = try session()
        try lock(session)
        #expect(returned { try cryptoki.logIn(session, CKU_USER, pin: .of("wrong")) } == CKR_PIN_INCORRECT)
        #expect(try state(session) == CKS_RW_PUBLIC_SESSION)
    }

    @Test func everySessionWithItIsAPublicOneThen() throws {
        let (first, second) = (try session(), try module.session())
        let reading = try cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION)
        try lock(first)
        #expect(try [first, second, reading].map(state) == [2, 2, 0].map { CK_STATE($0) })
        try cryptoki.logIn(second, CKU_USER, pin: .of("open"))
        #expect(try [first, second, reading].map(state) == [3, 3, 1].map { CK_STATE($0) })
    }

    /// A question for the state is not a use of the keychain, because a program may ask in a loop.
    @Test func theTimeRunsOutThoughAProgramAsksForItsState() throws {
        try keychain.change(KeychainSettings(lockInterval: 1))
        let session = try session()
        #expect(try state(session) == CKS_RW_USER_FUNCTIONS)
        #expect(try eventually { try state(session) == CKS_RW_PUBLIC_SESSION })
        try cryptoki.logIn(session, CKU_USER, pin: .of("open"))
        #expect(try state(session) == CKS_RW_USER_FUNCTIONS)
    }

    /// The keychain as the module has it, as one that several programs use.
    private func shared(_ session: CK_SESSION_HANDLE) throws -> LocalKeychain {
        let keychain = try module.process.keychain(at: cryptoki.session(session).slot.name)
        keychain.share()
        return keychain
    }

    @Test func aLockByAnotherProgramEndsTheLogin() throws {
        let session = try session()
        let shared = try shared(session)
        #expect(try state(session) == CKS_RW_USER_FUNCTIONS)
        shared.lock()
        #expect(try state(session) == CKS_RW_PUBLIC_SESSION)
        try cryptoki.logIn(session, CKU_USER, pin: .of("open"))
        #expect(try state(session) == CKS_RW_USER_FUNCTIONS)
        #expect(!shared.isLocked)
    }

    @Test func aProgramThatLogsOutLocksNoOtherOne() throws {
        let session = try session()
        let shared = try shared(session)
        try cryptoki.logOut(session)
        #expect(try state(session) == CKS_RW_PUBLIC_SESSION)
        #expect(!shared.isLocked)
    }

    @Test func theOnlyProgramThatLogsOutLocksItsKeychain() throws {
        let session = try session()
        let keychain = try module.process.keychain(at: cryptoki.session(session).slot.name)
        try cryptoki.logOut(session)
        #expect(keychain.isLocked)
    }

    @Test func aWrongPasswordForAnUnlockedKeychainIsRefused() throws {
        let session = try session()
        let shared = try shared(session)
        try cryptoki.logOut(session)
        #expect(returned { try cryptoki.logIn(session, CKU_USER, pin: .of("wrong")) } == CKR_PIN_INCORRECT)
        #expect(try state(session) == CKS_RW_PUBLIC_SESSION)
        #expect(!shared.isLocked)
    }

    @Test func aKeychainWithoutAPasswordIsAlwaysOpen() throws {
        try keychain.changePassword(from: .of("open"), to: .of(""), cost: ScryptCost(n: 2, r: 1, p: 1))
        let id = try addIdentity("anna").publicKey.keyHash
        let session = try module.session()
        #expect(try state(session) == CKS_RW_USER_FUNCTIONS)
        try cryptoki.logIn(session, CKU_USER, pin: .of(""))
        try lock(session)
        #expect(try state(session) == CKS_RW_USER_FUNCTIONS)
        #expect(try !module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_ID, id)).isEmpty)
        try cryptoki.logIn(session, CKU_USER, pin: .of(""))
    }
}
