import CCryptoki
import CryptokiNames
import Foundation
import KeychainHost
import KeychainModel
import Platform
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// A keychain in a file as a token: its password is the PIN, and programs may write to it.
@Suite struct KeychainTokenTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    @Test func settingsThatCannotBeReadKeepNoCardFromBeingUsed() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain(.p256, .yubiKey54)))
        _ = try module.keychain()
        #expect(module.slots.count == 2)
        let settings = module.process.preferences.directories.configuration + "/keychains.conf"
        try Data([0x6B, 0x3D, 0xFF, 0x0A]).write(to: URL(filePath: settings))
        #expect(module.slots.count == 1)
        _ = try module.session(loggedIn: true)
    }

    @Test func theTokenIsTheKeychain() throws {
        let token = try cryptoki.tokenInfo(module.slots[0])
        #expect(token.name.label == "login")
        #expect(token.name.serialNumber.count == 16)
        #expect(token.flags & CKF_WRITE_PROTECTED == 0)
        #expect(
            token.flags & (CKF_LOGIN_REQUIRED | CKF_TOKEN_INITIALIZED) == CKF_LOGIN_REQUIRED | CKF_TOKEN_INITIALIZED)
    }

    @Test func aCertificateAndBothHalvesOfItsKeyHaveOneId() throws {
        let key = try addIdentity("anna")
        let session = try session()
        let found = try module.find(session, (CKA_ID, key.publicKey.keyHash))
        let classes = try found.map { try module.value(session, $0, CKA_CLASS) }
        #expect(classes == [CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY].map(Encoded.ulong))
    }

    @Test func itsKeysAreHiddenUntilTheLoginAndItsCertificatesAreNot() throws {
        _ = try addIdentity("anna")
        keychain.lock()
        let session = try module.session()
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).isEmpty)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).count == 1)
        #expect(returned { try cryptoki.logIn(session, CKU_USER, pin: .of("wrong")) } == CKR_PIN_INCORRECT)
        try cryptoki.logIn(session, CKU_USER, pin: .of("open"))
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).count == 1)
    }

    @Test func equalLabelsAreToldApart() throws {
        for _ in 0..<3 { _ = try addIdentity("anna") }
        let session = try session()
        let labels = try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).map {
            String(decoding: try module.value(session, $0, CKA_LABEL), as: UTF8.self)
        }
        #expect(labels == ["anna", "anna (2)", "anna (3)"])
    }

    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP256, .ecP384, .ecP521, .ed25519])
    func itsKeysSignInSoftware(kind: KeyKind) throws {
        let key = try addIdentity("anna", kind)
        let session = try session()
        let message = Array("message".utf8)
        let type = kind.isRSA ? CKM_SHA256_RSA_PKCS : kind.isEC ? CKM_ECDSA_SHA256 : CKM_EDDSA
        let handle = try module.key(session, key.publicKey.keyHash)
        let signature = try module.sign(session, MechanismRequest(type), handle, message)
        try cryptoki.verifyInit(
            session, MechanismRequest(type), key: module.key(session, key.publicKey.keyHash, CKO_PUBLIC_KEY))
        try cryptoki.verify(session, message, signature: signature)
    }

    @Test func passwordsAreDataObjectsWhoseValueIsReadWhenAskedFor() throws {
        try keychain.add(
            .genericPassword([.account: "anna", .service: "mail", .label: "Mail"], secret: .of("s3cret")))
        let session = try session()
        let found = try module.find(
            session, (CKA_CLASS, Encoded.ulong(CKO_DATA)), (CKA_APPLICATION, Array("mail".utf8)))
        let object = try #require(found.first)
        #expect(try module.value(session, object, CKA_LABEL) == Array("Mail".utf8))
        #expect(try module.value(session, object, CKA_VALUE) == Array("s3cret".utf8))
        try cryptoki.logOut(session)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA))).isEmpty)
    }

    @Test(arguments: [CKM_EC_KEY_PAIR_GEN, CKM_RSA_PKCS_KEY_PAIR_GEN])
    func keysAreGenerated(type: CK_MECHANISM_TYPE) throws {
        let session = try session()
        let publicTemplate = Template([
            (CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? []), (CKA_MODULUS_BITS, Encoded.ulong(2048)),
            (CKA_PUBLIC_EXPONENT, [1, 0, 1]),
        ])
        let privateTemplate = Template([(CKA_TOKEN, [1]), (CKA_LABEL, Array("mine".utf8)), (CKA_EXTRACTABLE, [0])])
        let pair = try cryptoki.generateKeyPair(session, MechanismRequest(type), publicTemplate, privateTemplate)
        #expect(try module.value(session, pair.privateKey, CKA_LABEL) == Array("mine".utf8))
        #expect(try module.value(session, pair.privateKey, CKA_ID) == module.value(session, pair.publicKey, CKA_ID))
        let sign = type == CKM_EC_KEY_PAIR_GEN ? CKM_ECDSA_SHA256 : CKM_SHA256_RSA_PKCS
        let signature = try module.sign(session, MechanismRequest(sign), pair.privateKey, [1, 2, 3])
        try cryptoki.verifyInit(session, MechanismRequest(sign), key: pair.publicKey)
        try cryptoki.verify(session, [1, 2, 3], signature: signature)
    }

    @Test func anotherFileInTheSamePlaceIsAnotherToken() throws {
        let session = try session()
        let slot = module.slots[0]
        try module.process.preferences.delete(keychain.path)
        #expect(module.slots.isEmpty)
        _ = try module.keychain()
        #expect(module.slots == [slot])
        #expect(returned { _ = try module.find(session) } == CKR_DEVICE_REMOVED)
        let later = try self.session()
        _ = try cryptoki.generateKeyPair(
            later, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])]), Template([(CKA_TOKEN, [1])]))
        #expect(try module.find(later, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).count == 1)
    }

    // MARK: Writing

    @Test func objectsAreCreatedRenamedAndDestroyed() throws {
        let session = try session()
        let key = try PrivateKey.generate(.ecP256)
        let certificate = try CertificateBuilder(
            commonName: "new", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000
        ).selfSigned(by: key)
        let object = try cryptoki.createObject(
            session,
            Template([
                (CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)), (CKA_LABEL, Array("first".utf8)),
                (CKA_VALUE, certificate.der),
            ]))
        #expect(try module.value(session, object, CKA_LABEL) == Array("first".utf8))
        try cryptoki.setAttributes(session, object, to: Template([(CKA_LABEL, Array("second".utf8))]))
        #expect(try module.value(session, object, CKA_LABEL) == Array("second".utf8))
        let fixed = returned { try cryptoki.setAttributes(session, object, to: Template([(CKA_VALUE, [1])])) }
        #expect(fixed == CKR_ATTRIBUTE_READ_ONLY)
        try cryptoki.destroyObject(session, object)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).isEmpty)
        #expect(returned { try cryptoki.destroyObject(session, object) } == CKR_OBJECT_HANDLE_INVALID)
    }

    @Test func aPrivateKeyIsBroughtByItsNumbers() throws {
        let session = try session()
        let key = try PrivateKey.generate(.ecP256)
        let external = try key.externalRepresentation().copy
        let object = try cryptoki.createObject(
            session,
            Template([
                (CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)),
                (CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? []), (CKA_VALUE, Array(external.suffix(32))),
            ]))
        let signature = try module.sign(session, MechanismRequest(CKM_ECDSA_SHA256), object, [1])
        let der = try ECDSASignature.der(fromFixedWidth: signature)
        #expect(try key.publicKey.verify(der, message: [1], using: .ecdsa(.sha256)))
    }

    @Test func aTemplateThatCannotBeRightCreatesNothing() throws {
        let session = try session()
        func create(_ attributes: (CK_ATTRIBUTE_TYPE, [UInt8])...) -> CK_RV {
            returned {
                let template = Template(attributes.map { (type: $0.0, value: $0.1) } + [(CKA_TOKEN, [1])])
                _ = try cryptoki.createObject(session, template)
            }
        }
        #expect(create() == CKR_TEMPLATE_INCOMPLETE)
        #expect(create((CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))) == CKR_TEMPLATE_INCOMPLETE)
        #expect(create((CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)), (CKA_VALUE, [1])) == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(create((CKA_CLASS, [1])) == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(create((CKA_CLASS, Encoded.ulong(CKO_HW_FEATURE))) == CKR_TEMPLATE_INCONSISTENT)
        #expect(create((CKA_CLASS, Encoded.ulong(CKO_DATA)), (CKA_LABEL, [0xFF])) == CKR_ATTRIBUTE_VALUE_INVALID)
        let curve: [UInt8] = [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x0A]
        let key = create(
            (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)), (CKA_EC_PARAMS, curve),
            (CKA_VALUE, [1]))
        #expect(key == CKR_CURVE_NOT_SUPPORTED)
        #expect(try module.find(session).count == 1)
    }

    @Test func aReadOnlySessionChangesNothing() throws {
        let writable = try session()
        try keychain.add(.genericPassword([.account: "anna"], secret: .of("x")))
        let session = try cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION)
        let template = Template([(CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_DATA))])
        #expect(returned { _ = try cryptoki.createObject(session, template) } == CKR_SESSION_READ_ONLY)
        let object = try #require(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA))).first)
        #expect(returned { try cryptoki.destroyObject(session, object) } == CKR_SESSION_READ_ONLY)
        try cryptoki.destroyObject(writable, object)
    }

    @Test func itsPasswordIsChanged() throws {
        let session = try module.session()
        #expect(returned { try cryptoki.setPIN(session, from: .of("wrong"), to: .of("new")) } == CKR_PIN_INCORRECT)
        try cryptoki.setPIN(session, from: .of("open"), to: .of("new"))
        try cryptoki.logIn(session, CKU_USER, pin: .of("new"))
    }
}
