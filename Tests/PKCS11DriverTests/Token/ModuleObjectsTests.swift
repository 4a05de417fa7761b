import CCryptoki
import SecureBytes
import SystemCrypto
import Testing
import TokenKit

@testable import PKCS11Driver

@Suite struct ModuleObjectsTests {
    private static let key = try! PrivateKey.generate(.ecP256)
    private static let other = try! PrivateKey.generate(.rsa(bits: 1024))

    private static func certificate(_ key: PrivateKey, isCA: Bool = false, named name: String = "c") throws -> [UInt8] {
        var builder = try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: 0, notAfter: 4_000_000_000)
        builder.isCA = isCA
        return try builder.selfSigned(by: key).der
    }

    /// A certificate that the self-signed authority `c`, whose key is `other`, has issued.
    private static func issued(isCA: Bool = false) throws -> [UInt8] {
        var builder = try CertificateBuilder(
            commonName: "issued", publicKey: key.publicKey, notBefore: 0, notAfter: 4_000_000_000)
        builder.isCA = isCA
        return try builder.issued(by: Certificate(der: certificate(other, isCA: true)), key: other).der
    }

    private static func object(
        _ objectClass: CK_OBJECT_CLASS, id: [UInt8], label: String = "",
        _ change: (inout ModuleObject) -> Void = { _ in }
    ) -> ModuleObject {
        var object = ModuleObject(objectClass: UInt64(objectClass))
        object.id = id
        object.label = Array(label.utf8)
        change(&object)
        return object
    }

    private static func certificate(id: [UInt8], label: String = "", _ der: [UInt8]) -> ModuleObject {
        object(CKO_CERTIFICATE, id: id, label: label) { $0.value = der }
    }

    private static func privateKey(id: [UInt8], _ uses: ModuleObject.Uses = [.sign]) -> ModuleObject {
        object(CKO_PRIVATE_KEY, id: id) {
            $0.uses = uses
            $0.keyType = UInt64(CKK_EC)
        }
    }

    @Test func aCertificateAndTheKeyOfItsIDAreOneObject() throws {
        let der = try Self.certificate(Self.key)
        let objects = ModuleObjects(
            [Self.certificate(id: [0xAB], label: "mine", der), Self.privateKey(id: [0xAB], [.sign, .derive])],
            hidesKeys: false)
        let object = try #require(objects.inventory.objects.first)
        #expect(objects.inventory.objects.count == 1)
        #expect(object.id.rawValue == "ab" && object.label == "mine" && object.certificate == der)
        #expect(object.key?.kind == .ecP256)
        #expect(object.key?.publicKey == Self.key.publicKey.spki)
        #expect(object.key?.usage == [.sign, .agree])
        #expect(object.key?.pinPolicy == .once)
    }

    @Test func aKeyThatWantsThePINEachTimeSaysSo() throws {
        let objects = ModuleObjects(
            [
                Self.certificate(id: [1], try Self.certificate(Self.key)),
                Self.privateKey(id: [1], [.sign, .alwaysAuthenticate]),
            ],
            hidesKeys: false)
        #expect(objects.inventory.objects.first?.key?.pinPolicy == .always)
    }

    /// Before a login, most tokens show only public objects.
    @Test func ownCertificatesAndPublicKeysStandForHiddenKeys() throws {
        let mine = try Self.issued()
        let authority = try Self.certificate(Self.other, isCA: true)
        let publicKey = Self.object(CKO_PUBLIC_KEY, id: [3]) { $0.publicKeyInfo = Self.other.publicKey.spki }
        let all = [Self.certificate(id: [1], mine), Self.certificate(id: [2], authority), publicKey]
        let hidden = ModuleObjects(all, hidesKeys: true).inventory.objects
        #expect(hidden.map(\.id.rawValue) == ["01", "02", "03"])
        #expect(hidden.map { $0.key != nil } == [true, false, true])
        #expect(hidden[2].key?.usage == [.sign, .decrypt])
        let shown = ModuleObjects(all, hidesKeys: false).inventory.objects
        #expect(shown.map { $0.key != nil } == [false, false])
    }

    /// A key that signs its own certificate is taken for the token's own, authority or not.
    @Test func anAuthorityWithItsPublicKeyBesideHasAKey() throws {
        let publicKey = Self.object(CKO_PUBLIC_KEY, id: [2]) { $0.publicKeyInfo = Self.other.publicKey.spki }
        let objects = ModuleObjects(
            [Self.certificate(id: [2], try Self.certificate(Self.other, isCA: true)), publicKey], hidesKeys: true)
        #expect(objects.inventory.objects.map { $0.key != nil } == [true])
    }

    /// `openssl req -x509` makes every certificate an authority's.
    @Test func aSelfSignedCertificateThatIssuedNoOtherHasAKey() throws {
        let alone = Self.certificate(id: [1], try Self.certificate(Self.other, isCA: true))
        let unrelated = Self.certificate(id: [2], try Self.certificate(Self.key, named: "d"))
        let objects = ModuleObjects([alone, unrelated], hidesKeys: true)
        #expect(objects.inventory.objects.map { $0.key != nil } == [true, true])
    }

    @Test func anAuthorityBetweenOthersHasNone() throws {
        let objects = ModuleObjects([Self.certificate(id: [1], try Self.issued(isCA: true))], hidesKeys: true)
        #expect(objects.inventory.objects.map { $0.key != nil } == [false])
    }

    @Test func aSecondCertificateOfAKeyIsAnObjectWithoutOne() throws {
        let der = try Self.certificate(Self.key)
        let objects = ModuleObjects(
            [Self.certificate(id: [1], der), Self.certificate(id: [1], der), Self.privateKey(id: [1])], hidesKeys: false
        )
        #expect(objects.inventory.objects.map(\.id.rawValue) == ["01", "01/1"])
        #expect(objects.inventory.objects.map { $0.key != nil } == [true, false])
        #expect(objects.keys.keys.map(\.rawValue) == ["01"])
    }

    /// OpenSC and Yubico's module label the parts differently.
    @Test func everyPartOfAnObjectHasItsOwnLabel() throws {
        let certificate = Self.certificate(id: [1], label: "Certificate", try Self.certificate(Self.key))
        let publicKey = Self.object(CKO_PUBLIC_KEY, id: [1], label: "Public") {
            $0.publicKeyInfo = Self.key.publicKey.spki
        }
        var privateKey = Self.privateKey(id: [1])
        privateKey.label = Array("Private".utf8)
        func labels(_ objects: [ModuleObject], hidesKeys: Bool = false) throws -> [String?] {
            let object = try #require(ModuleObjects(objects, hidesKeys: hidesKeys).inventory.objects.first)
            return [object.label, object.keyLabel, object.key?.publicLabel]
        }
        #expect(try labels([certificate, publicKey, privateKey]) == ["Certificate", "Private", "Public"])
        #expect(try labels([certificate, privateKey]) == ["Certificate", "Private", nil])
        #expect(try labels([publicKey, privateKey]) == ["Private", "Private", "Public"])
        // While the private half is hidden, it has the label of the public one.
        #expect(try labels([certificate, publicKey], hidesKeys: true) == ["Certificate", "Public", nil])
        #expect(try labels([certificate], hidesKeys: true) == ["Certificate", "Certificate", nil])
        // A key without a label has that of its certificate.
        privateKey.label = []
        #expect(try labels([certificate, privateKey]) == ["Certificate", "Certificate", nil])
        #expect(try labels([privateKey, Self.certificate(id: [1], try Self.certificate(Self.key))])[0] == "01")
    }

    @Test func oneLabelIsSaidOnce() throws {
        let certificate = Self.certificate(id: [1], label: "one", try Self.certificate(Self.key))
        var privateKey = Self.privateKey(id: [1])
        privateKey.label = Array("one".utf8)
        let object = try #require(ModuleObjects([certificate, privateKey], hidesKeys: false).inventory.objects.first)
        #expect(object.key?.label == nil && object.key?.publicLabel == nil && object.keyLabel == "one")
    }

    @Test func whatHasNoIDHasANumber() throws {
        let der = try Self.certificate(Self.key)
        let objects = ModuleObjects([Self.certificate(id: [], der), Self.certificate(id: [], der)], hidesKeys: true)
        #expect(objects.inventory.objects.map(\.id.rawValue) == ["/1", "/2"])
        #expect(objects.inventory.objects.map(\.cryptokiID) == [[], []])
        #expect(objects.keys.isEmpty)
    }

    @Test func programsKnowObjectsByTheIDsThatTheirModuleGives() throws {
        let der = try Self.certificate(Self.key)
        let objects = ModuleObjects(
            [Self.certificate(id: [1, 0xFF], der), Self.certificate(id: [1, 0xFF], der)], hidesKeys: true
        ).inventory.objects
        #expect(objects.map(\.id.rawValue) == ["01ff", "01ff/1"])
        #expect(objects.map(\.cryptokiID) == [[1, 0xFF], [1, 0xFF]])
    }

    static let points: [(KeyKind, CK_KEY_TYPE, [UInt8])] = [
        (.ecP256, CKK_EC, [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]),
        (.ecP384, CKK_EC, [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]),
        (.ecP521, CKK_EC, [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]),
        (.ed25519, CKK_EC_EDWARDS, []), (.x25519, CKK_EC_MONTGOMERY, []),
    ]

    @Test(arguments: points, [true, false])
    func aPointIsReadWithItsWrappingAndWithout(_ kind: (KeyKind, CK_KEY_TYPE, [UInt8]), isWrapped: Bool) throws {
        let key = try PrivateKey.generate(kind.0).publicKey
        let point = key.rawRepresentation
        let header: [UInt8] = point.count < 0x80 ? [4, UInt8(point.count)] : [4, 0x81, UInt8(point.count)]
        let object = Self.object(CKO_PUBLIC_KEY, id: [1]) {
            $0.keyType = UInt64(kind.1)
            $0.parameters = kind.2
            $0.point = isWrapped ? header + point : point
        }
        let privateKey = Self.object(CKO_PRIVATE_KEY, id: [1]) { $0.keyType = UInt64(kind.1) }
        let objects = ModuleObjects([object, privateKey], hidesKeys: false)
        #expect(objects.inventory.objects.first?.key?.publicKey == key.spki)
    }

    @Test func anRSAKeyIsMadeOfItsNumbers() throws {
        let numbers = try #require(Self.other.publicKey.rsaComponents)
        let object = Self.object(CKO_PRIVATE_KEY, id: [1]) {
            ($0.modulus, $0.exponent) = (numbers.modulus, numbers.exponent)
            $0.uses = [.sign, .decrypt, .derive]
        }
        let key = ModuleObjects([object], hidesKeys: false).inventory.objects.first?.key
        #expect(key?.publicKey == Self.other.publicKey.spki)
        #expect(key?.usage == [.sign, .decrypt])
    }

    @Test(
        arguments: [[], [1], [4, 2, 1], [UInt8](repeating: 4, count: 65), [UInt8](repeating: 0xFF, count: 5000)]
            as [[UInt8]])
    func nonsenseMakesNoKey(bytes: [UInt8]) {
        for type in [CKK_RSA, CKK_EC, CKK_EC_EDWARDS, CKK_EC_MONTGOMERY, 0x7777] {
            let object = Self.object(CKO_PRIVATE_KEY, id: [1]) {
                $0.keyType = UInt64(type)
                ($0.modulus, $0.exponent, $0.point, $0.publicKeyInfo) = (bytes, bytes, bytes, bytes)
                $0.parameters = Self.points[0].2
            }
            let key = ModuleObjects([object], hidesKeys: false).inventory.objects.first?.key
            // Only 32 bytes would be an X25519 key.
            #expect(key == nil)
        }
    }
}
