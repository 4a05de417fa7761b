import CCryptoki
import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import PKCS11Bridge
@testable import VirtualCard

/// The security officer puts keys, certificates and data on cards: PKCS #11 §5.5.8, §5.6.8, §5.7, §5.18.2.
@Suite struct SecurityOfficerTests {
    static let profiles = CardProfile.all.filter { $0.transport.interface == .contact && !$0.has(.noManagementKey) }
    static let factory = "010203040506070801020304050607080102030405060708"
    private static let digest = [UInt8](repeating: 0x5A, count: 32)

    /// A module with one card, on which nothing is.
    private static func blank(_ profile: CardProfile = .yubiKey57) throws -> TestModule {
        try blank(VirtualCard(profile: profile))
    }

    private static func blank(_ card: VirtualCard) throws -> TestModule { try TestModule(VirtualReader(card: card)) }

    private func officer(_ module: TestModule) throws -> CK_SESSION_HANDLE {
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_SO, pin: .of(Self.factory))
        return session
    }

    @discardableResult
    private func generate(
        _ module: TestModule, _ session: CK_SESSION_HANDLE, id: [UInt8]? = nil,
        _ attributes: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])] = []
    ) throws -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        let kept = [(type: CKA_TOKEN, value: Encoded.bool(true))] + (id.map { [(type: CKA_ID, value: $0)] } ?? [])
        return try module.cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN, .none),
            Template(kept + [(type: CKA_EC_PARAMS, value: KeyKind.ecP256.curveParameters ?? [])]),
            Template(kept + attributes))
    }

    private func importKey(
        _ module: TestModule, _ session: CK_SESSION_HANDLE, id: [UInt8]
    ) throws -> (handle: CK_OBJECT_HANDLE, key: PrivateKey) {
        let scalar = [UInt8](repeating: 0x5A, count: 32)
        var template = Template([
            (type: CKA_CLASS, value: Encoded.ulong(CKO_PRIVATE_KEY)), (type: CKA_TOKEN, value: Encoded.bool(true)),
            (type: CKA_KEY_TYPE, value: Encoded.ulong(CKK_EC)), (type: CKA_ID, value: id),
            (type: CKA_EC_PARAMS, value: KeyKind.ecP256.curveParameters ?? []),
        ])
        template.append(CKA_VALUE, scalar.span)
        return (
            try module.cryptoki.createObject(session, template),
            try PrivateKey(ecScalar: Secret(copying: scalar.span), curve: .ecP256)
        )
    }

    private func template(of certificate: Certificate, id: [UInt8]? = nil) -> Template {
        Template(
            [
                (type: CKA_CLASS, value: Encoded.ulong(CKO_CERTIFICATE)), (type: CKA_TOKEN, value: Encoded.bool(true)),
                (type: CKA_CERTIFICATE_TYPE, value: Encoded.ulong(CKC_X_509)),
                (type: CKA_VALUE, value: certificate.der),
            ] + (id.map { [(type: CKA_ID, value: $0)] } ?? []))
    }

    private func certificate(for key: PublicKey, _ usage: KeyUsage = .digitalSignature) throws -> Certificate {
        var builder = try CertificateBuilder(
            commonName: "Jo", publicKey: key, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.keyUsage = usage
        return try builder.selfSigned(by: PrivateKey.generate(.ecP256))
    }

    /// What every kind of card must do, from blank: a key, its certificate, and a signature of the user's in another login.
    @Test(arguments: profiles) func aBlankCardGetsAKeyAndItsCertificate(_ profile: CardProfile) throws {
        let module = try Self.blank(profile)
        let session = try officer(module)
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_SO_FUNCTIONS)
        let privateKey: CK_OBJECT_HANDLE
        if [CardProfile.yubiKey54.name, CardProfile.yubiKey531.name].contains(profile.name) {
            // Their own EC keys can be found out (EUCLEAK).
            #expect(returned { try generate(module, session, id: [1]) } == CKR_ACTION_PROHIBITED)
            privateKey = try importKey(module, session, id: [1]).handle
        } else {
            privateKey = try generate(module, session, id: [1]).privateKey
        }
        let key = try module.publicKey(session, [1])
        #expect(try module.value(session, privateKey, CKA_ID) == [1])
        let certificate = try certificate(for: key)
        let handle = try module.cryptoki.createObject(session, template(of: certificate))
        #expect(try module.value(session, handle, CKA_VALUE) == certificate.der)
        #expect(try module.value(session, handle, CKA_ID) == [1])
        try module.cryptoki.logOut(session)
        guard !profile.name.contains("jc22") else { return }
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        let mechanism = MechanismRequest(CKM_ECDSA, .none)
        let signature = try module.sign(session, mechanism, module.key(session, [1]), Self.digest)
        try module.cryptoki.verifyInit(session, mechanism, key: module.key(session, [1], CKO_PUBLIC_KEY))
        try module.cryptoki.verify(session, Self.digest, signature: signature)
    }

    // MARK: Login

    @Test func aWrongManagementKeyIsRefused() throws {
        let module = try Self.blank()
        let session = try module.session()
        let wrong = String(repeating: "07", count: 24)
        for (pin, wanted) in [
            (wrong, CKR_PIN_INCORRECT), ("123456", CKR_PIN_LEN_RANGE), ("0102", CKR_PIN_LEN_RANGE),
            ("", CKR_PIN_LEN_RANGE),
        ] {
            #expect(returned { try module.cryptoki.logIn(session, CKU_SO, pin: .of(pin)) } == wanted, "\(pin)")
        }
        #expect(module.reader.pinsSent == 0)
        #expect(returned { try generate(module, session, id: [1]) } == CKR_TOKEN_WRITE_PROTECTED)
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_PUBLIC_SESSION)
        #expect(returned { try module.cryptoki.logIn(session, CKU_SO, pin: nil) } == CKR_ARGUMENTS_BAD)
    }

    @Test func userAndSecurityOfficerExcludeEachOther() throws {
        let module = try Self.blank()
        let session = try officer(module)
        let cryptoki = module.cryptoki
        #expect(returned { try cryptoki.logIn(session, CKU_SO, pin: .of(Self.factory)) } == CKR_USER_ALREADY_LOGGED_IN)
        #expect(
            returned { try cryptoki.logIn(session, CKU_USER, pin: .of("123456")) }
                == CKR_USER_ANOTHER_ALREADY_LOGGED_IN)
        let readOnly = { try _ = cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION) }
        #expect(returned(readOnly) == CKR_SESSION_READ_WRITE_SO_EXISTS)
        try cryptoki.logOut(session)
        #expect(returned { try generate(module, session) } == CKR_TOKEN_WRITE_PROTECTED)
        try readOnly()
        #expect(
            returned { try cryptoki.logIn(session, CKU_SO, pin: .of(Self.factory)) } == CKR_SESSION_READ_ONLY_EXISTS)
        try cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(returned { try generate(module, session) } == CKR_TOKEN_WRITE_PROTECTED)
    }

    @Test func theLoginEndsWithTheCard() throws {
        let card = try VirtualCard(profile: .yubiKey57)
        let module = try Self.blank(card)
        let session = try officer(module)
        try generate(module, session, id: [1])
        module.reader.remove()
        module.reader.insert(card)
        #expect(returned { try generate(module, session, id: [2]) } == CKR_TOKEN_WRITE_PROTECTED)
        #expect(module.reader.log.count { $0.ins == 0x47 } == 1)
    }

    @Test func onlyTheProgramThatLoggedInChangesTheCard() throws {
        let module = try Self.blank()
        _ = try officer(module)
        let other = try TestModule(module.reader, sharing: module)
        let session = try other.session()
        #expect(returned { try generate(other, session) } == CKR_TOKEN_WRITE_PROTECTED)
    }

    @Test func thePINServesWhereTheCardKeepsTheManagementKey() throws {
        let module = try Self.blank()
        let card = try #require(try module.host.keychains(.cards, RequestContext(questions: .never)).found.first)
        let kept = CardManagementKey(nil, nil, touch: .never, isKeptOnCard: true)
        _ = try module.host.administer(
            card.identifier, .setManagementKey(kept), by: .found,
            RequestContext(questions: .never, credentials: [.init(.pin, .of("123456"))]))
        let session = try module.session()
        for (pin, wanted) in [("654321", CKR_PIN_INCORRECT), (Self.factory, CKR_PIN_INCORRECT), ("123456", CKR_OK)] {
            #expect(returned { try module.cryptoki.logIn(session, CKU_SO, pin: .of(pin)) } == wanted)
        }
        try generate(module, session, id: [1])
        // Nobody but the card knows the key, so that it is set where the PIN is asked for.
        #expect(
            returned { try module.cryptoki.setPIN(session, from: .of("123456"), to: .of(Self.factory)) }
                == CKR_PIN_INCORRECT)
        try generate(module, session, id: [2])
    }

    @Test func theHostAsksForTheManagementKey() throws {
        let prompter = AnswersByScript(Self.factory)
        let module = try TestModule(
            VirtualReader(card: VirtualCard(profile: .yubiKey57)), promptPolicy: PromptPolicy(prompter: prompter))
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_SO, pin: nil)
        #expect(prompter.timesAsked == 1)
        try generate(module, session, id: [1])
    }

    @Test func anotherManagementKeyIsSet() throws {
        let module = try Self.blank()
        let session = try officer(module)
        let new = String(repeating: "A5", count: 24)
        try module.cryptoki.setPIN(session, from: .of(Self.factory), to: .of(new))
        // The login goes on with the new key, and the former one is worth nothing.
        try generate(module, session, id: [1])
        try module.cryptoki.logOut(session)
        let former = returned { try module.cryptoki.logIn(session, CKU_SO, pin: .of(Self.factory)) }
        #expect(former == CKR_PIN_INCORRECT)
        try module.cryptoki.logIn(session, CKU_SO, pin: .of(new))
        #expect(
            returned { try module.cryptoki.setPIN(session, from: .of(Self.factory), to: .of(Self.factory)) }
                == CKR_PIN_INCORRECT)
        #expect(
            returned { try module.cryptoki.setPIN(session, from: .of(new), to: .of("123456")) } == CKR_PIN_LEN_RANGE)
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_SO_FUNCTIONS)
    }

    // MARK: Keys

    @Test func aKeyWithoutAnIdGetsTheFirstFreeSlotOfItsUse() throws {
        let module = try Self.blank()
        let session = try officer(module)
        let ids = try [[], [], [(type: CKA_DERIVE, value: Encoded.bool(true))]].map { attributes in
            try module.value(session, generate(module, session, attributes).privateKey, CKA_ID)
        }
        #expect(ids == [[1], [2], [3]])
        #expect(returned { try generate(module, session) } == CKR_DEVICE_MEMORY)
        // An id of another kind, as GnuTLS makes one, names no slot.
        #expect(returned { try generate(module, session, id: [9, 9, 9]) } == CKR_DEVICE_MEMORY)
        #expect(try module.value(session, generate(module, session, id: [5]).privateKey, CKA_ID) == [5])
    }

    @Test func noKeyIsReplaced() throws {
        let module = try Self.blank()
        let session = try officer(module)
        let pair = try generate(module, session, id: [1])
        let spki = try module.value(session, pair.publicKey, CKA_PUBLIC_KEY_INFO)
        #expect(returned { try generate(module, session, id: [1]) } == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(try module.value(session, module.key(session, [1], CKO_PUBLIC_KEY), CKA_PUBLIC_KEY_INFO) == spki)
        try module.cryptoki.destroyObject(session, pair.privateKey)
        #expect(returned { _ = try module.key(session, [1]) } == CKR_KEY_HANDLE_INVALID)
        try generate(module, session, id: [1])
    }

    @Test func aKeyThatDecryptsOutlivesItsDestruction() throws {
        let module = try Self.blank()
        let session = try officer(module)
        let pair = try generate(module, session, id: [3])
        let key = try PublicKey(spki: module.value(session, pair.publicKey, CKA_PUBLIC_KEY_INFO))
        let certificate = try certificate(for: key, .keyAgreement)
        let handle = try module.cryptoki.createObject(session, template(of: certificate, id: [3]))
        #expect(
            returned { try module.cryptoki.destroyObject(session, pair.privateKey) } == CKR_ACTION_PROHIBITED)
        #expect(returned { try module.cryptoki.destroyObject(session, pair.publicKey) } == CKR_ACTION_PROHIBITED)
        // Its user says that it decrypts no longer.
        try module.cryptoki.destroyObject(session, handle)
        try module.cryptoki.destroyObject(session, module.key(session, [3]))
        #expect(returned { _ = try module.key(session, [3]) } == CKR_KEY_HANDLE_INVALID)
    }

    @Test(arguments: [CardProfile.yubiKey43, .generic]) func aCardThatDeletesNoKeyKeepsIt(_ profile: CardProfile) throws
    {
        let module = try Self.blank(profile)
        let session = try officer(module)
        let pair = try generate(module, session, id: [1])
        #expect(returned { try module.cryptoki.destroyObject(session, pair.privateKey) } == CKR_ACTION_PROHIBITED)
        #expect(returned { _ = try module.key(session, [1]) } == CKR_OK)
    }

    @Test func aKeyIsImportedAndMoved() throws {
        let module = try Self.blank()
        let session = try officer(module)
        let (handle, key) = try importKey(module, session, id: [3])
        #expect(try module.publicKey(session, [3]) == key.publicKey)
        try module.cryptoki.setAttributes(session, handle, to: Template([(type: CKA_ID, value: [5])]))
        #expect(try module.publicKey(session, [5]) == key.publicKey)
        #expect(returned { _ = try module.key(session, [3]) } == CKR_KEY_HANDLE_INVALID)
    }

    @Test func policiesAreThoseOfTheTemplate() throws {
        let card = try VirtualCard(profile: .yubiKey57)
        let module = try Self.blank(card)
        let session = try officer(module)
        try generate(module, session, id: [1], [(type: CKA_ALWAYS_AUTHENTICATE, value: Encoded.bool(true))])
        try generate(
            module, session, id: [2], [(type: 0xD955_4202, value: [1]), (type: 0xD955_4201, value: Encoded.ulong(3))])
        let keys = card.contents.keys
        #expect(keys[.authentication]?.pinPolicy == .always)
        #expect(keys[.signature]?.pinPolicy == .never && keys[.signature]?.touchPolicy == .cached)
        #expect(
            returned { try generate(module, session, id: [3], [(type: 0xD955_4202, value: [9])]) }
                == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(
            returned { try generate(module, session, id: [3], [(type: CKA_EXTRACTABLE, value: Encoded.bool(true))]) }
                == CKR_TEMPLATE_INCONSISTENT)
    }

    // MARK: Certificates and data

    @Test func aCertificateOfNoKeyOfTheCardIsRefused() throws {
        let module = try Self.blank()
        let session = try officer(module)
        try generate(module, session, id: [1])
        let other = try certificate(for: PrivateKey.generate(.ecP256).publicKey)
        let create = { (id: [UInt8]?) in
            returned { _ = try module.cryptoki.createObject(session, template(of: other, id: id)) }
        }
        #expect(create(nil) == CKR_TEMPLATE_INCONSISTENT)
        #expect(create([1]) == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).isEmpty)
    }

    @Test func aCertificateIsRenewedAndRemoved() throws {
        let module = try Self.blank()
        let session = try officer(module)
        let pair = try generate(module, session, id: [1])
        let key = try PublicKey(spki: module.value(session, pair.publicKey, CKA_PUBLIC_KEY_INFO))
        let handle = try module.cryptoki.createObject(session, template(of: certificate(for: key), id: [1]))
        let renewed = try certificate(for: key)
        try module.cryptoki.setAttributes(session, handle, to: Template([(type: CKA_VALUE, value: renewed.der)]))
        let found = try module.key(session, [1], CKO_CERTIFICATE)
        #expect(try module.value(session, found, CKA_VALUE) == renewed.der)
        #expect(
            returned {
                try module.cryptoki.setAttributes(session, found, to: Template([(type: CKA_LABEL, value: [0x61])]))
            } == CKR_ATTRIBUTE_READ_ONLY)
        try module.cryptoki.destroyObject(session, found)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE))).isEmpty)
        #expect(try !module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).isEmpty)
    }

    @Test func dataIsWrittenChangedAndRemoved() throws {
        let module = try Self.blank()
        let session = try officer(module)
        let label = (type: CKA_LABEL, value: Array("Security Object".utf8))
        var template = Template([
            (type: CKA_CLASS, value: Encoded.ulong(CKO_DATA)), (type: CKA_TOKEN, value: Encoded.bool(true)), label,
        ])
        template.append(CKA_VALUE, ([1, 2, 3] as [UInt8]).span)
        let handle = try module.cryptoki.createObject(session, template)
        #expect(try module.value(session, handle, CKA_VALUE) == [1, 2, 3])
        try module.cryptoki.setAttributes(session, handle, to: Template([(type: CKA_VALUE, value: [4, 5])]))
        let isThere = { try !module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA)), label).isEmpty }
        let found = try #require(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA)), label).first)
        #expect(try module.value(session, found, CKA_VALUE) == [4, 5])
        try module.cryptoki.destroyObject(session, found)
        #expect(try !isThere())
        let unknown = Template([
            (type: CKA_CLASS, value: Encoded.ulong(CKO_DATA)), (type: CKA_TOKEN, value: Encoded.bool(true)),
            (type: CKA_LABEL, value: Array("diary".utf8)), (type: CKA_VALUE, value: [1]),
        ])
        #expect(returned { _ = try module.cryptoki.createObject(session, unknown) } == CKR_TEMPLATE_INCONSISTENT)
    }

    // MARK: PIN

    @Test func aBlockedPINIsSetByThePUKOfAPerson() throws {
        let prompter = AnswersByScript("12345678")
        let module = try TestModule(
            VirtualReader(card: VirtualCard(profile: .yubiKey57)), promptPolicy: PromptPolicy(prompter: prompter))
        let session = try module.session()
        for pin in ["111111", "222222", "333333"] {
            _ = returned { try module.cryptoki.logIn(session, CKU_USER, pin: .of(pin)) }
        }
        #expect(returned { try module.cryptoki.initPIN(session, .of("654321")) } == CKR_USER_NOT_LOGGED_IN)
        try module.cryptoki.logIn(session, CKU_SO, pin: .of(Self.factory))
        #expect(returned { try module.cryptoki.initPIN(session, .of("12")) } == CKR_PIN_LEN_RANGE)
        try module.cryptoki.initPIN(session, .of("654321"))
        try module.cryptoki.logOut(session)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("654321"))
    }
}
