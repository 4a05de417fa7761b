import CCryptoki
import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import TestSupport
import Testing
import VirtualCard

@testable import PKCS11Bridge

/// The meaning of an empty PIN for one use of a key that needs the PIN each time.
@Suite struct EmptyPINTests {
    private let ecdsa = MechanismRequest(CKM_ECDSA)
    private let digest = [UInt8](repeating: 7, count: 32)

    /// NSS logs in again for each signature, and poppler answers its question for the PIN with nothing.
    @Test func anEmptyPINForOneUseIsThatOfTheLogin() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [2])
        let sent = module.reader.pinsSent
        for count in 1...3 {
            try module.cryptoki.signInit(session, ecdsa, key: key)
            try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of(""))
            #expect(try bytes(of: module.cryptoki.sign(session, digest, .bytes(64))).count == 64)
            // One PIN is sent for each signature, when the card needs it.
            #expect(module.reader.pinsSent == sent + count)
        }
        // An empty PIN does not log the user in.
        try module.cryptoki.logOut(session)
        #expect(returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of("")) } == CKR_PIN_LEN_RANGE)
        #expect(module.reader.pinsSent == sent + 3)
    }

    @Test func anEmptyPINIsNotThatOfALoginWhosePINWasChangedMeanwhile() throws {
        let reader = VirtualReader(card: try Cards.plain())
        let module = try TestModule(reader)
        let session = try module.session(loggedIn: true)
        let key = try module.key(session, [2])
        let other = try TestModule(reader)
        try other.cryptoki.setPIN(other.session(), from: .of("123456"), to: .of("654321"))
        try module.cryptoki.signInit(session, ecdsa, key: key)
        try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of(""))
        let signed = returned { _ = try module.cryptoki.sign(session, digest, .bytes(64)) }
        #expect(signed == CKR_USER_NOT_LOGGED_IN)
        // The wrong PIN is not sent once more.
        let sent = reader.pinsSent
        #expect(returned { _ = try module.sign(session, ecdsa, key, digest) } != CKR_OK)
        #expect(reader.pinsSent == sent)
    }

    @Test func anEmptyPINIsNotThatOfAPersonWhoWasAsked() throws {
        let module = try TestModule(
            VirtualReader(card: try Cards.plain()), promptPolicy: PromptPolicy(prompter: Teller()))
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: nil)
        try module.cryptoki.signInit(session, ecdsa, key: module.key(session, [2]))
        let login = returned { try module.cryptoki.logIn(session, CKU_CONTEXT_SPECIFIC, pin: .of("")) }
        #expect(login == CKR_PIN_LEN_RANGE)
    }

    /// A person who gives the PIN.
    private struct Teller: Prompter {
        let canAsk = true
        let canAskAgain = true
        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { .of("123456") }
        func confirm(_ question: String) throws(KeychainError) -> Bool { true }
    }
}
