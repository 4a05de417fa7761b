import CCryptoki
import KeychainHost
import KeychainModel
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard
import Wire

@testable import PKCS11Bridge

/// The bounds of what one program may keep in the host that it shares with others.
@Suite struct SessionQuotaTests {
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
        // The memory of an object that is destroyed, and of a session that is closed, is free again.
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

    private static let gcm = MechanismRequest(
        CKM_AES_GCM, .gcm(nonce: [UInt8](repeating: 0, count: 12), associatedData: [], tagBits: 128))

    /// A program with a keychain, and a key of AES in a session of it.
    private func cipher() throws -> (module: TestModule, session: CK_SESSION_HANDLE, key: CK_OBJECT_HANDLE) {
        let module = try TestModule()
        _ = try module.keychain()
        let session = try session(module)
        var key = template(CKO_SECRET_KEY, value: [UInt8](repeating: 1, count: 16))
        key.append(CKA_KEY_TYPE, Encoded.ulong(CKK_AES).span)
        return (module, session, try module.cryptoki.createObject(session, key))
    }

    /// GCM keeps what it decrypts until its tag was checked.
    @Test func thePartsThatGCMKeepsAreBounded() throws {
        let (module, first, key) = try cipher()
        let part = [UInt8](repeating: 7, count: 4 << 20)
        var sessions = [first]
        for _ in 1...5 { sessions.append(try session(module)) }
        for session in sessions { try module.cryptoki.decryptInit(session, Self.gcm, key: key) }
        func send(_ session: CK_SESSION_HANDLE) -> CK_RV {
            returned { _ = try module.cryptoki.decryptUpdate(session, part, .bytes(0)) }
        }
        // 60 MiB, beside a key of 16 bytes.
        for session in sessions.dropLast() {
            for _ in 1...3 { #expect(send(session) == CKR_OK) }
        }
        #expect(send(sessions[5]) == CKR_DEVICE_MEMORY)
        try module.cryptoki.closeSession(sessions[1])
        try module.cryptoki.decryptInit(sessions[5], Self.gcm, key: key)
        #expect(send(sessions[5]) == CKR_OK)
    }

    @Test func theDataThatGCMAuthenticatesAreBounded() throws {
        let (module, first, key) = try cipher()
        let request = MechanismRequest(
            CKM_AES_GCM,
            .gcm(
                nonce: [UInt8](repeating: 0, count: 12), associatedData: [UInt8](repeating: 7, count: 8 << 20),
                tagBits: 128))
        var sessions = [first]
        for _ in 1...8 { sessions.append(try session(module)) }
        let results = sessions.map { session in
            returned { try module.cryptoki.decryptInit(session, request, key: key) }
        }
        #expect(results == [CK_RV](repeating: CKR_OK, count: 7) + [CKR_DEVICE_MEMORY, CKR_DEVICE_MEMORY])
        try module.cryptoki.closeSession(sessions[1])
        try module.cryptoki.decryptInit(sessions[8], request, key: key)
    }

    @Test func anObjectIsChangedWhereNoOtherCanBeMade() throws {
        let module = try TestModule(VirtualReader(card: Cards.plain(.p256, .yubiKey57)))
        let session = try session(module)
        let data = template(CKO_DATA, value: [1])
        let first = try module.cryptoki.createObject(session, data)
        for _ in 1..<4_096 { _ = try module.cryptoki.createObject(session, data) }
        func change(_ object: CK_OBJECT_HANDLE, to length: Int) -> CK_RV {
            var change = Template()
            change.append(CKA_VALUE, [UInt8](repeating: 7, count: length).span)
            return returned { try module.cryptoki.setAttributes(session, object, to: change) }
        }
        #expect(change(first, to: 2) == CKR_OK)
        // What a shorter value gives back can be taken again.
        for _ in 1...8 { for length in [15 << 20, 1] { #expect(change(first, to: length) == CKR_OK) } }
        #expect(returned { _ = try module.cryptoki.createObject(session, data) } == CKR_DEVICE_MEMORY)
    }

    /// A plaintext is kept where the program's buffer is too short, so that a card is not asked again.
    @Test func whatIsKeptForALongerBufferIsBounded() throws {
        let (module, first, key) = try cipher()
        let cryptoki = module.cryptoki
        let request = MechanismRequest(CKM_AES_CBC, .bytes([UInt8](repeating: 0, count: 16)))
        let ciphertext = [UInt8](repeating: 7, count: 15 << 20)
        var sessions = [first]
        for _ in 1...4 { sessions.append(try session(module)) }
        for session in sessions { try cryptoki.decryptInit(session, request, key: key) }
        func decrypt(_ session: CK_SESSION_HANDLE, into capacity: Int) -> CK_RV {
            returned { _ = try cryptoki.decrypt(session, ciphertext, .bytes(capacity)) }
        }
        for session in sessions.dropLast() {
            for _ in 1...2 { #expect(decrypt(session, into: 16) == CKR_OK) }
        }
        #expect(decrypt(sessions[4], into: 16) == CKR_DEVICE_MEMORY)
        try cryptoki.decryptInit(sessions[4], request, key: key)
        // What fits at once is not kept.
        #expect(decrypt(sessions[4], into: ciphertext.count) == CKR_OK)
        #expect(decrypt(sessions[0], into: ciphertext.count) == CKR_OK)
        try cryptoki.decryptInit(sessions[4], request, key: key)
        #expect(decrypt(sessions[4], into: 16) == CKR_OK)
    }

    @Test func theMessagesOfEd25519AreBounded() throws {
        let module = try TestModule()
        let keychain = try module.keychain()
        try keychain.add(.privateKey(PrivateKey.generate(.ed25519), [.label: "signer"]))
        let part = [UInt8](repeating: 7, count: 1 << 20)
        var sessions: [CK_SESSION_HANDLE] = []
        for _ in 0...64 { sessions.append(try session(module)) }
        try module.cryptoki.logIn(sessions[0], CKU_USER, pin: .of("open"))
        let key = try #require(
            try module.find(
                sessions[0], (CKA_LABEL, Encoded.text("signer")), (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))
            ).first)
        func begin(_ session: CK_SESSION_HANDLE) -> CK_RV {
            returned {
                try module.cryptoki.signInit(session, MechanismRequest(CKM_EDDSA), key: key)
                try module.cryptoki.signUpdate(session, part)
            }
        }
        for session in sessions.dropLast() { #expect(begin(session) == CKR_OK) }
        #expect(begin(sessions[64]) == CKR_DEVICE_MEMORY)
        try module.cryptoki.closeSession(sessions[1])
        #expect(begin(sessions[64]) == CKR_OK)
    }

    @Test func theQuotaOfAMessageThatGCMDecryptedIsFreeAgain() throws {
        let (module, session, key) = try cipher()
        let cryptoki = module.cryptoki
        try cryptoki.encryptInit(session, Self.gcm, key: key)
        let plaintext = [UInt8](repeating: 3, count: 4_000)
        let sealed = try bytes(of: cryptoki.encrypt(session, Secret(copying: plaintext.span), .bytes(5_000)))
        func send(_ parts: Int, of message: [UInt8]) throws {
            let size = (message.count + parts - 1) / parts
            for start in stride(from: 0, to: message.count, by: size) {
                let part = Array(message[start..<min(start + size, message.count)])
                _ = try cryptoki.decryptUpdate(session, part, .bytes(0))
            }
        }
        for round in 0..<700 {
            try cryptoki.decryptInit(session, Self.gcm, key: key)
            try send(10, of: sealed)
            switch round % 3 {
            case 0: #expect(try bytes(of: cryptoki.decryptFinal(session, .bytes(4_000))) == plaintext)
            case 1:
                try send(1, of: [0])
                let result = returned { _ = try cryptoki.decryptFinal(session, .bytes(4_001)) }
                #expect(result == CKR_ENCRYPTED_DATA_INVALID)
            default: try cryptoki.cancel(session, flags: CKF_DECRYPT)
            }
        }
        let data = template(CKO_DATA, value: [1])
        for _ in 1..<4_096 { _ = try cryptoki.createObject(session, data) }
        #expect(returned { _ = try cryptoki.createObject(session, data) } == CKR_DEVICE_MEMORY)
    }

    @Test func allProgramsTogetherHaveAQuotaAsWell() throws {
        let whole = MemoryQuota(MemoryQuota.Size(objects: 3, bytes: 100))
        let (first, second) = (MemoryQuota(.ofClient, of: whole), MemoryQuota(.ofClient, of: whole))
        var shares = [try first.objectShare(bytes: 40), try first.objectShare(bytes: 40)]
        #expect(returned { _ = try second.objectShare(bytes: 21) } == CKR_DEVICE_MEMORY)
        shares.append(try second.objectShare(bytes: 20))
        #expect(returned { _ = try second.objectShare(bytes: 0) } == CKR_DEVICE_MEMORY)
        shares.removeFirst()
        let last = try second.objectShare(bytes: 30)
        #expect(returned { try last.grow(by: 11) } == CKR_DEVICE_MEMORY)
        try last.grow(by: 10)
        #expect(returned { try last.grow(by: 1) } == CKR_DEVICE_MEMORY)
        shares.removeAll()
        try last.grow(by: 60)
    }
}
