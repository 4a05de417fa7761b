import CCryptoki
import Foundation
import TestSupport
import Testing
import Wire

/// The seeds of the fuzz target for the calls of a client. With TOKENKIT_WRITE_SEEDS they are written anew.
@Suite struct ClientSeedTests {
    private static let folder = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds/calls")

    fileprivate static let pin = Array("123456".utf8)
    private static let digest = [UInt8](repeating: 0x5A, count: 32)
    private static let p256: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

    private struct Calls {
        private(set) var bytes: [UInt8] = []

        mutating func add(
            _ function: PKCS11Function, _ numbers: [UInt64] = [], _ mechanism: PKCS11Mechanism? = nil,
            _ templates: [[PKCS11Attribute]] = [], secrets: [UInt8] = []
        ) {
            let fields = PKCS11Call(function, numbers, mechanism, templates).encoded()
            bytes += [UInt8(fields.count >> 8), UInt8(fields.count & 0xFF), UInt8(secrets.count)] + fields + secrets
        }

        /// Opens session 1 on a slot, and logs in.
        mutating func begin(slot: UInt64) {
            add(.getSlotList, [1, 1])
            add(.getTokenInfo, [slot])
            add(.getMechanismList, [slot])
            add(.openSession, [slot, UInt64(CKF_SERIAL_SESSION | CKF_RW_SESSION)])
            add(.login, [1, UInt64(CKU_USER), UInt64(ClientSeedTests.pin.count)], secrets: ClientSeedTests.pin)
        }

        mutating func find(_ template: [PKCS11Attribute] = []) {
            add(.findObjectsInit, [1], nil, [template])
            add(.findObjects, [1, 100])
            add(.findObjectsFinal, [1])
        }
    }

    private static func number(_ type: CK_ATTRIBUTE_TYPE, _ value: CK_ULONG) -> PKCS11Attribute {
        PKCS11Attribute(UInt64(type), .bytes(withUnsafeBytes(of: value) { Array($0) }))
    }

    private static func flag(_ type: CK_ATTRIBUTE_TYPE) -> PKCS11Attribute {
        PKCS11Attribute(UInt64(type), .bytes([1]))
    }

    /// A client of the card, and one of the keychain.
    private static let samples: [String: [UInt8]] = {
        var card = Calls()
        card.begin(slot: 0)
        card.find([number(CKA_CLASS, CKO_PRIVATE_KEY)])
        for object in UInt64(1)...4 {
            card.add(.getAttributeValue, [1, object, UInt64(CKA_ID), 64, UInt64(CKA_EC_POINT), PKCS11Call.null])
            card.add(.signInit, [1, object], PKCS11Mechanism(UInt64(CKM_ECDSA)))
            card.add(.sign, [1, UInt64(digest.count), 128], secrets: digest)
        }
        card.add(.logout, [1])
        card.add(.closeSession, [1])

        var keychain = Calls()
        keychain.begin(slot: 1)
        keychain.add(
            .generateKeyPair, [1], PKCS11Mechanism(UInt64(CKM_EC_KEY_PAIR_GEN)),
            [
                [PKCS11Attribute(UInt64(CKA_EC_PARAMS), .bytes(p256)), flag(CKA_TOKEN)],
                [flag(CKA_TOKEN), flag(CKA_SIGN)],
            ])
        keychain.add(
            .createObject, [1], nil,
            [
                [
                    number(CKA_CLASS, CKO_SECRET_KEY), number(CKA_KEY_TYPE, CKK_AES), flag(CKA_ENCRYPT),
                    flag(CKA_EXTRACTABLE), PKCS11Attribute(UInt64(CKA_VALUE), .secret(count: 16)),
                ]
            ], secrets: Array(digest.prefix(16)))
        keychain.add(
            .encryptInit, [1, 3],
            PKCS11Mechanism(
                UInt64(CKM_AES_GCM), .structure(numbers: [96, 128], strings: [Array(digest.prefix(12)), []])))
        keychain.add(.encrypt, [1, UInt64(digest.count), 128], secrets: digest)
        keychain.add(.wrapKey, [1, 3, 3, 64], PKCS11Mechanism(UInt64(CKM_AES_KEY_WRAP)))
        keychain.add(.copyObject, [1, 3], nil, [[flag(CKA_TOKEN)]])
        keychain.add(
            .setAttributeValue, [1, 4], nil, [[PKCS11Attribute(UInt64(CKA_LABEL), .bytes(Array("name".utf8)))]])
        keychain.add(.digestInit, [1, 0], PKCS11Mechanism(UInt64(CKM_SHA256)))
        keychain.add(.digestKey, [1, 3])
        keychain.add(.digestFinal, [1, 64])
        keychain.find()
        keychain.add(.destroyObject, [1, 4])
        keychain.add(.generateRandom, [1, 16])
        keychain.add(.finalize)
        return ["card": card.bytes, "keychain": keychain.bytes]
    }()

    @Test func eachClientHasASeedOfThePresentForm() throws {
        for (name, bytes) in ClientSeedTests.samples {
            let file = ClientSeedTests.folder.appending(path: name)
            if ProcessInfo.processInfo.environment["TOKENKIT_WRITE_SEEDS"] != nil { try Data(bytes).write(to: file) }
            #expect(try Data(contentsOf: file) == Data(bytes), "\(name)")
        }
    }
}
