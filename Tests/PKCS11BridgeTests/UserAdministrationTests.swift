import CCryptoki
import HostAPI
import KeychainHost
import KeychainModel
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import PKCS11Bridge

/// The user of a program that administers cards changes one, as programs without a security officer want it.
@Suite struct UserAdministrationTests {
    private static let administers = PromptPolicy(administersCards: true)

    /// A card whose management key it keeps itself, under the PIN.
    private static func cardWithItsKey(
        _ policy: PromptPolicy = administers, log: Log = Log()
    ) throws -> TestModule {
        let module = try TestModule(
            VirtualReader(card: VirtualCard(profile: .yubiKey57)), promptPolicy: policy, log: log)
        let card = try #require(try module.host.keychains(.cards, RequestContext(questions: .never)).found.first)
        _ = try module.host.administer(
            card.identifier, .setManagementKey(CardManagementKey(nil, nil, touch: .never, isKeptOnCard: true)),
            by: .found, RequestContext(questions: .never, credentials: [.init(.pin, .of("123456"))]))
        return module
    }

    @discardableResult
    private func generate(
        _ module: TestModule, _ session: CK_SESSION_HANDLE, id: [UInt8]
    ) throws -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        let kept = [(type: CKA_TOKEN, value: Encoded.bool(true)), (type: CKA_ID, value: id)]
        return try module.cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN, .none),
            Template(kept + [(type: CKA_EC_PARAMS, value: KeyKind.ecP256.curveParameters ?? [])]), Template(kept))
    }

    private func flags(_ module: TestModule) throws -> CK_FLAGS {
        try module.cryptoki.tokenInfo(module.cryptoki.slotList(withToken: true, refreshing: true)[0]).flags
    }

    private func sign(_ module: TestModule, _ session: CK_SESSION_HANDLE, id: [UInt8]) throws {
        let digest = [UInt8](repeating: 0x5A, count: 32)
        let mechanism = MechanismRequest(CKM_ECDSA, .none)
        let signature = try module.sign(session, mechanism, module.key(session, id), digest)
        try module.cryptoki.verifyInit(session, mechanism, key: module.key(session, id, CKO_PUBLIC_KEY))
        try module.cryptoki.verify(session, digest, signature: signature)
    }

    @Test func thePINOfTheLoginChangesACardThatKeepsItsKey() throws {
        let module = try Self.cardWithItsKey()
        #expect(try flags(module) & CKF_WRITE_PROTECTED == 0)
        let session = try module.session()
        #expect(returned { try generate(module, session, id: [1]) } == CKR_USER_NOT_LOGGED_IN)
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        try generate(module, session, id: [1])
        // The login is a user's before and after.
        #expect(try module.cryptoki.sessionInfo(session).state == CKS_RW_USER_FUNCTIONS)
        try sign(module, session, id: [1])
        try generate(module, session, id: [2])
        try module.cryptoki.logOut(session)
        #expect(returned { try generate(module, session, id: [3]) } == CKR_USER_NOT_LOGGED_IN)
    }

    @Test func otherProgramsFindTheCardWriteProtected() throws {
        let module = try Self.cardWithItsKey(PromptPolicy())
        #expect(try flags(module) & CKF_WRITE_PROTECTED != 0)
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(returned { try generate(module, session, id: [1]) } == CKR_TOKEN_WRITE_PROTECTED)
        #expect(module.readers[0].commands.allSatisfy { $0.ins != 0x47 })
    }

    /// The management key is in that object, and nobody else has it.
    @Test func theObjectWithTheManagementKeyStaysAsItIs() throws {
        let module = try Self.cardWithItsKey()
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        let label = (type: CKA_LABEL, value: Array("Printed Information".utf8))
        let data = [(type: CKA_CLASS, value: Encoded.ulong(CKO_DATA)), label]
        let value = (type: CKA_VALUE, value: [1] as [UInt8])
        let handle = try #require(try module.find(session, data[0], data[1]).first)
        let create = Template(data + [value, (type: CKA_TOKEN, value: Encoded.bool(true))])
        #expect(
            returned { _ = try module.cryptoki.createObject(session, create) } == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(
            returned { try module.cryptoki.setAttributes(session, handle, to: Template([value])) }
                == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(returned { try module.cryptoki.destroyObject(session, handle) } == CKR_ACTION_PROHIBITED)
        try generate(module, session, id: [1])
    }

    /// NSS gives a new key the hash of its public half as id, and destroys the key where that is refused.
    @Test func anIdThatAProgramMakesUpLeavesTheKeyInItsSlot() throws {
        let module = try Self.cardWithItsKey()
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        let pair = try generate(module, session, id: [1])
        let hash = Template([(type: CKA_ID, value: [UInt8](repeating: 0xA7, count: 20))])
        for key in [pair.publicKey, pair.privateKey] {
            try module.cryptoki.setAttributes(session, key, to: hash)
            #expect(try module.value(session, key, CKA_ID) == [1])
        }
    }

    @Test func aCardThatKeepsNoKeyIsChangedByAPersonWhoGivesIt() throws {
        let prompter = AnswersByScript(SecurityOfficerTests.factory)
        let module = try TestModule(
            VirtualReader(card: VirtualCard(profile: .generic)),
            promptPolicy: PromptPolicy(administersCards: true, prompter: prompter))
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        try generate(module, session, id: [1])
        try generate(module, session, id: [2])
        #expect(prompter.timesAsked == 1)
    }

    @Test func aCardThatKeepsNoKeyIsNotChangedWithoutAPerson() throws {
        let module = try TestModule(
            VirtualReader(card: VirtualCard(profile: .yubiKey57)), promptPolicy: Self.administers)
        let session = try module.session()
        try module.cryptoki.logIn(session, CKU_USER, pin: .of("123456"))
        #expect(returned { try generate(module, session, id: [1]) } != CKR_OK)
        #expect(module.readers[0].commands.allSatisfy { $0.ins != 0x47 })
    }

    @Test(arguments: [("certutil", true), ("cert", false), ("", false)])
    func programsAreNamed(_ program: String, _ administers: Bool) {
        let policy = PromptPolicy(
            variable: nil, administrators: "keytool,certutil", program: program, prompter: AnswersByScript())
        #expect(policy.administersCards == administers)
        // By root's rule, whatever the variable says.
        let ruled = PromptPolicy(variable: nil, program: program, prompter: AnswersByScript(), mayAdminister: true)
        #expect(ruled.administersCards)
    }
}
