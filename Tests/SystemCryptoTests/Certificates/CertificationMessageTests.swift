import Testing

@testable import SystemCrypto

/// The messages that any key may sign: those about itself.
@Suite struct CertificationMessageTests {
    private let key = Result { try PrivateKey.generate(.ecP256).publicKey }

    private func builder(_ subject: String, issuer: String? = nil) throws -> CertificateBuilder {
        var builder = try CertificateBuilder(
            commonName: subject, publicKey: key.get(), notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.issuer = try issuer.map { try DistinguishedName(commonName: $0) }
        return builder
    }

    @Test func aRequestAndACertificateForOneselfAreAboutTheKey() throws {
        let spki = try key.get().spki
        let request = try CertificationRequest(subject: DistinguishedName(commonName: "Jo"), publicKey: key.get())
        #expect(CertificationMessage.isAbout(spki, request.toBeSigned))
        #expect(try CertificationMessage.isAbout(spki, builder("Jo").toBeSigned(using: .ecdsa(.sha256))))
    }

    @Test func othersAreNot() throws {
        let (spki, other) = (try key.get().spki, try PrivateKey.generate(.ecP256).publicKey)
        let request = try CertificationRequest(subject: DistinguishedName(commonName: "Jo"), publicKey: key.get())
        #expect(!CertificationMessage.isAbout(other.spki, request.toBeSigned))
        let issued = try builder("Jo", issuer: "Authority").toBeSigned(using: .ecdsa(.sha256))
        #expect(!CertificationMessage.isAbout(spki, issued))
        for count in 0..<request.toBeSigned.count {
            #expect(!CertificationMessage.isAbout(spki, Array(request.toBeSigned.prefix(count))))
        }
        #expect(!CertificationMessage.isAbout(spki, request.toBeSigned + [0]))
        #expect(
            !CertificationMessage.isAbout(spki, Array("GET / HTTP/1.1".utf8)) && !CertificationMessage.isAbout([], []))
    }
}
