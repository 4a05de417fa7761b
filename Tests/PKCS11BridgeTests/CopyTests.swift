import CCryptoki
import CryptokiNames
import KeychainHost
import KeychainModel
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// Session objects and passwords can be copied, but no object that may exist only once.
@Suite struct CopyTests {
    private let module: TestModule
    private let keychain: LocalKeychain
    private let session: CK_SESSION_HANDLE

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
        session = try module.session(loggedIn: true, pin: "open")
    }

    private func copy(
        _ object: CK_OBJECT_HANDLE, _ changes: (CK_ATTRIBUTE_TYPE, [UInt8])..., module other: TestModule? = nil,
        in otherSession: CK_SESSION_HANDLE? = nil
    ) throws -> CK_OBJECT_HANDLE {
        let changes = Template(changes.map { (type: $0.0, value: $0.1) })
        return try (other ?? module).cryptoki.copyObject(otherSession ?? session, object, changes)
    }

    private func password(_ label: String = "Mail") throws -> CK_OBJECT_HANDLE {
        try module.cryptoki.createObject(
            session,
            Template([
                (CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_DATA)), (CKA_LABEL, Encoded.text(label)),
                (CKA_APPLICATION, Encoded.text("mail")), (CKA_VALUE, Encoded.text("s3cret")),
            ]))
    }

    private func secretKey(_ attributes: (CK_ATTRIBUTE_TYPE, [UInt8])...) throws -> CK_OBJECT_HANDLE {
        let own = attributes.map { (type: $0.0, value: $0.1) }
        return try module.cryptoki.createObject(
            session, Template(own + [(CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_VALUE, Array(0..<32))]))
    }

    private func publicKey(_ key: PublicKey) throws -> CK_OBJECT_HANDLE {
        try module.cryptoki.createObject(
            session,
            Template([
                (CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)),
                (CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? []),
                (CKA_EC_POINT, Encoded.octetString(key.rawRepresentation)), (CKA_ID, [7]),
            ]))
    }

    // MARK: In a keychain

    @Test func aPasswordIsCopiedUnderAnotherLabel() throws {
        let original = try password()
        let copied = try copy(original, (CKA_LABEL, Encoded.text("Second")), (CKA_TOKEN, [1]))
        #expect(copied != original)
        for (type, value) in [(CKA_LABEL, "Second"), (CKA_APPLICATION, "mail"), (CKA_VALUE, "s3cret")] {
            #expect(try module.value(session, copied, type) == Encoded.text(value))
        }
        #expect(try module.value(session, original, CKA_LABEL) == Encoded.text("Mail"))
        try module.cryptoki.destroyObject(session, original)
        #expect(try module.value(session, copied, CKA_VALUE) == Encoded.text("s3cret"))
    }

    @Test func twoThingsOfOneNameThereAreNot() throws {
        #expect(returned { _ = try copy(password()) } == CKR_ATTRIBUTE_VALUE_INVALID)
    }

    @Test func whatThereIsOnceIsNotCopied() throws {
        let key = try PrivateKey.generate(.ecP256)
        let certificate = try CertificateBuilder(
            commonName: "anna", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000
        ).selfSigned(by: key)
        try keychain.add(.privateKey(key, [.label: .string("anna")]))
        try keychain.add(.certificate(certificate))
        try keychain.add(.internetPassword([.account: "anna", .server: "example.test"], secret: .of("x")))
        let objects = try module.find(session)
        #expect(objects.count == 5)
        for object in objects {
            #expect(try module.value(session, object, CKA_COPYABLE) == [0])
            #expect(returned { _ = try copy(object, (CKA_LABEL, [65])) } == CKR_ACTION_PROHIBITED)
        }
    }

    @Test func aReadOnlySessionCopiesNothingToTheToken() throws {
        let original = try password()
        let readOnly = try module.cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION)
        #expect(returned { _ = try copy(original, (CKA_LABEL, [65]), in: readOnly) } == CKR_SESSION_READ_ONLY)
    }

    @Test func aPublicKeyOfASessionIsKeptByACopy() throws {
        let key = try PrivateKey.generate(.ecP256).publicKey
        let object = try publicKey(key)
        let kept = try copy(object, (CKA_TOKEN, [1]), (CKA_LABEL, Encoded.text("peer")))
        #expect(try module.value(session, kept, CKA_TOKEN) == [1])
        #expect(try module.value(session, kept, CKA_PUBLIC_KEY_INFO) == key.spki)
    }

    // MARK: In a session

    @Test func aSecretKeyIsCopiedWithItsBytes() throws {
        let original = try secretKey((CKA_LABEL, Encoded.text("one")), (CKA_ID, [1]))
        let copied = try copy(original, (CKA_ID, [2]))
        try module.cryptoki.destroyObject(session, original)
        #expect(try module.value(session, copied, CKA_VALUE) == Array(0..<32))
        #expect(try module.value(session, copied, CKA_LABEL) == Encoded.text("one"))
        #expect(try module.value(session, copied, CKA_ID) == [2])
    }

    @Test func aPublicKeyIsCopied() throws {
        let key = try PrivateKey.generate(.ecP256).publicKey
        let copied = try copy(publicKey(key), (CKA_LABEL, Encoded.text("other")))
        #expect(try module.value(session, copied, CKA_PUBLIC_KEY_INFO) == key.spki)
        #expect(try module.value(session, copied, CKA_ID) == [7])
    }

    @Test func theProtectionOfAKeyIsOnlyStrengthened() throws {
        let open = try secretKey()
        let closed = try copy(open, (CKA_SENSITIVE, [1]), (CKA_EXTRACTABLE, [0]))
        #expect(returned { _ = try module.value(session, closed, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
        #expect(returned { _ = try copy(closed, (CKA_SENSITIVE, [0])) } == CKR_ATTRIBUTE_READ_ONLY)
        #expect(returned { _ = try copy(closed, (CKA_EXTRACTABLE, [1])) } == CKR_ATTRIBUTE_READ_ONLY)
        let again = try copy(closed)
        #expect(returned { _ = try module.value(session, again, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
    }

    @Test func whatACopyCannotChangeItDoesNot() throws {
        let key = try secretKey()
        #expect(returned { _ = try copy(key, (CKA_VALUE, [1])) } == CKR_ATTRIBUTE_READ_ONLY)
        #expect(returned { _ = try copy(key, (CKA_CLASS, Encoded.ulong(CKO_DATA))) } == CKR_ATTRIBUTE_READ_ONLY)
        #expect(returned { _ = try copy(key, (CKA_MODULUS, [1])) } == CKR_ATTRIBUTE_TYPE_INVALID)
        #expect(returned { _ = try copy(key, (CKA_TOKEN, [1, 0])) } == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(returned { _ = try copy(0) } == CKR_OBJECT_HANDLE_INVALID)
        // The same value is no change.
        #expect(returned { _ = try copy(key, (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY))) } == CKR_OK)
    }

    // MARK: On a card

    @Test func nothingOnACardIsCopiedAndNothingToIt() throws {
        let own = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try own.session(loggedIn: true)
        for object in try own.find(session) {
            let result = returned { _ = try copy(object, (CKA_TOKEN, [0]), module: own, in: session) }
            #expect(result == CKR_ACTION_PROHIBITED)
        }
        let template = Template([(CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_VALUE, [1])])
        let key = try own.cryptoki.createObject(session, template)
        #expect(
            returned { _ = try copy(key, (CKA_TOKEN, [1]), module: own, in: session) } == CKR_TOKEN_WRITE_PROTECTED)
        #expect(try own.value(session, copy(key, module: own, in: session), CKA_VALUE) == [1])
    }
}
