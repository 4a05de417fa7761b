import CCryptoki
import SecureBytes
import Testing
import VirtualCard
import Wire

@testable import PKCS11Bridge

/// Signatures whose C_SignInit reaches the host together with their data.
@Suite struct BegunSignatureTests {
    private let module: TestModule
    private let session: CK_SESSION_HANDLE

    init() throws {
        module = try TestModule(VirtualReader(card: try Cards.plain(.p256, .yubiKey54)))
        session = try module.session(loggedIn: true)
    }

    private func begin(_ key: CK_OBJECT_HANDLE) -> PKCS11Answer {
        let call = PKCS11Call(.signInit, [UInt64(session), UInt64(key)], PKCS11Mechanism(UInt64(CKM_ECDSA)))
        return module.cryptoki.result(of: call, secrets: Secret(capacity: 0) { _ in }).answer
    }

    private func sign(_ key: CK_OBJECT_HANDLE, _ mechanism: CK_MECHANISM_TYPE = CKM_ECDSA) -> PKCS11Answer {
        let begun = PKCS11Call(.signInit, [UInt64(session), UInt64(key)], PKCS11Mechanism(UInt64(mechanism)))
        var call = PKCS11Call(.sign, [UInt64(session), 32, 64])
        let isMerged = call.begin(with: begun)
        #expect(isMerged)
        return module.cryptoki.result(of: call, secrets: Secret(copying: [UInt8](repeating: 1, count: 32).span)).answer
    }

    /// A signature with a key that needs a login for each use, 9C here, begins before that login.
    @Test func aKeyThatWantsALoginBetweenTheTwoIsBegunByItself() throws {
        #expect(try begin(module.key(session, [1])).numbers == [1])
        #expect(try begin(module.key(session, [2])).numbers == [0])
    }

    @Test func aSignatureBeginsWithItsData() throws {
        let answer = sign(try module.key(session, [1]))
        #expect(answer.returnValue == UInt64(CKR_OK))
        #expect(answer.numbers == [64])
    }

    @Test func whatCannotBeBegunWasNotBegun() throws {
        #expect(sign(12_345).returnValue == UInt64(CKR_OPERATION_NOT_INITIALIZED))
        #expect(
            sign(try module.key(session, [1]), CKM_RSA_PKCS).returnValue == UInt64(CKR_OPERATION_NOT_INITIALIZED))
    }

    @Test func aCardThatIsOutIsToldOf() throws {
        let key = try module.key(session, [1])
        module.reader.remove()
        let answer = sign(key)
        #expect(answer.returnValue == UInt64(CKR_DEVICE_REMOVED))
    }
}
