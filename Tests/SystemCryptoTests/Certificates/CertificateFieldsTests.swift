import SecureBytes
import Testing

@testable import SystemCrypto

/// Certificates put together by hand, right and wrong, with fields that some issuers write although they should not.
@Suite struct CertificateFieldsTests {
    /// The parts of a certificate; a test changes one.
    private struct Parts {
        var version: [UInt8] = DER.element(DER.Tag.context(0), DER.integer([2]))
        var serial = DER.integer([1])
        var algorithm = DER.sequence([DER.objectIdentifier("1.2.840.10045.4.3.2")])
        var issuer: [UInt8]
        var validity: [UInt8]
        var subject: [UInt8]
        var spki: [UInt8]
        var afterKey: [UInt8] = []
        var extensions: [UInt8] = []

        init() throws {
            issuer = try DistinguishedName(commonName: "issuer").der
            subject = try DistinguishedName(commonName: "subject").der
            validity = DER.sequence([try CertificateTime.encode(0), try CertificateTime.encode(86_400)])
            spki = try TestKeys.key(.ecP256).publicKey.spki
        }

        var der: [UInt8] {
            let toBeSigned = DER.sequence([
                version, serial, algorithm, issuer, validity, subject, spki, afterKey, extensions,
            ])
            return DER.sequence([toBeSigned, algorithm, DER.bitString([0x30, 0x00])])
        }

        mutating func setExtensions(_ list: [[UInt8]]) {
            extensions = DER.element(DER.Tag.context(3), DER.sequence(list))
        }
    }

    @Test func theCommonNameIsReadAlone() throws {
        var parts = try Parts()
        #expect(try Certificate.commonName(inDER: parts.der) == "subject")
        for length in 0..<parts.der.count - parts.spki.count - 20 {
            let code = errorCode { () throws(CryptoError) in
                _ = try Certificate.commonName(inDER: Array(parts.der.prefix(length)))
            }
            #expect(code == .malformed, "\(length) bytes")
        }
        parts.version = []
        #expect(try Certificate.commonName(inDER: parts.der) == "subject")
        parts.subject = DER.sequence([])
        #expect(try Certificate.commonName(inDER: parts.der) == nil)
    }

    @Test func thePartsAreRead() throws {
        let parts = try Parts()
        let certificate = try Certificate(der: parts.der)
        #expect(certificate.version == 3)
        #expect(certificate.serialNumber == [1])
        #expect(certificate.issuer.commonName == "issuer")
        #expect(certificate.subject.commonName == "subject")
        #expect(certificate.notBefore == 0 && certificate.notAfter == 86_400)
        #expect(certificate.spki == parts.spki)
        #expect(certificate.extensions.isEmpty && !certificate.isSelfIssued)
        #expect(certificate.keyUsage == nil && certificate.extendedKeyUsage == nil)
        #expect(certificate.subjectKeyIdentifier == nil && !certificate.isCA)
        #expect(certificate.subjectAlternativeNames.isEmpty && certificate.emailAddresses.isEmpty)
    }

    @Test func firstVersionCertificatesHaveNoVersionField() throws {
        var parts = try Parts()
        parts.version = []
        #expect(try Certificate(der: parts.der).version == 1)
    }

    @Test(arguments: [[0x00], [0x7F], [0x80], [0xFF], [0x00, 0x80], [0xFF, 0x7F]] as [[UInt8]])
    func serialNumbersAreKeptAsTheyAre(content: [UInt8]) throws {
        var parts = try Parts()
        parts.serial = DER.element(DER.Tag.integer, content)
        #expect(try Certificate(der: parts.der).serialNumber == content)
    }

    @Test func uniqueIdentifiersArePassedOver() throws {
        var parts = try Parts()
        parts.afterKey =
            DER.element(DER.Tag.context(1, constructed: false), [0, 1])
            + DER.element(DER.Tag.context(2, constructed: false), [0, 2])
        parts.setExtensions([CertificateExtension(.keyUsage, value: hex("03020780")).encoded])
        #expect(try Certificate(der: parts.der).keyUsage == [.digitalSignature])
    }

    @Test func emptyNamesAreNames() throws {
        var parts = try Parts()
        parts.subject = [0x30, 0x00]
        let certificate = try Certificate(der: parts.der)
        #expect(certificate.subject.isEmpty && certificate.commonName == nil)
    }

    @Test func rsaKeysOfAnyShapeLeaveTheCertificateReadable() throws {
        var parts = try Parts()
        let algorithm = DER.sequence([DER.objectIdentifier("1.2.840.113549.1.1.1"), [0x05, 0x00]])
        for key in [[], [0x30, 0x00], DER.sequence([DER.integer([0]), DER.integer([0])]), [0xFF, 0xFF]] {
            parts.spki = DER.sequence([algorithm, DER.bitString(key)])
            let certificate = try Certificate(der: parts.der)
            #expect(try certificate.keyHash == Digest.hash(key, using: .sha1))
        }
    }

    @Test func whatIsMissingOrTooMuchIsMalformed() throws {
        let right = try Parts()
        var wrong: [Parts] = []
        func change(_ body: (inout Parts) -> Void) {
            var parts = right
            body(&parts)
            wrong.append(parts)
        }
        change { $0.serial = [] }
        change { $0.algorithm = [] }
        change { $0.issuer = [] }
        change { $0.validity = [] }
        change { $0.validity = DER.sequence([]) }
        change { $0.validity = DER.sequence([DER.integer([1]), DER.integer([2])]) }
        change { $0.subject = [] }
        change { $0.spki = [] }
        change { $0.spki = DER.sequence([]) }
        change { $0.afterKey = DER.integer([1]) }
        change { $0.extensions = DER.element(DER.Tag.context(3), []) }
        change { $0.extensions = DER.element(DER.Tag.context(4), DER.sequence([])) }
        change { $0.version = DER.element(DER.Tag.context(0), []) }
        for parts in wrong {
            #expect(throws: CryptoError(.malformed, "")) { try Certificate(der: parts.der) }
        }
    }

    /// An extension that cannot be read is ignored; the certificate is still listed.
    @Test(arguments: ["", "00", "0500", "3000", "30020500", "0307", "3080", "04020102", "30040C0241FF"])
    func extensionsThatCannotBeReadSayNothing(text: String) throws {
        var parts = try Parts()
        let identifiers: [OID] = [
            .keyUsage, .extendedKeyUsage, .subjectAlternativeName, .basicConstraints, .subjectKeyIdentifier,
        ]
        parts.setExtensions(identifiers.map { CertificateExtension($0, value: hex(text)).encoded })
        let certificate = try Certificate(der: parts.der)
        #expect(certificate.extensions.count == 5)
        #expect(certificate.extensions.allSatisfy { $0.value == hex(text) })
        #expect(certificate.keyUsage == nil && !certificate.isCA)
        #expect(certificate.extendedKeyUsage == [])
        #expect(certificate.emailAddresses.isEmpty && certificate.userPrincipalNames.isEmpty)
        let identifier = text == "04020102" ? hex("0102") : nil
        #expect(certificate.subjectKeyIdentifier == identifier)
    }

    @Test func theFirstOfTwoExtensionsCounts() throws {
        var parts = try Parts()
        parts.setExtensions([
            CertificateExtension("1.2.3", value: [1]).encoded, CertificateExtension("1.2.3", value: [2]).encoded,
        ])
        #expect(try Certificate(der: parts.der).extensionValue("1.2.3") == [1])
    }

    @Test func authoritiesSaySo() throws {
        var parts = try Parts()
        for (value, isCA) in [("3000", false), ("30030101FF", true), ("3003010100", false), ("30060101FF020100", true)]
        {
            parts.setExtensions([CertificateExtension(.basicConstraints, value: hex(value)).encoded])
            #expect(try Certificate(der: parts.der).isCA == isCA, "\(value)")
        }
    }
}

@Suite struct CertificateExtensionTests {
    @Test(arguments: [true, false])
    func extensionsComeBack(isCritical: Bool) throws {
        let made = CertificateExtension("1.2.3.4", isCritical: isCritical, value: [0x05, 0x00])
        var reader = TLVReader(made.encoded, .der)
        #expect(try CertificateExtension(parsing: reader.read(DER.Tag.sequence)) == made)
    }

    @Test func falseMayBeWrittenOut() throws {
        let encoded = DER.sequence([
            DER.objectIdentifier("1.2.3"), DER.element(DER.Tag.boolean, [0]), DER.octetString([7]),
        ])
        var reader = TLVReader(encoded, .der)
        let read = try CertificateExtension(parsing: reader.read(DER.Tag.sequence))
        #expect(read == CertificateExtension("1.2.3", value: [7]))
    }

    @Test func otherShapesAreMalformed() throws {
        let identifier = DER.objectIdentifier("1.2.3")
        let shapes = [
            [], [identifier], [DER.octetString([1])], [identifier, DER.integer([1])],
            [identifier, DER.octetString([1]), DER.integer([1])],
        ]
        for shape in shapes {
            var reader = TLVReader(DER.sequence(shape), .der)
            let element = try reader.read(DER.Tag.sequence)
            #expect(throws: CryptoError(.malformed, "")) { try CertificateExtension(parsing: element) }
        }
    }
}

@Suite struct GeneralNameTests {
    @Test(arguments: [
        GeneralName.email("jo@example.org"), .dns("host.example"), .uri("https://example.org/"),
        .userPrincipalName("jo@corp.example"), .otherName("2.16.840.1.101.3.6.6", value: [0x04, 0x01, 0xAA]),
        .other(tag: 0x87, content: [127, 0, 0, 1]), .other(tag: 0xA4, content: [0x30, 0x00]), .email(""),
    ])
    func namesComeBack(name: GeneralName) throws {
        #expect(try GeneralName.parse(DER.sequence([name.encoded])) == [name])
    }

    @Test func noNamesAreNoError() throws {
        #expect(try GeneralName.parse([0x30, 0x00]) == [])
    }

    @Test func textThatMovesTheCursorIsEscaped() throws {
        let encoded = GeneralName.email("jo\u{1B}[2J@example.org\u{0}").encoded
        #expect(try GeneralName.parse(DER.sequence([encoded])) == [.email(#"jo\1B[2J@example.org\00"#)])
    }

    @Test(arguments: ["", "31", "3000 00", "30038101", "3002A000", "3004A0020601", "3005A003060100"])
    func otherShapesAreMalformed(text: String) {
        #expect(throws: CryptoError(.malformed, "")) { try GeneralName.parse(hex(text)) }
    }
}
