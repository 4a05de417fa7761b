import CCryptoki
import CryptokiNames
import KeychainHost
import KeychainModel
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PKCS11Bridge

/// A program's view of a keychain that another program changes meanwhile.
@Suite struct OtherProgramTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain
    private let other: TestModule

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
        other = try TestModule(sharing: module)
    }

    private static let gone = CKR_OBJECT_HANDLE_INVALID

    /// A session of the other program with the same token.
    private func elsewhere() throws -> CK_SESSION_HANDLE { try other.session(loggedIn: true, pin: "open") }

    private func destroy(_ session: CK_SESSION_HANDLE, _ id: [UInt8], _ objectClass: CK_OBJECT_CLASS) throws {
        try other.cryptoki.destroyObject(session, other.key(session, id, objectClass))
    }

    private func read(_ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE) -> CK_RV {
        returned { _ = try module.value(session, object, CKA_ID) }
    }

    @Test(arguments: [CKO_PRIVATE_KEY, CKO_CERTIFICATE])
    func whatAnotherProgramDeletedIsNoObjectAnyMore(objectClass: CK_OBJECT_CLASS) throws {
        let id = try addIdentity("anna").publicKey.keyHash
        let (session, elsewhere) = (try session(), try elsewhere())
        let object = try module.key(session, id, objectClass)
        #expect(read(session, object) == CKR_OK)
        try destroy(elsewhere, id, objectClass)
        #expect(read(session, object) == Self.gone)
        #expect(returned { _ = try cryptoki.objectSize(object, in: session) } == Self.gone)
        #expect(returned { try cryptoki.destroyObject(session, object) } == Self.gone)
        let label = Template([(CKA_LABEL, [0x61])])
        #expect(returned { try cryptoki.setAttributes(session, object, to: label) } == Self.gone)
        #expect(returned { _ = try cryptoki.copyObject(session, object, Template()) } == Self.gone)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(objectClass))).isEmpty)
    }

    /// No operation begins with a deleted key, which its end would not find.
    @Test func aKeyThatAnotherProgramDeletedBeginsNothing() throws {
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        try keychain.add(.privateKey(key))
        let peer = try PrivateKey.generate(.ecP256)
        try keychain.add(.privateKey(peer))
        let (session, elsewhere) = (try session(), try elsewhere())
        let id = key.publicKey.keyHash
        let (own, other) = (try module.key(session, id), try module.key(session, id, CKO_PUBLIC_KEY))
        let agreeing = try module.key(session, peer.publicKey.keyHash)
        let rsa = MechanismRequest(CKM_RSA_PKCS)
        let agreement = MechanismRequest(
            CKM_ECDH1_DERIVE,
            .agreement(kdf: CKD_NULL, sharedInfo: [], publicData: peer.publicKey.rawRepresentation))
        let wrapped = try key.publicKey.encrypt([UInt8](repeating: 1, count: 16), using: .pkcs1)
        let calls: [(CK_RV, () throws -> Void)] = [
            (CKR_KEY_HANDLE_INVALID, { try cryptoki.signInit(session, rsa, key: own) }),
            (CKR_KEY_HANDLE_INVALID, { try cryptoki.decryptInit(session, rsa, key: own) }),
            (CKR_KEY_HANDLE_INVALID, { try cryptoki.verifyInit(session, rsa, key: other) }),
            (CKR_KEY_HANDLE_INVALID, { try cryptoki.encryptInit(session, rsa, key: other) }),
            (CKR_KEY_HANDLE_INVALID, { _ = try cryptoki.deriveKey(session, agreement, base: agreeing, Template()) }),
            (
                CKR_UNWRAPPING_KEY_HANDLE_INVALID,
                { _ = try cryptoki.unwrapKey(session, rsa, unwrapping: own, wrapped, Template()) }
            ),
        ]
        for (_, call) in calls { #expect(returned(call) == CKR_OK) }
        try cryptoki.cancel(session, flags: .max)
        for id in [id, peer.publicKey.keyHash] { try destroy(elsewhere, id, CKO_PRIVATE_KEY) }
        for (code, call) in calls { #expect(returned(call) == code) }
    }

    @Test func whatIsBegunWithAKeyThatIsThereGoesOnWhateverElseIsDeleted() throws {
        let (first, second) = (try addIdentity("anna").publicKey.keyHash, try addIdentity("berta").publicKey.keyHash)
        let (session, elsewhere) = (try session(), try elsewhere())
        let key = try module.key(session, first)
        try destroy(elsewhere, second, CKO_PRIVATE_KEY)
        let digest = [UInt8](repeating: 1, count: 32)
        #expect(try module.sign(session, MechanismRequest(CKM_ECDSA), key, digest).count == 64)
    }

    @Test func aKeychainWhoseFileIsGoneWasTakenOut() throws {
        _ = try addIdentity("anna")
        try keychain.add(.genericPassword([.account: "a"], secret: .of("x")))
        let session = try session()
        let password = try #require(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA))).first)
        let key = try #require(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).first)
        try cryptoki.signInit(session, MechanismRequest(CKM_ECDSA), key: key)
        try keychain.add(.genericPassword([.account: "b"], secret: .of("x")))
        try keychain.delete()
        #expect(read(session, password) == CKR_DEVICE_REMOVED)
        #expect(returned { _ = try module.value(session, password, CKA_VALUE) } == CKR_DEVICE_REMOVED)
        #expect(returned { _ = try cryptoki.objectSize(password, in: session) } == CKR_DEVICE_REMOVED)
        #expect(returned { _ = try module.find(session) } == CKR_DEVICE_REMOVED)
        #expect(returned { try cryptoki.logIn(session, CKU_USER, pin: .of("open")) } == CKR_DEVICE_REMOVED)
        let digest = [UInt8](repeating: 1, count: 32)
        #expect(returned { _ = try cryptoki.sign(session, digest, .bytes(64)) } == CKR_DEVICE_REMOVED)
    }

    @Test func theSizeOfWhatIsGoneIsNotTold() throws {
        let id = try addIdentity("anna").publicKey.keyHash
        let (session, elsewhere) = (try session(), try elsewhere())
        let object = try module.key(session, id)
        try destroy(elsewhere, id, CKO_PRIVATE_KEY)
        #expect(returned { _ = try cryptoki.objectSize(object, in: session) } == Self.gone)
    }

    @Test func theObjectsBesideItKeepTheirHandles() throws {
        let (first, second) = (try addIdentity("anna").publicKey.keyHash, try addIdentity("berta").publicKey.keyHash)
        let (session, elsewhere) = (try session(), try elsewhere())
        let objects = try module.find(session)
        let forSession = try cryptoki.createObject(
            session, Template([(CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_VALUE, [1, 2, 3])]))
        try destroy(elsewhere, first, CKO_PRIVATE_KEY)
        let left = objects.filter { read(session, $0) != Self.gone }
        #expect(try left == module.find(session, (CKA_TOKEN, [1])))
        #expect(left.count < objects.count)
        #expect(try module.key(session, second) == objects.first { read(session, $0) == CKR_OK && isKey($0, session) })
        #expect(try module.value(session, forSession, CKA_CLASS) == Encoded.ulong(CKO_SECRET_KEY))
    }

    private func isKey(_ object: CK_OBJECT_HANDLE, _ session: CK_SESSION_HANDLE) -> Bool {
        (try? module.value(session, object, CKA_CLASS)) == Encoded.ulong(CKO_PRIVATE_KEY)
    }

    @Test func whatAnotherProgramChangedIsToldAsItIs() throws {
        let id = try addIdentity("anna").publicKey.keyHash
        let (session, elsewhere) = (try session(), try elsewhere())
        let object = try module.key(session, id)
        #expect(try module.value(session, object, CKA_LABEL) == Encoded.text("anna"))
        let same = try other.key(elsewhere, id)
        try other.cryptoki.setAttributes(
            elsewhere, same, to: Template([(CKA_LABEL, Encoded.text("berta")), (CKA_ID, [7])]))
        #expect(try module.value(session, object, CKA_LABEL) == Encoded.text("berta"))
        #expect(try module.value(session, object, CKA_ID) == [7])
        #expect(try module.key(session, [7]) == object)
    }

    /// An object that is hidden while the keychain is locked may still exist.
    @Test func aLoginAfterALockFindsItsKeysUnderTheHandlesOfBefore() throws {
        let id = try addIdentity("anna").publicKey.keyHash
        let (session, elsewhere) = (try session(), try elsewhere())
        let key = try module.key(session, id)
        let certificate = try module.key(session, id, CKO_CERTIFICATE)
        try module.process.keychain(at: cryptoki.session(session).slot.name).lock()
        try destroy(elsewhere, id, CKO_CERTIFICATE)
        #expect(read(session, certificate) == Self.gone)
        #expect(read(session, key) == Self.gone)
        try cryptoki.logIn(session, CKU_USER, pin: .of("open"))
        #expect(try module.key(session, id) == key)
    }

    @Test func aKeyThatComesAgainIsAnotherObject() throws {
        let key = try addIdentity("anna")
        let (session, elsewhere) = (try session(), try elsewhere())
        let object = try module.key(session, key.publicKey.keyHash)
        try destroy(elsewhere, key.publicKey.keyHash, CKO_PRIVATE_KEY)
        try keychain.add(.privateKey(key, [.label: "anna"]))
        #expect(read(session, object) == Self.gone)
        let again = try module.key(session, key.publicKey.keyHash)
        #expect(again != object)
        #expect(read(session, again) == CKR_OK)
    }

    /// Another thread may have made an object while the list was read.
    @Test func whatIsNewerThanTheListStays() throws {
        _ = try addIdentity("anna")
        let session = try session()
        let before = try module.find(session)
        let open = try cryptoki.session(session)
        try keychain.add(.genericPassword([.account: "a"], secret: .of("x")))
        let version = try #require(open.slot.version)
        let last = try #require(cryptoki.handles.lastHandle(behind: version, in: open))
        let key = try PrivateKey.generate(.ecP256)
        let made = try cryptoki.createObject(
            session,
            Template([
                (CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)),
                (CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? []), (CKA_VALUE, key.scalar().copy),
            ]))
        cryptoki.handles.update(to: [], seesPrivate: true, last: last, version: version, in: open)
        #expect(read(session, made) == CKR_OK)
        for object in before { #expect(read(session, object) == Self.gone) }
    }

    /// Attributes come from memory while the keychain does not change.
    @Test func whoChangesNothingHimselfReadsOnlyOnce() throws {
        _ = try addIdentity("anna")
        let session = try session()
        let slot = try cryptoki.session(session).slot
        let objects = try module.find(session)
        let before = slot.version
        for _ in 0..<100 { for object in objects { _ = try module.value(session, object, CKA_CLASS) } }
        #expect(slot.version == before)
        let open = try cryptoki.session(session)
        #expect(try cryptoki.handles.lastHandle(behind: #require(before), in: open) == nil)
        try keychain.add(.genericPassword([.account: "a"], secret: .of("x")))
        #expect(try cryptoki.handles.lastHandle(behind: #require(slot.version), in: open) != nil)
        _ = try module.value(session, objects[0], CKA_CLASS)
        #expect(try cryptoki.handles.lastHandle(behind: #require(slot.version), in: open) == nil)
    }
}
