import CCryptoki
import KeychainHost
import KeychainModel
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// Data objects that end with their session.
@Suite struct SessionDataTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    private func data(
        _ session: CK_SESSION_HANDLE, _ attributes: (type: CK_ATTRIBUTE_TYPE, value: [UInt8])...,
        module other: TestModule? = nil
    ) throws -> CK_OBJECT_HANDLE {
        try (other ?? module).cryptoki.createObject(
            session,
            Template(
                [
                    (CKA_CLASS, Encoded.ulong(CKO_DATA)), (CKA_LABEL, Encoded.text("note")),
                    (CKA_APPLICATION, Encoded.text("test")), (CKA_VALUE, [1, 2, 3]),
                ] + attributes))
    }

    @Test func oneIsFoundReadChangedAndDestroyed() throws {
        // The object needs neither a login nor a read-write session.
        let session = try cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION)
        let object = try data(session)
        #expect(try module.find(session, (CKA_APPLICATION, Encoded.text("test"))) == [object])
        #expect(try module.value(session, object, CKA_VALUE) == [1, 2, 3])
        for type in [CKA_TOKEN, CKA_PRIVATE] { #expect(try module.value(session, object, type) == [0]) }
        #expect(try module.value(session, object, CKA_MODIFIABLE) == [1])
        try cryptoki.setAttributes(
            session, object, to: Template([(CKA_LABEL, Encoded.text("other")), (CKA_VALUE, [4])]))
        #expect(try module.value(session, object, CKA_LABEL) == Encoded.text("other"))
        #expect(try module.value(session, object, CKA_VALUE) == [4])
        for type in [CKA_TOKEN, CKA_PRIVATE, CKA_CLASS] {
            let result = returned { try cryptoki.setAttributes(session, object, to: Template([(type, [1])])) }
            #expect(result == CKR_ATTRIBUTE_READ_ONLY)
        }
        #expect(
            returned { try cryptoki.setAttributes(session, object, to: Template([(CKA_MODULUS, [1])])) }
                == CKR_ATTRIBUTE_TYPE_INVALID)
        try cryptoki.destroyObject(session, object)
        #expect(try module.find(session, (CKA_APPLICATION, Encoded.text("test"))).isEmpty)
        #expect(try keychain.items(matching: Query(.genericPassword, [:], limit: .all)).found.isEmpty)
    }

    @Test func itIsGoneWithItsSessionAndHiddenWithoutTheLoginWhereItIsPrivate() throws {
        let session = try module.session(loggedIn: true, pin: "open")
        let other = try cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION)
        let (open, own) = (try data(session), try data(other, (CKA_PRIVATE, [1])))
        #expect(try Set(module.find(other)).isSuperset(of: [open, own]))
        try cryptoki.closeSession(session)
        #expect(returned { _ = try module.value(other, open, CKA_VALUE) } == CKR_OBJECT_HANDLE_INVALID)
        try cryptoki.logOut(other)
        #expect(returned { _ = try module.value(other, own, CKA_VALUE) } == CKR_OBJECT_HANDLE_INVALID)
        #expect(returned { _ = try data(other, (CKA_PRIVATE, [1])) } == CKR_USER_NOT_LOGGED_IN)
    }

    @Test func oneThatIsNotToChangeDoesNot() throws {
        let session = try module.session()
        let object = try data(session, (CKA_MODIFIABLE, [0]))
        #expect(
            returned { try cryptoki.setAttributes(session, object, to: Template([(CKA_LABEL, [65])])) }
                == CKR_ACTION_PROHIBITED)
    }

    @Test func copiesGoToTheKeychainAndBack() throws {
        let session = try module.session(loggedIn: true, pin: "open")
        let kept = try cryptoki.copyObject(session, data(session), Template([(CKA_TOKEN, [1])]))
        #expect(try module.value(session, kept, CKA_VALUE) == [1, 2, 3])
        let back = try cryptoki.copyObject(session, kept, Template([(CKA_TOKEN, [0]), (CKA_LABEL, [65])]))
        #expect(try module.value(session, back, CKA_VALUE) == [1, 2, 3])
        // The copy is private, as its original is.
        #expect(try module.value(session, back, CKA_PRIVATE) == [1])
        #expect(try keychain.items(matching: Query(.genericPassword, [:], limit: .all)).found.count == 1)
    }

    @Test func aSessionWithACardHasItsOwn() throws {
        let card = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try card.session()
        let object = try data(session, module: card)
        #expect(try card.value(session, object, CKA_VALUE) == [1, 2, 3])
        #expect(returned { _ = try data(session, (CKA_TOKEN, [1]), module: card) } == CKR_TOKEN_WRITE_PROTECTED)
    }
}
