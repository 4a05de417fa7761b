import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

@Suite struct KeyMetadataTests {
    @Test(
        arguments: [
            ("0202", .once, .always), ("0101", .never, .never), ("0303", .always, .cached), ("0402", .once, .always),
            ("0501", .always, .never), ("0000", nil, .unknown), ("0907", .other(9), .other(7)), ("02", .once, .unknown),
            ("", nil, .unknown),
        ] as [(String, PINPolicy?, TouchPolicy)])
    func policiesKeepTheirNumberWhereTheyHaveNoName(policies: String, pin: PINPolicy?, touch: TouchPolicy) throws {
        let bytes = TLV(0x01, [0x11]).encoded() + TLV(0x02, .init(hex: policies)).encoded()
        let metadata = try #require(try KeyMetadata(parsing: bytes))
        #expect(metadata.pinPolicy == pin)
        #expect(metadata.touchPolicy == touch)
    }

    @Test func metadataWithoutAnAlgorithmIsAnError() {
        #expect(throws: TokenError(.malformed, "")) { try KeyMetadata(parsing: .init(hex: "020201010404860204FF")) }
        #expect(throws: TokenError(.malformed, "")) { try KeyMetadata(parsing: .init(hex: "010002020101")) }
        #expect(throws: TokenError(.malformed, "")) { try KeyMetadata(parsing: []) }
    }

    /// The answer of PivApplet for an empty slot.
    @Test func policiesWithoutAKeyAreThoseOfAnEmptySlot() throws {
        #expect(try KeyMetadata(parsing: .init(hex: "02020201030100")) == nil)
    }

    @Test(arguments: [
        (PIVAlgorithm.p256, KeyKind.ecP256), (.p384, .ecP384), (.ed25519, .ed25519), (.x25519, .x25519),
        (.soloEd25519, .ed25519),
    ])
    func aPointBecomesAPublicKey(algorithm: PIVAlgorithm, kind: KeyKind) throws {
        let key = try PrivateKey.generate(kind).publicKey
        let template = TLV(0x86, key.rawRepresentation).encoded()
        let metadata = try KeyMetadata(
            parsing: TLV(0x01, [algorithm.rawValue]).encoded() + TLV(0x04, template).encoded())
        #expect(metadata?.subjectPublicKeyInfo == key.spki)
    }

    @Test func modulusAndExponentBecomeAPublicKey() throws {
        let key = try PrivateKey.generate(.rsa(bits: 1024)).publicKey
        let parts = try #require(key.rsaComponents)
        let template = TLV(0x81, parts.modulus).encoded() + TLV(0x82, parts.exponent).encoded()
        let metadata = try KeyMetadata(parsing: TLV(0x01, [0x06]).encoded() + TLV(0x04, template).encoded())
        #expect(metadata?.subjectPublicKeyInfo == key.spki)
    }

    @Test(arguments: [
        "010111", "0101110404860204FF", "0101070400", "01010704048102000F", "0101FF0404860204FF", "010111040186",
    ])
    func bytesThatAreNoKeyGiveNone(hex: String) throws {
        let metadata = try #require(try KeyMetadata(parsing: .init(hex: hex)))
        #expect(metadata.subjectPublicKeyInfo == nil)
    }
}

@Suite struct PINMetadataTests {
    @Test func triesAndWhetherItIsTheFactorys() throws {
        let metadata = try PINMetadata(parsing: Fixture.pinMetadata)
        #expect(metadata.isDefault == true)
        #expect(metadata.maximumTries == 3)
        #expect(metadata.triesLeft == 2)
    }

    @Test(arguments: ["", "0101FF", "060103", "0603010203"])
    func whatTheCardDoesNotTellIsUnknown(hex: String) throws {
        let metadata = try PINMetadata(parsing: .init(hex: hex))
        #expect(metadata.isDefault == nil)
        #expect(metadata.maximumTries == nil)
        #expect(metadata.triesLeft == nil)
    }
}

@Suite struct FirmwareTests {
    @Test func versionsCompareByNumber() throws {
        #expect(try Firmware(parsing: [5, 10, 0]) > Firmware(5, 9, 9))
        #expect(Firmware(4, 3, 5) < Firmware(5, 0, 0))
        #expect(Firmware(5, 7, 1).description == "5.7.1")
        #expect(Firmware("5.7.1") == Firmware(5, 7, 1))
        #expect(["", "5", "5.7", "5.7.1.0", "5.7.256", "5.7.x"].allSatisfy { Firmware($0) == nil })
    }

    @Test(arguments: [[], [5], [5, 7], [5, 7, 1, 0]] as [[UInt8]])
    func anotherLengthIsAnError(bytes: [UInt8]) {
        #expect(throws: TokenError(.malformed, "")) { try Firmware(parsing: bytes) }
    }

    @Test func serialNumbersHaveFourBytes() throws {
        #expect(try SerialNumber.parse([0x00, 0xBC, 0x61, 0x4E]) == 12_345_678)
        #expect(try SerialNumber.parse([0xFF, 0xFF, 0xFF, 0xFF]) == .max)
        #expect(try SerialNumber.parse([0, 0, 0, 0]) == nil)
        #expect(throws: TokenError(.malformed, "")) { try SerialNumber.parse([1, 2, 3]) }
    }

    @Test(arguments: [
        (Firmware(4, 2, 5), 0), (Firmware(4, 2, 6), 1), (Firmware(4, 3, 4), 1), (Firmware(4, 3, 5), 0),
        (Firmware(5, 0, 0), 1), (Firmware(5, 6, 4), 1), (Firmware(5, 7, 0), 0), (Firmware(1, 0, 4), 0),
    ])
    func weakDevicesAreKnownByTheirVersion(firmware: Firmware, count: Int) {
        #expect(Advisory.all(for: firmware).count == count)
    }
}

@Suite struct AttestationTests {
    private func attestation(_ extensions: [CertificateExtension]) throws -> (Attestation, PublicKey) {
        let key = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: "YubiKey PIV Attestation 9a", publicKey: key.publicKey, notBefore: 1_600_000_000,
            notAfter: 1_900_000_000)
        builder.extensions = extensions
        return (try Attestation(parsing: builder.selfSigned(by: key).der), key.publicKey)
    }

    @Test func theExtensionsTellOfDeviceAndKey() throws {
        let (attestation, key) = try attestation([
            CertificateExtension("1.3.6.1.4.1.41482.3.3", value: [5, 2, 4]),
            CertificateExtension("1.3.6.1.4.1.41482.3.7", value: .init(hex: "020400BC614E")),
            CertificateExtension("1.3.6.1.4.1.41482.3.8", value: [0x03, 0x02]),
        ])
        #expect(attestation.publicKey == key.spki)
        #expect(attestation.firmware == Firmware(5, 2, 4))
        #expect(attestation.serialNumber == 12_345_678)
        #expect(attestation.pinPolicy == .always)
        #expect(attestation.touchPolicy == .always)
    }

    @Test func whatIsMissingOrStrangeIsUnknown() throws {
        let (attestation, _) = try attestation([
            CertificateExtension("1.3.6.1.4.1.41482.3.3", value: [5]),
            CertificateExtension("1.3.6.1.4.1.41482.3.7", value: .init(hex: "0206010203040506")),
        ])
        #expect(attestation.firmware == nil)
        #expect(attestation.serialNumber == nil)
        #expect(attestation.pinPolicy == nil)
        #expect(attestation.touchPolicy == .unknown)
    }

    @Test func whatIsNoCertificateIsAnError() {
        #expect(throws: TokenError(.malformed, "")) { try Attestation(parsing: [0x30, 0x00]) }
    }
}
