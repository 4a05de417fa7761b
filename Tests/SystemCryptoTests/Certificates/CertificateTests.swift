import SecureBytes
import SystemCrypto
import Testing

@Suite struct CertificateTests {
    @Test func opensslsCertificateIsReadInFull() throws {
        let openssl = try OpenSSLCommand()
        try openssl.write(utf8(Self.configuration), to: "config")
        try openssl.succeed(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem",
            "-out", "certificate.pem", "-config", "config", "-days", "10", "-set_serial", "0x80FF01")
        let text = try openssl.read("certificate.pem")
        let certificate = try #require(try Certificate.all(inPEM: text).first)

        #expect(certificate.version == 3)
        #expect(certificate.serialNumber == hex("0080FF01"))
        #expect(
            certificate.subject.description == "emailAddress=jo@subject.example,CN=Jö\\, the \\\"first\\\",O=Ünit,C=DE")
        #expect(certificate.subject == certificate.issuer && certificate.isSelfIssued)
        #expect(certificate.commonName == "Jö, the \"first\"")
        #expect(try Certificate.commonName(inDER: certificate.der) == certificate.commonName)
        #expect(certificate.emailAddresses == ["jo@example.org", "jo@subject.example"])
        #expect(certificate.userPrincipalNames == ["jo@corp.example"])
        #expect(
            certificate.subjectAlternativeNames.prefix(3) == [
                .email("jo@example.org"), .dns("host.example"), .uri("urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
            ])
        #expect(certificate.keyUsage == [.digitalSignature, .nonRepudiation, .keyAgreement])
        #expect(certificate.extendedKeyUsage == [.clientAuthentication, .smartCardLogon, "1.2.3.4"])
        #expect(!certificate.isCA)
        #expect(certificate.subjectKeyIdentifier == certificate.keyHash)
        #expect(certificate.publicKey?.kind == .ecP256)
        #expect(certificate.notAfter - certificate.notBefore == 10 * 86_400)
        #expect(certificate.extensionValue("1.2.3.4.5") == hex("0403010203"))
        #expect(utf8(certificate.pem) == text)
        #expect(try certificate.verify(issuedBy: certificate))
    }

    private static let configuration = """
        [req]
        distinguished_name = dn
        x509_extensions = ext
        prompt = no
        utf8 = yes
        [dn]
        C = DE
        O = Ünit
        CN = "Jö, the \\"first\\""
        emailAddress = jo@subject.example
        [ext]
        subjectKeyIdentifier = hash
        keyUsage = critical, digitalSignature, nonRepudiation, keyAgreement
        extendedKeyUsage = clientAuth, 1.3.6.1.4.1.311.20.2.2, 1.2.3.4
        subjectAltName = email:jo@example.org, DNS:host.example, URI:urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6, \
        otherName:1.3.6.1.4.1.311.20.2.3;UTF8:jo@corp.example
        1.2.3.4.5 = DER:0403010203
        """

    @Test func fingerprintsAreOpenSSLs() throws {
        let openssl = try OpenSSLCommand()
        let certificate = try TestKeys.certificate(.ecP256)
        try openssl.write(certificate.der, to: "certificate.der")
        for algorithm in [DigestAlgorithm.sha1, .sha256] {
            let output = try openssl.succeed(
                "x509", "-in", "certificate.der", "-inform", "DER", "-noout", "-fingerprint", "-\(algorithm.rawValue)")
            let expected = output.split(separator: "=").last.flatMap { Hex.decode($0) }
            #expect(try certificate.fingerprint(algorithm) == expected)
        }
    }

    @Test func everyCutIsMalformedAndNothingMayFollow() throws {
        let der = try TestKeys.certificate(.ecP256).der
        for length in 0..<der.count {
            #expect(throws: CryptoError(.malformed, "")) { try Certificate(der: Array(der.prefix(length))) }
        }
        #expect(throws: CryptoError(.malformed, "")) { try Certificate(der: der + [0]) }
        #expect(throws: CryptoError(.malformed, "")) { try Certificate(der: der + der) }
    }

    /// The fields of a tampered certificate are still read; verification shows that it is tampered.
    @Test func noChangedByteTrapsOrVerifies() throws {
        let certificate = try TestKeys.certificate(.ecP256)
        for index in certificate.der.indices {
            guard let changed = try? Certificate(der: flipping(certificate.der, at: index)) else { continue }
            _ = (changed.subjectAlternativeNames, changed.keyUsage, changed.extendedKeyUsage, changed.isCA)
            _ = (changed.subjectKeyIdentifier, changed.notBeforeText, changed.emailAddresses)
            #expect(try !changed.verify(issuedBy: certificate), "byte \(index)")
        }
    }

    @Test func keysOfUnknownKindsDoNotKeepACertificateFromBeingRead() throws {
        let certificate = try TestKeys.certificate(.ecP256)
        // id-ecPublicKey, turned into an unknown identifier.
        let identifier = hex("06072A8648CE3D0201")
        let start = try #require(certificate.der.firstRange(of: identifier)?.lowerBound)
        let unknown = try Certificate(der: flipping(certificate.der, at: start + 8))
        #expect(unknown.publicKey == nil)
        #expect(unknown.subject == certificate.subject)
        #expect(unknown.keyHash == certificate.keyHash)
        #expect(throws: CryptoError(.unsupported, "")) { try certificate.verify(issuedBy: unknown) }
    }

    @Test func pointsOffTheCurveDoNotEither() throws {
        let certificate = try TestKeys.certificate(.ecP256)
        let point = try #require(certificate.publicKey?.rawRepresentation)
        let end = try #require(certificate.der.firstRange(of: point)?.upperBound)
        let flawed = try Certificate(der: flipping(certificate.der, at: end - 1))
        #expect(flawed.publicKey == nil && flawed.keyHash.count == 20)
    }

    @Test func filesHoldOneOrMany() throws {
        let one = try TestKeys.certificate(.ecP256, commonName: "one")
        let two = try TestKeys.certificate(.rsa(bits: 2048), commonName: "two")
        #expect(try Certificate.all(in: one.der) == [one])
        #expect(try Certificate.all(in: utf8("text\n" + one.pem + "more\n" + two.pem)) == [one, two])
        #expect(try Certificate.all(inPEM: utf8("none")) == [])
        #expect(throws: CryptoError(.malformed, "")) { try Certificate.all(in: utf8("none")) }
        let key = utf8(try TestKeys.key(.ecP256).publicKey.pem)
        #expect(throws: CryptoError(.malformed, "")) { try Certificate.all(in: key) }
    }

    @Test func equalityIsOfTheBytes() throws {
        let one = try TestKeys.certificate(.ecP256)
        let same = try Certificate(der: one.der)
        #expect(one == same && Set([one, same]).count == 1)
        #expect(try one != TestKeys.certificate(.ecP384))
    }

    @Test func manyThreadsReadOne() async throws {
        let certificate = try TestKeys.certificate(.rsa(bits: 2048))
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<64 { group.addTask { try certificate.verify(issuedBy: certificate) } }
            for try await isValid in group { #expect(isValid) }
        }
    }
}
