import CCryptoki
import SystemCrypto
import Testing
import TokenKit

@testable import PKCS11Driver

/// The keys of a token whose ids alone do not tell them apart.
@Suite struct ModuleKeyTests {
    private static let p256 = try! PrivateKey.generate(.ecP256).publicKey
    private static let p384 = try! PrivateKey.generate(.ecP384).publicKey
    private static let rsa = try! PrivateKey.generate(.rsa(bits: 2048)).publicKey

    private static let curves: [KeyKind: [UInt8]] = [
        .ecP256: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07],
        .ecP384: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22],
    ]

    private static func publicHalf(_ key: PublicKey, id: [UInt8] = [5], label: String = "") -> ModuleObject {
        var object = ModuleObject(objectClass: UInt64(CKO_PUBLIC_KEY))
        (object.id, object.label, object.publicKeyInfo) = (id, Array(label.utf8), key.spki)
        return object
    }

    /// A private key's object, without the point, which is not one of its attributes.
    private static func privateHalf(_ key: PublicKey, id: [UInt8] = [5], label: String = "") -> ModuleObject {
        var object = ModuleObject(objectClass: UInt64(CKO_PRIVATE_KEY))
        (object.id, object.label, object.uses) = (id, Array(label.utf8), .sign)
        object.keyType = UInt64(key.kind.isEC ? CKK_EC : CKK_RSA)
        object.parameters = curves[key.kind] ?? []
        object.modulus = key.rsaComponents?.modulus ?? []
        return object
    }

    private static func certificate(of key: PublicKey, id: [UInt8] = [5]) throws -> ModuleObject {
        let builder = try CertificateBuilder(commonName: "c", publicKey: key, notBefore: 0, notAfter: 4_000_000_000)
        var object = ModuleObject(objectClass: UInt64(CKO_CERTIFICATE))
        (object.id, object.value) = (id, try builder.selfSigned(by: PrivateKey.generate(.ecP256)).der)
        return object
    }

    /// The public keys by the names of their objects.
    private static func keys(_ objects: [ModuleObject], hidesKeys: Bool = false) -> [String: [UInt8]] {
        let found = ModuleObjects(objects, hidesKeys: hidesKeys)
        #expect(Set(found.inventory.objects.filter { $0.key != nil }.map(\.id)) == Set(found.keys.keys))
        return Dictionary(uniqueKeysWithValues: found.keys.map { ($0.rawValue, $1.publicKey.spki) })
    }

    @Test func `Keys of one id are as many objects, of the same names in whatever order and before a login`() throws {
        let publicHalves = [Self.p256, Self.p384, Self.rsa].map { Self.publicHalf($0) }
        let privateHalves = [Self.rsa, Self.p384, Self.p256].map { Self.privateHalf($0) }
        let keys = Self.keys(publicHalves + privateHalves)
        #expect(keys.keys.sorted() == ["05", "05/1", "05/2"])
        #expect(Set(keys.values) == Set([Self.p256, Self.p384, Self.rsa].map(\.spki)))
        #expect(Self.keys(publicHalves.reversed() + privateHalves.reversed()) == keys)
        #expect(Self.keys(publicHalves.reversed(), hidesKeys: true) == keys)
    }

    @Test func `What becomes of a login changes no name`() {
        let publicHalves = [Self.p256, Self.p384, Self.rsa].map { Self.publicHalf($0) }
        let before = Self.keys(publicHalves, hidesKeys: true)
        for (name, spki) in before {
            let halves = [Self.p256, Self.p384, Self.rsa].filter { $0.spki == spki }.map { Self.privateHalf($0) }
            #expect(Self.keys(publicHalves + halves) == [name: spki])
        }
    }

    @Test func `A certificate goes with its own key, and the other key of the id is there as well`() throws {
        for (mine, other) in [(Self.rsa, Self.p256), (Self.p256, Self.rsa)] {
            let objects = [
                try Self.certificate(of: mine), Self.publicHalf(other), Self.publicHalf(mine), Self.privateHalf(other),
                Self.privateHalf(mine),
            ]
            let found = ModuleObjects(objects, hidesKeys: false).inventory.objects
            #expect(found.map(\.id.rawValue) == ["05", "05/1"])
            #expect(found.map { $0.certificate != nil } == [true, false])
            #expect(found.map(\.key?.publicKey) == [mine.spki, other.spki])
        }
    }

    @Test(arguments: [true, false]) func `A certificate of another key than its id's has none`(hidesKeys: Bool) throws {
        let objects = [try Self.certificate(of: Self.p384), Self.publicHalf(Self.p256), Self.privateHalf(Self.p256)]
        #expect(Self.keys(objects, hidesKeys: hidesKeys) == ["05/1": Self.p256.spki])
    }

    @Test func `A certificate tells the key where no public half is there`() throws {
        #expect(
            Self.keys([try Self.certificate(of: Self.p256), Self.privateHalf(Self.rsa), Self.privateHalf(Self.p256)])
                == ["05": Self.p256.spki])
    }

    @Test(arguments: [true, false]) func `A key without an id is known by its label`(hidesKeys: Bool) {
        let pairs = [("one", Self.p256), ("two", Self.p384)]
        let objects =
            pairs.map { Self.publicHalf($1, id: [], label: $0) }
            + (hidesKeys ? [] : pairs.map { Self.privateHalf($1, id: [], label: $0) })
        let found = ModuleObjects(objects, hidesKeys: hidesKeys)
        let labels = found.inventory.objects.map { [$0.label: $0.key?.publicKey] }
        #expect(Set(labels) == [["one": Self.p256.spki], ["two": Self.p384.spki]])
        #expect(Set(found.keys.keys.map(\.rawValue)) == ["/1", "/2"])
        #expect(Set(found.keys.values.map { String(decoding: $0.label, as: UTF8.self) }) == ["one", "two"])
    }

    @Test func `A private key without an id has the public half of its label`() {
        let other = Self.publicHalf(Self.p256, id: [], label: "other")
        #expect(Self.keys([other, Self.privateHalf(Self.p256, id: [], label: "mine")]).isEmpty)
    }

    @Test func `Two keys of one kind go by their labels`() throws {
        let second = try PrivateKey.generate(.ecP256).publicKey
        let objects = [
            Self.publicHalf(Self.p256, label: "first"), Self.publicHalf(second, label: "second"),
            Self.privateHalf(second, label: "second"), Self.privateHalf(Self.p256, label: "first"),
        ]
        let keys = ModuleObjects(objects, hidesKeys: false).keys.values
        let labels = Dictionary(
            uniqueKeysWithValues: keys.map { ($0.publicKey, String(decoding: $0.label, as: UTF8.self)) })
        #expect(labels == [Self.p256: "first", second: "second"])
    }

    @Test func `A half fits a key where nothing that it shows says otherwise`() {
        for half in [Self.p256, Self.p384, Self.rsa] {
            for key in [Self.p256, Self.p384, Self.rsa] {
                #expect(Self.privateHalf(half).fits(key) == (half == key))
                #expect(Self.publicHalf(half).fits(key) == (half == key))
            }
            var hidden = Self.privateHalf(half)
            (hidden.modulus, hidden.parameters) = ([], [])
            #expect(hidden.fits(half))
            var padded = Self.privateHalf(half)
            if !padded.modulus.isEmpty { padded.modulus.insert(0, at: 0) }
            #expect(padded.fits(half))
        }
    }

    @Test(arguments: [
        (CKR_GENERAL_ERROR, "'m': C_Sign failed with CKR_GENERAL_ERROR"),
        (CKR_MECHANISM_INVALID, "CKR_MECHANISM_INVALID"), (CKR_DATA_LEN_RANGE, "CKR_DATA_LEN_RANGE"),
        (0x8000_ABCD, "CKR 0x8000ABCD"),
    ])
    func `What a module returned has its name in the message`(_ code: CK_RV, _ name: String) {
        #expect(TokenError(ModuleFailure(code: UInt64(code), what: "C_Sign"), of: "m").reason.contains(name))
    }
}
