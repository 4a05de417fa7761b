import CCryptoki
import CryptokiNames
import KeychainHost
import PIVDriver
import Platform
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// Logins with a PIN that is typed on the reader, which the module never has.
@Suite struct TypedLoginTests {
    private static let digest = [UInt8](repeating: 0x5A, count: 32)
    private static let ecdsa = MechanismRequest(CKM_ECDSA)

    private let folder: TemporaryFolder
    private let reader: TypingReader
    private let cryptoki: Cryptoki
    private let session: CK_SESSION_HANDLE

    init() throws { try self.init(TypingReader(Cards.plain()), TemporaryFolder()) }

    /// A program of a user whose home is the folder.
    private init(_ reader: TypingReader, _ folder: TemporaryFolder) throws {
        let home = folder.path
        let preferences = KeychainPreferences(
            directories: Directories(system: home + "/etc") {
                ["HOME": home, "XDG_RUNTIME_DIR": home + "/run"][$0]
            })
        let process = ProcessKeychains(
            preferences, drivers: { [PIVDriver(memory: $0.tokens, certificates: $0.certificates)] },
            readers: { [reader] })
        cryptoki = Cryptoki(Host(forTokensOf: process, prompter: nil, touchPrompter: nil))
        let slot = try #require(cryptoki.slotList(withToken: true, refreshing: true).first)
        session = try cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION | CKF_RW_SESSION)
        (self.folder, self.reader) = (folder, reader)
    }

    private func key(_ id: UInt8) throws -> CK_OBJECT_HANDLE {
        let template = Template([
            (type: CKA_CLASS, value: Encoded.ulong(CKO_PRIVATE_KEY)), (type: CKA_ID, value: [id]),
        ])
        try cryptoki.findObjectsInit(session, template)
        defer { try? cryptoki.findObjectsFinal(session) }
        return try #require(cryptoki.findObjects(session, limit: 2).first)
    }

    private func sign(_ id: UInt8, again: Bool = false) throws {
        try cryptoki.signInit(session, Self.ecdsa, key: key(id))
        if again { try cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: nil) }
        #expect(try bytes(of: cryptoki.sign(session, Self.digest, .bytes(64))).count == 64)
    }

    private func logIn() throws { try cryptoki.logIn(session, CKU_USER, pin: nil) }

    @Test func aKeyThatAsksOnceIsUsedAsOftenAsOneLikes() throws {
        try logIn()
        for _ in 0..<3 { try sign(1) }
        #expect(reader.timesTyped == 1)
        #expect(returned { try logIn() } == CKR_USER_ALREADY_LOGGED_IN)
        #expect(reader.timesTyped == 1)
    }

    @Test func aKeyThatAsksEachTimeIsUsedOnceForEachThatWasTyped() throws {
        try logIn()
        try sign(2)
        #expect(returned { try sign(2) } == CKR_USER_NOT_LOGGED_IN)
        try sign(2, again: true)
        #expect(reader.timesTyped == 2)
        #expect(returned { try sign(2) } == CKR_USER_NOT_LOGGED_IN)
        // The login still counts for other keys.
        try sign(1)
        #expect(reader.timesTyped == 2)
    }

    @Test func aCardThatForgotItEndsTheLogin() throws {
        try logIn()
        let key = try key(1)
        reader.reset()
        try cryptoki.signInit(session, Self.ecdsa, key: key)
        let code = returned { _ = try cryptoki.sign(session, Self.digest, .bytes(64)) }
        #expect(code == CKR_USER_NOT_LOGGED_IN)
        #expect(reader.timesTyped == 1)
        #expect(try cryptoki.sessionInfo(session).state == CKS_RW_PUBLIC_SESSION)
        try logIn()
        try sign(1)
        #expect(reader.timesTyped == 2)
    }

    @Test func aKeyThatAsksEachTimeIsNotUsedAfterAReset() throws {
        try logIn()
        let key = try key(2)
        reader.reset()
        try cryptoki.signInit(session, Self.ecdsa, key: key)
        let code = returned { _ = try cryptoki.sign(session, Self.digest, .bytes(64)) }
        #expect(code == CKR_USER_NOT_LOGGED_IN)
        try sign(2, again: true)
    }

    /// No command comes between the typed PIN and its use, because some cards end the verified state after any command.
    @Test func aCardThatTakesThePINBackAfterAnyCommandSigns() throws {
        let reader = TypingReader(try Cards.plain(.p256, .openFIPS201))
        let first = try TypedLoginTests(reader, folder)
        try first.cryptoki.findObjectsInit(first.session, Template([]))
        _ = try first.cryptoki.findObjects(first.session, limit: 100)
        first.cryptoki.finalize()
        let second = try TypedLoginTests(reader, folder)
        try second.logIn()
        try second.sign(2)
        #expect(reader.timesTyped == 1)
    }

    @Test func aLoginThatFailsIsNone() throws {
        reader.type("654321")
        #expect(returned { try logIn() } == CKR_PIN_INCORRECT)
        #expect(try cryptoki.sessionInfo(session).state == CKS_RW_PUBLIC_SESSION)
        reader.type("")
        #expect(returned { try logIn() } == CKR_DEVICE_ERROR)
        reader.type("123456")
        try logIn()
        try cryptoki.logOut(session)
        try logIn()
        #expect(reader.timesTyped == 4)
    }

    @Test func aReaderThatFailsIsNotRecommendedUntilItWorksAgain() throws {
        func isRecommended() throws -> Bool {
            let slot = try #require(cryptoki.slotList(withToken: true, refreshing: false).first)
            return try cryptoki.tokenInfo(slot).flags & CKF_PROTECTED_AUTHENTICATION_PATH != 0
        }
        #expect(try isRecommended())
        reader.type("654321")
        #expect(returned { try logIn() } == CKR_PIN_INCORRECT)
        #expect(try isRecommended())
        reader.type("")
        #expect(returned { try logIn() } == CKR_DEVICE_ERROR)
        #expect(try !isRecommended())
        reader.type("123456")
        try logIn()
        #expect(try isRecommended())
    }

    @Test func aPINThatIsGivenIsSent() throws {
        try cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        try sign(1)
        #expect(reader.timesTyped == 0)
    }
}
