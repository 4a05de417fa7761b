import SecureBytes
import Testing

@testable import SystemCrypto

/// Files put together by hand: shapes that RFC 7292 allows and the `openssl` command does not write.
@Suite struct PKCS12BagTests {
    private static let data: OID = "1.2.840.113549.1.7.1"
    private static let envelopedData: OID = "1.2.840.113549.1.7.3"

    private static func contentInfo(_ type: OID, _ content: [UInt8]) -> [UInt8] {
        DER.sequence([DER.objectIdentifier(type), DER.element(DER.Tag.context(0), content)])
    }

    /// A file without encryption and MAC: PFX { version 3, authSafe }.
    private static func file(safes: [[UInt8]]) -> [UInt8] {
        DER.sequence([DER.integer([3]), contentInfo(data, DER.octetString(DER.sequence(safes)))])
    }

    private static func safe(_ bags: [[UInt8]]) -> [UInt8] {
        contentInfo(data, DER.octetString(DER.sequence(bags)))
    }

    private static func bag(_ number: Int, _ value: [UInt8], attributes: [UInt8] = []) -> [UInt8] {
        let identifier = OID("1.2.840.113549.1.12.10.1.\(number)") ?? data
        return DER.sequence([DER.objectIdentifier(identifier), DER.element(DER.Tag.context(0), value), attributes])
    }

    private static func keyBag(_ kind: KeyKind, attributes: [UInt8] = []) throws -> [UInt8] {
        bag(1, reveal(try TestKeys.key(kind).pkcs8()), attributes: attributes)
    }

    private static func certificateBag(_ der: [UInt8], attributes: [UInt8] = []) -> [UInt8] {
        let value = DER.element(DER.Tag.context(0), DER.octetString(der))
        return bag(3, DER.sequence([DER.objectIdentifier("1.2.840.113549.1.9.22.1"), value]), attributes: attributes)
    }

    private static func friendlyName(_ name: String) -> [UInt8] {
        let text = DER.element(0x1E, name.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
        let attribute = DER.sequence([
            DER.objectIdentifier("1.2.840.113549.1.9.20"), DER.element(DER.Tag.set, text),
        ])
        return DER.element(DER.Tag.set, attribute)
    }

    @Test func manyKeysAndCertificatesKeepTheirOrder() throws {
        let kinds: [KeyKind] = [.ecP384, .rsa(bits: 2048), .ed25519]
        let certificates = try kinds.map { try TestKeys.certificate($0) }
        let file = Self.file(safes: [
            Self.safe(try kinds.map { try Self.keyBag($0) }),
            Self.safe(certificates.map { Self.certificateBag($0.der) }),
        ])
        let read = try PKCS12.parse(file)
        #expect(read.keys.map(\.kind) == kinds)
        #expect(read.certificates == certificates)
        #expect(read.friendlyNames.isEmpty)
    }

    @Test func theFirstNameCounts() throws {
        let file = Self.file(safes: [
            Self.safe([
                try Self.keyBag(.ecP256), try Self.keyBag(.ecP256, attributes: Self.friendlyName("Jö\u{7}")),
                try Self.keyBag(.ecP256, attributes: Self.friendlyName("other")),
            ])
        ])
        let hash = try TestKeys.key(.ecP256).publicKey.keyHash
        #expect(try PKCS12.parse(file).friendlyNames == [hash: #"Jö\07"#])
    }

    @Test func eachKeyHasItsOwnNameOrThatOfItsCertificate() throws {
        let file = Self.file(safes: [
            Self.safe([
                Self.certificateBag(try TestKeys.certificate(.ecP256).der, attributes: Self.friendlyName("first")),
                Self.certificateBag(try TestKeys.certificate(.ecP384).der, attributes: Self.friendlyName("second")),
                try Self.keyBag(.ecP384), try Self.keyBag(.ecP256, attributes: Self.friendlyName("mine")),
                try Self.keyBag(.ed25519),
            ])
        ])
        let hashes = try [KeyKind.ecP256, .ecP384].map { try TestKeys.key($0).publicKey.keyHash }
        #expect(try PKCS12.parse(file).friendlyNames == [hashes[0]: "mine", hashes[1]: "second"])
    }

    @Test func bagsInsideBagsAreRead() throws {
        let inner = Self.bag(6, DER.sequence([try Self.keyBag(.ecP256)]))
        let read = try PKCS12.parse(Self.file(safes: [Self.safe([Self.bag(6, DER.sequence([inner]))])]))
        #expect(read.keys.count == 1)
    }

    @Test func bagsWithoutEndAreMalformed() throws {
        var bag = try Self.keyBag(.ecP256)
        for _ in 0..<10 { bag = Self.bag(6, DER.sequence([bag])) }
        #expect(throws: CryptoError(.malformed, "")) { try PKCS12.parse(Self.file(safes: [Self.safe([bag])])) }
    }

    @Test func whatIsNeitherKeyNorX509IsPassedOver() throws {
        let secret = Self.bag(
            5, DER.sequence([DER.objectIdentifier("1.2.3"), DER.element(0xA0, DER.octetString([1]))]))
        let text = DER.element(DER.Tag.context(0), DER.element(0x16, utf8("sdsi")))
        let sdsi = Self.bag(3, DER.sequence([DER.objectIdentifier("1.2.840.113549.1.9.22.2"), text]))
        let read = try PKCS12.parse(Self.file(safes: [Self.safe([secret, sdsi])]))
        #expect(read.keys.isEmpty && read.certificates.isEmpty)
    }

    /// OpenSSL accepts such keys: it makes up for a wrong number by the others.
    @Test(arguments: 0..<8)
    func theNumbersOfAnRSAKeyBelongTogether(index: Int) throws {
        var outer = TLVReader(reveal(try TestKeys.rsa().externalRepresentation()))
        var fields = TLVReader(try #require(outer.all().first).value)
        var numbers = try fields.all().map { Array($0.value) }
        // The version comes first.
        numbers[1 + index][numbers[1 + index].count - 1] ^= 2
        let wrong = DER.sequence(numbers.map { DER.element(DER.Tag.integer, $0) })
        let algorithm = DER.sequence([DER.objectIdentifier("1.2.840.113549.1.1.1"), [0x05, 0x00]])
        let info = DER.sequence([DER.integer([0]), algorithm, DER.octetString(wrong)])
        let file = Self.file(safes: [Self.safe([Self.bag(1, info)])])
        let code = errorCode { () throws(CryptoError) in _ = try PKCS12.parse(file) }
        #expect(code == .invalidKey || code == .malformed)
    }

    @Test func emptyFilesAreEmpty() throws {
        #expect(try PKCS12.parse(Self.file(safes: [])).keys.isEmpty)
        #expect(try PKCS12.parse(Self.file(safes: [Self.safe([])])).certificates.isEmpty)
    }

    @Test func filesForAPublicKeyAreUnsupported() {
        let enveloped = DER.sequence([
            DER.integer([0]), DER.element(DER.Tag.set, []),
            DER.sequence([
                DER.objectIdentifier(Self.data),
                DER.sequence([DER.objectIdentifier("2.16.840.1.101.3.4.1.2"), DER.octetString([1])]),
            ]),
        ])
        let safe = Self.contentInfo(Self.envelopedData, enveloped)
        #expect(throws: CryptoError(.unsupported, "")) { try PKCS12.parse(Self.file(safes: [safe])) }
    }

    @Test func brokenContentsAreMalformed() throws {
        let brokenKey = Self.bag(1, DER.sequence([DER.integer([0])]))
        let brokenCertificate = Self.certificateBag([0x30, 0x00])
        let mixedKey = reveal(try TestKeys.key(.ecP256).pkcs8())
        for bag in [brokenKey, brokenCertificate, Self.bag(1, Array(mixedKey.dropLast()))] {
            #expect(throws: CryptoError(.malformed, "")) { try PKCS12.parse(Self.file(safes: [Self.safe([bag])])) }
        }
    }

    @Test func aPasswordForAnOpenFileDoesNoHarm() throws {
        let file = Self.file(safes: [Self.safe([try Self.keyBag(.ecP256)])])
        #expect(try PKCS12.parse(file, password: secret("unused")).keys.count == 1)
    }
}
