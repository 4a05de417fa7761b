import SystemCrypto
import TestSupport
import Testing

@Suite struct CertificateSetTests {
    private func certificates(_ names: [String]) throws -> [Certificate] {
        let key = try TestKeys.key(.ecP256)
        return try names.map { name in
            try CertificateBuilder(commonName: name, publicKey: key.publicKey, notBefore: 0, notAfter: 2_000_000_000)
                .selfSigned(by: key)
        }
    }

    @Test(arguments: [[], ["one"], ["one", "two", "three"]])
    func whatWasPutInComesOut(names: [String]) throws {
        let certificates = try certificates(names)
        let parsed = try CertificateSet.parse(CertificateSet.encode(certificates))
        #expect(Set(parsed) == Set(certificates))
    }

    @Test func opensslReadsWhatIsWrittenAndWritesWhatIsRead() throws {
        let openssl = try OpenSSLCommand()
        let certificates = try certificates(["one", "two"])
        try openssl.write(CertificateSet.encode(certificates), to: "set.p7b")
        let listing = try openssl.succeed(["pkcs7", "-inform", "DER", "-in", "set.p7b", "-print_certs"])
        // Some versions have blanks around the equals sign.
        #expect(listing.replacing(" ", with: "").contains("subject=CN=one"))
        #expect(listing.replacing(" ", with: "").contains("subject=CN=two"))
        try openssl.write(utf8(certificates.map(\.pem).joined()), to: "certificates.pem")
        _ = try openssl.succeed([
            "crl2pkcs7", "-nocrl", "-certfile", "certificates.pem", "-outform", "DER", "-out", "theirs.p7b",
        ])
        #expect(try Set(CertificateSet.parse(openssl.read("theirs.p7b"))) == Set(certificates))
    }

    @Test(arguments: ["", "30", "3000", "300B06092A864886F70D010701", "300D06092A864886F70D010702A000"])
    func anythingElseIsAnError(hex: String) throws {
        #expect(throws: CryptoError(.malformed, "")) { try CertificateSet.parse([UInt8](hex: hex)) }
    }

    @Test func everyBeginningOfAMessageIsAnError() throws {
        let message = CertificateSet.encode(try certificates(["one"]))
        for count in message.indices {
            #expect(throws: CryptoError.self) { try CertificateSet.parse(Array(message.prefix(count))) }
        }
    }
}

@Suite struct CertificationRequestTests {
    @Test(arguments: [KeyKind.ecP256, .ed25519, .rsa(bits: 2048)])
    func opensslVerifiesTheRequest(kind: KeyKind) throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(kind)
        var request = CertificationRequest(
            subject: try DistinguishedName(commonName: "Jo"), publicKey: key.publicKey)
        request.subjectAlternativeNames = [.dns("jo.example.com"), .email("jo@example.com")]
        let algorithm = try CertificateBuilder.signatureAlgorithm(of: key.publicKey, digest: .sha256)
        let signature = try key.sign(message: request.toBeSigned, using: algorithm)
        let der = try request.assemble(signature: signature, algorithm: algorithm)
        try openssl.write(utf8(PEM.encode(der, label: "CERTIFICATE REQUEST")), to: "request.pem")
        let text = try openssl.succeed(["req", "-in", "request.pem", "-verify", "-noout", "-text"])
        #expect(text.replacing(" ", with: "").contains("Subject:CN=Jo"))
        #expect(text.contains("DNS:jo.example.com, email:jo@example.com"))
    }

    @Test func withoutNamesThereAreNoAttributes() throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(.ecP256)
        let request = CertificationRequest(subject: try DistinguishedName(commonName: "Jo"), publicKey: key.publicKey)
        let signature = try key.sign(message: request.toBeSigned, using: .ecdsa(.sha256))
        try openssl.write(request.assemble(signature: signature, algorithm: .ecdsa(.sha256)), to: "request.der")
        #expect(
            try !openssl.succeed(["req", "-inform", "DER", "-in", "request.der", "-noout", "-text"]).contains("DNS"))
    }

    @Test(arguments: ["rsa", "rsa-pss", "ec", "ed25519"]) func theKeyOfARequestIsKnownByItsSignature(kind: String)
        throws
    {
        let openssl = try OpenSSLCommand()
        let options =
            switch kind {
            case "ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            case "rsa-pss": ["rsa", "-sigopt", "rsa_padding_mode:pss"]
            default: [kind]
            }
        _ = try openssl.succeed(
            [
                "req", "-new", "-subj", "/CN=Jo", "-nodes", "-keyout", "key.pem", "-outform", "DER", "-out",
                "request.der",
            ]
                + ["-newkey"] + options)
        _ = try openssl.succeed(["pkey", "-in", "key.pem", "-pubout", "-outform", "DER", "-out", "key.der"])
        let der = try openssl.read("request.der")
        #expect(try CertificationRequest.provenKey(of: der).spki == openssl.read("key.der"))
        var forged = der
        forged[forged.count - 1] ^= 1
        #expect(throws: CryptoError(.malformed, "")) { try CertificationRequest.provenKey(of: forged) }
        for count in der.indices {
            #expect(throws: CryptoError.self) { try CertificationRequest.provenKey(of: Array(der.prefix(count))) }
        }
        #expect(throws: CryptoError(.malformed, "")) { try CertificationRequest.provenKey(of: der + [0]) }
    }
}
