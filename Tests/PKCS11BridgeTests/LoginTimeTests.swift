import CCryptoki
import KeychainHost
import TestSupport
import Testing
import VirtualCard

@testable import PKCS11Bridge

/// Logins whose PIN counts for a limited time.
@Suite struct LoginTimeTests {
    private static let digest = [UInt8](repeating: 0x5A, count: 32)
    private static let ecdsa = MechanismRequest(CKM_ECDSA)

    @Test(arguments: [[UInt8(1)], [2]])
    func theLoginEndsWithTheTimeOfItsPIN(id: [UInt8]) throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        try module.process.preferences.setPINTimeout(1)
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, id)
        #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64)
        #expect(eventually { (try? module.cryptoki.sessionInfo(session).state) == CKS_RW_PUBLIC_SESSION })
        let sent = module.reader.pinsSent
        #expect(returned { try module.cryptoki.signInit(session, Self.ecdsa, key: key) } == CKR_USER_NOT_LOGGED_IN)
        #expect(module.reader.pinsSent == sent, "nobody keeps the PIN to present it again")
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64)
    }

    @Test func aPINThatStillCountsIsNotAskedForAgain() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        try module.process.preferences.setPINTimeout(3600)
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        for _ in 0..<3 { #expect(try module.sign(session, Self.ecdsa, key, Self.digest).count == 64) }
        #expect(module.reader.pinsSent == 1)
    }
}
