import CCryptoki
import KeychainHost
import TestSupport
import Testing

@testable import PKCS11Bridge
@testable import VirtualCard

/// If the user has set it, a card proves that it is the one that was seen first, before the module sends it a PIN.
@Suite struct ProofTests {
    @Test func aCloneIsSentNoPINByALogin() throws {
        let original = try Cards.plain()
        var contents = try Cards.plain().contents
        contents.objects = original.contents.objects
        let reader = VirtualReader(card: original)
        let first = try TestModule(reader)
        _ = try first.find(first.session(loggedIn: true))
        reader.insert(VirtualCard(profile: .generic, contents: contents))
        reader.clearLog()
        try first.process.preferences.setProvesBeforePIN(true)
        let module = try TestModule(reader, sharing: first)
        let session = try module.session()
        let code = returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456")) }
        #expect(code == CKR_DEVICE_ERROR)
        #expect(reader.pinsSent == 0)
        try first.process.preferences.setProvesBeforePIN(nil)
        _ = try TestModule(reader, sharing: first).session(loggedIn: true)
        #expect(reader.pinsSent == 1)
    }

    @Test func theCardItselfIsLoggedInToAndSigns() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let module = try TestModule(reader)
        try module.process.preferences.setProvesBeforePIN(true)
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [1])
        #expect(try !module.sign(session, MechanismRequest(CKM_ECDSA), key, [1]).isEmpty)
        #expect(reader.log.contains { $0.ins == 0x87 && $0.p2 == 0x9E })
    }
}
