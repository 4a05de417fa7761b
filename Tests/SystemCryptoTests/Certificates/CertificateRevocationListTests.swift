import SystemCrypto
import Testing

/// Revocation lists in files. Their entries are tested by tokenctl's verify-cert, with lists that openssl makes.
@Suite struct CertificateRevocationListTests {
    @Test(arguments: [[], [0x30, 0x00], [0x30, 0x03, 0x02, 0x01, 0x00], Array("nonsense".utf8)] as [[UInt8]])
    func whatIsNoListIsMalformed(_ bytes: [UInt8]) {
        #expect(throws: CryptoError.self) { try CertificateRevocationList(der: bytes) }
        #expect(throws: CryptoError.self) { try CertificateRevocationList.all(in: bytes) }
    }

    @Test func aCertificateIsNoList() throws {
        let key = try TestKeys.key(.ecP256)
        let certificate = try CertificateBuilder(
            commonName: "Jo", publicKey: key.publicKey, notBefore: 0, notAfter: 1
        ).selfSigned(by: key)
        #expect(throws: CryptoError.self) { try CertificateRevocationList(der: certificate.der) }
        #expect(throws: CryptoError.self) { try CertificateRevocationList.all(in: Array(certificate.pem.utf8)) }
    }

    @Test func aCertificateReadsAsText() throws {
        let key = try TestKeys.key(.ecP256)
        let certificate = try CertificateBuilder(
            commonName: "Jo Doe", publicKey: key.publicKey, notBefore: 0, notAfter: 1
        ).selfSigned(by: key)
        let text = try certificate.text()
        #expect(text.hasPrefix("Certificate:\n"))
        #expect(text.contains("Jo Doe"))
        #expect(text.contains("Jan  1 00:00:00 1970 GMT"))
    }
}
