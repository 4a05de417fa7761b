import CCryptoki
import SecureBytes
import TestSupport
import Testing
import VirtualCard
import Wire

@testable import PKCS11Bridge

/// The bounds of what one program may keep in the host that it shares with others.
@Suite struct SessionRoomTests {
    private func session(_ module: TestModule) throws -> CK_SESSION_HANDLE {
        try module.cryptoki.openSession(#require(module.slots.first), flags: CKF_SERIAL_SESSION)
    }

    private func template(_ objectClass: CK_OBJECT_CLASS, value: [UInt8]) -> Template {
        var template = Template()
        template.append(CKA_CLASS, Encoded.ulong(objectClass).span)
        template.append(CKA_TOKEN, [UInt8](repeating: 0, count: 1).span)
        template.append(CKA_VALUE, value.span)
        return template
    }

    @Test func aProgramThatDestroysNoObjectEndsAtItsOwnLimit() throws {
        let module = try TestModule(VirtualReader(card: Cards.plain(.p256, .yubiKey57)))
        let (session, other) = (try session(module), try session(module))
        let data = template(CKO_DATA, value: [1])
        var objects: [CK_OBJECT_HANDLE] = []
        for _ in 0..<4_096 { objects.append(try module.cryptoki.createObject(session, data)) }
        #expect(returned { _ = try module.cryptoki.createObject(session, data) } == CKR_DEVICE_MEMORY)
        #expect(returned { _ = try module.cryptoki.createObject(other, data) } == CKR_DEVICE_MEMORY)
        // The room of an object that is destroyed, and of a session that is closed, is free again.
        try module.cryptoki.destroyObject(session, objects[0])
        _ = try module.cryptoki.createObject(other, data)
        #expect(returned { _ = try module.cryptoki.createObject(other, data) } == CKR_DEVICE_MEMORY)
        try module.cryptoki.closeSession(session)
        for _ in 0..<4_095 { _ = try module.cryptoki.createObject(other, data) }
    }

    @Test func theBytesOfObjectsAreBounded() throws {
        let module = try TestModule(VirtualReader(card: Cards.plain(.p256, .yubiKey57)))
        let session = try session(module)
        let long = template(CKO_DATA, value: [UInt8](repeating: 7, count: 8 << 20))
        for _ in 0..<7 { _ = try module.cryptoki.createObject(session, long) }
        let last = returned { for _ in 0..<2 { _ = try module.cryptoki.createObject(session, long) } }
        #expect(last == CKR_DEVICE_MEMORY)
        // A value that is set later counts as well.
        let small = try module.cryptoki.createObject(session, template(CKO_DATA, value: [1]))
        var change = Template()
        change.append(CKA_VALUE, [UInt8](repeating: 7, count: 16 << 20).span)
        #expect(returned { try module.cryptoki.setAttributes(session, small, to: change) } == CKR_DEVICE_MEMORY)
    }

    @Test func aProgramMayHaveAsManySessionsAsItsLimitSays() throws {
        let module = try TestModule(VirtualReader(card: Cards.plain(.p256, .yubiKey57)))
        let first = try session(module)
        for _ in 1..<SessionLimit.count { _ = try session(module) }
        #expect(returned { _ = try session(module) } == CKR_SESSION_COUNT)
        try module.cryptoki.closeSession(first)
        _ = try session(module)
    }

    @Test func allProgramsTogetherHaveARoomAsWell() throws {
        let whole = ObjectRoom(ObjectRoom.Size(objects: 3, bytes: 100))
        let (first, second) = (ObjectRoom(.ofClient, of: whole), ObjectRoom(.ofClient, of: whole))
        var shares = [try first.take(bytes: 40), try first.take(bytes: 40)]
        #expect(returned { _ = try second.take(bytes: 21) } == CKR_DEVICE_MEMORY)
        shares.append(try second.take(bytes: 20))
        #expect(returned { _ = try second.take(bytes: 0) } == CKR_DEVICE_MEMORY)
        shares.removeFirst()
        #expect(try second.take(bytes: 40) !== shares[0])
    }
}
