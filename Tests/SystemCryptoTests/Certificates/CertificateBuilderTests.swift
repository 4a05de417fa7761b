import SystemCrypto
import Testing

@Suite struct CertificateBuilderTests {
    private func builder(_ kind: KeyKind, commonName: String = "Jo Ünit") throws -> CertificateBuilder {
        try CertificateBuilder(
            commonName: commonName, publicKey: TestKeys.key(kind).publicKey, notBefore: 1_577_836_800,
            notAfter: 4_102_444_800)
    }

    @Test(arguments: TestKeys.signingKinds)
    func whatIsBuiltIsRead(kind: KeyKind) throws {
        var builder = try builder(kind)
        builder.serialNumber = hex("00F00D")
        builder.keyUsage = [.digitalSignature, .keyEncipherment, .decipherOnly]
        builder.extendedKeyUsage = [.clientAuthentication, .smartCardLogon]
        builder.subjectAlternativeNames = [
            .email("jo@example.org"), .userPrincipalName("jo@corp"), .dns("host"), .uri("urn:x"),
            .otherName("2.16.840.1.101.3.6.6", value: hex("0401AA")), .other(tag: 0x87, content: [127, 0, 0, 1]),
        ]
        builder.extensions = [CertificateExtension("1.3.6.1.4.1.41482.3.3", value: hex("050403"))]
        let certificate = try builder.selfSigned(by: TestKeys.key(kind))

        #expect(certificate.subject.description == "CN=Jo Ünit")
        #expect(certificate.serialNumber == hex("00F00D"))
        #expect(certificate.notBeforeText == "2020-01-01T00:00:00Z")
        #expect(certificate.notAfterText == "2100-01-01T00:00:00Z")
        #expect(certificate.publicKey == builder.publicKey)
        #expect(certificate.keyUsage == builder.keyUsage)
        #expect(certificate.extendedKeyUsage == builder.extendedKeyUsage)
        #expect(certificate.subjectAlternativeNames == builder.subjectAlternativeNames)
        #expect(certificate.extensionValue("1.3.6.1.4.1.41482.3.3") == hex("050403"))
        #expect(try certificate.verify(issuedBy: certificate))
    }

    @Test(arguments: TestKeys.signingKinds)
    func opensslAcceptsWhatIsBuilt(kind: KeyKind) throws {
        let openssl = try OpenSSLCommand()
        var builder = try builder(kind)
        builder.isCA = true
        builder.keyUsage = [.keyCertSign]
        let certificate = try builder.selfSigned(by: TestKeys.key(kind))
        try openssl.write(utf8(certificate.pem), to: "certificate.pem")
        let output = try openssl.succeed("verify", "-x509_strict", "-CAfile", "certificate.pem", "certificate.pem")
        #expect(output.contains("OK"))
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func digestsOfTheSignatureCanBeChosen(digest: DigestAlgorithm) throws {
        for kind in [KeyKind.rsa(bits: 2048), .ecP256] {
            let certificate = try builder(kind).selfSigned(by: TestKeys.key(kind), digest: digest)
            #expect(try certificate.verify(issuedBy: certificate))
        }
    }

    @Test func authoritiesIssueForOthers() throws {
        let authorityKey = try TestKeys.key(.ecP384)
        var root = try builder(.ecP384, commonName: "Root")
        root.isCA = true
        let authority = try root.selfSigned(by: authorityKey)
        let certificate = try builder(.rsa(bits: 2048)).issued(by: authority, key: authorityKey, digest: .sha384)
        #expect(authority.isCA && !certificate.isCA)
        #expect(certificate.issuer == authority.subject && !certificate.isSelfIssued)
        #expect(try certificate.verify(issuedBy: authority))
        #expect(try !authority.verify(issuedBy: certificate))
        #expect(try !certificate.verify(issuedBy: certificate))
    }

    @Test func constraintsCanBeLeftOut() throws {
        var builder = try builder(.ecP256)
        builder.isCA = true
        builder.hasConstraints = false
        let certificate = try builder.selfSigned(by: TestKeys.key(.ecP256))
        #expect(certificate.extensionValue("2.5.29.19") == nil && !certificate.isCA)
        #expect(certificate.subjectKeyIdentifier == builder.publicKey.keyHash)
    }

    /// A card signs what the builder wrote; here a key in memory plays the card.
    @Test func aCardCanSign() throws {
        let builder = try builder(.ecP256)
        let algorithm = try CertificateBuilder.signatureAlgorithm(of: builder.publicKey, digest: .sha256)
        let message = try builder.toBeSigned(using: algorithm)
        let signature = try TestKeys.key(.ecP256).sign(message: message, using: algorithm)
        let certificate = try CertificateBuilder.assemble(message, signature: signature, algorithm: algorithm)
        #expect(try certificate.verify(issuedBy: certificate))
        let forged = try CertificateBuilder.assemble(
            message, signature: flipping(signature, at: 10), algorithm: algorithm)
        #expect(try !forged.verify(issuedBy: forged))
    }

    @Test func serialNumbersAreRandomAndPositive() throws {
        let serials = try (0..<50).map { _ in
            try builder(.ecP256).selfSigned(by: TestKeys.key(.ecP256)).serialNumber
        }
        #expect(Set(serials).count == 50)
        #expect(serials.allSatisfy { ($0.first ?? 0xFF) < 0x80 && $0.count <= 20 })
    }

    @Test func keysAndAlgorithmsThatSignNoCertificates() throws {
        let key = try TestKeys.key(.x25519)
        let builder = try builder(.x25519)
        #expect(throws: CryptoError(.unsupported, "")) { try builder.selfSigned(by: key) }
        for algorithm in [SignatureAlgorithm.rsaPSS(.sha256), .rsaPKCS1(nil), .ecdsa(nil)] {
            #expect(throws: CryptoError(.unsupported, "")) { try builder.toBeSigned(using: algorithm) }
        }
    }

    @Test(arguments: [Int64.min, -62_167_219_201, 253_402_300_800, .max])
    func yearsWithoutFourDigitsAreMalformed(time: Int64) throws {
        var builder = try builder(.ecP256)
        builder.notAfter = time
        #expect(throws: CryptoError(.malformed, "")) { try builder.toBeSigned(using: .ecdsa(.sha256)) }
    }
}
