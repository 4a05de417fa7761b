import CCryptoki
import CryptokiNames
import KeychainHost
import KeychainModel
import Platform
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PKCS11Bridge

/// A card that is not PIV, with its own driver: nothing in the module depends on PIV.
@Suite struct OtherCardTests {
    private static let digest = [UInt8](repeating: 0x5A, count: 32)

    private static var context: AuthenticationContext {
        let context = AuthenticationContext()
        context.setCredential(.of("4711"), .pin)
        return context
    }

    private let folder: TemporaryFolder
    private let card: BadgeCard
    private let process: ProcessKeychains
    private let cryptoki: Cryptoki

    init() throws {
        let folder = try TemporaryFolder()
        let card = try BadgeCard()
        let preferences = KeychainPreferences(
            directories: Directories(system: folder.path + "/etc") {
                ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path + "/run"][$0]
            })
        process = ProcessKeychains(
            preferences, drivers: { _ in [BadgeDriver()] }, readers: { [BadgeReader(card)] })
        cryptoki = Cryptoki(Host(forTokensOf: process, prompter: nil, touchPrompter: nil))
        (self.folder, self.card) = (folder, card)
    }

    private func session() throws -> CK_SESSION_HANDLE {
        let slot = try #require(cryptoki.slotList(withToken: true, refreshing: true).first)
        return try cryptoki.openSession(slot, flags: CKF_SERIAL_SESSION | CKF_RW_SESSION)
    }

    private func key(_ session: CK_SESSION_HANDLE, id: [UInt8]) throws -> CK_OBJECT_HANDLE? {
        let template = Template([(type: CKA_CLASS, value: Encoded.ulong(CKO_PRIVATE_KEY)), (type: CKA_ID, value: id)])
        try cryptoki.findObjectsInit(session, template)
        defer { try? cryptoki.findObjectsFinal(session) }
        return try cryptoki.findObjects(session, limit: 2).first
    }

    @Test func itsTokenIsDescribedByItsDriver() throws {
        let slot = try #require(cryptoki.slotList(withToken: true, refreshing: true).first)
        let info = try cryptoki.tokenInfo(slot)
        #expect(info.name.label == "Badge 12")
        #expect(info.pinLengths == 4...4)
    }

    @Test func itsKeyIsFoundByTheNameThatTheDriverGivesItAndSigns() throws {
        let session = try session()
        #expect(returned { try cryptoki.logIn(session, CKU_USER, pin: .of("12345")) } == CKR_PIN_LEN_RANGE)
        #expect(returned { try cryptoki.logIn(session, CKU_USER, pin: .of("1234")) } == CKR_PIN_INCORRECT)
        try cryptoki.logIn(session, CKU_USER, pin: .of("4711"))
        #expect(try key(session, id: [1]) == nil)
        let key = try #require(try key(session, id: Array("door".utf8)))
        try cryptoki.signInit(session, MechanismRequest(CKM_ECDSA), key: key)
        let signature = try bytes(of: cryptoki.sign(session, Self.digest, .bytes(64)))
        let der = try ECDSASignature.der(fromFixedWidth: signature)
        #expect(try card.publicKey.verify(der, digest: Self.digest, using: .ecdsa(nil)))
        #expect(card.pinsSent == 2)
    }

    @Test func itsKeyIsFoundAndUsedByTheKeychainSessionToo() throws {
        let list = try process.present().searchList
        let items = try list.items(matching: Query(.key, limit: .all)).found
        #expect(items.map(\.label) == ["Door key"])
        #expect(items.map { $0[.tokenID] } == [.string("badge:12")])
        let found = try #require(try list.keys(.name("door")).found.first)
        let signature = try found.perform(
            .sign(.ecdsa(nil), Self.digest), use: "sign", authentication: Self.context)
        #expect(try card.publicKey.verify(signature.copy, digest: Self.digest, using: .ecdsa(nil)))
    }

    @Test func noKeyOfItIsTakenToBindAKeychain() throws {
        let keychain = try process.preferences.create(
            "login", password: Secret.of("open"), cost: ScryptCost(n: 2, r: 1, p: 1))
        try keychain.unlock(password: Secret.of("open"))
        let token = try #require(try process.present().tokens.first)
        let context = Self.context
        #expect(throws: KeychainError.self) { try keychain.bind(to: token, authentication: context) }
        #expect(throws: KeychainError.self) { try keychain.bind(to: token, key: "door", authentication: context) }
        #expect(card.pinsSent == 0)
    }
}
