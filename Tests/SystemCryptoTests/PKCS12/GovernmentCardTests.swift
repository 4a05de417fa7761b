import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

/// The files of the US government's PIV test cards: RC2, an empty password, and certificates with all flaws of issuers. Without
/// these files, generated ones of the same shape.
@Suite struct GovernmentCardTests {
    private func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: CardFolders.path(name))))
    }

    @Test(arguments: CardFolders.files(".p12"))
    func keysLoadAndSign(name: String) throws {
        let file = try PKCS12.parse(read(name))
        let key = try #require(file.keys.first)
        let certificate = try #require(file.certificates.first)
        #expect(file.keys.count == 1 && file.certificates.count == 1 && file.friendlyNames.count == 1)
        #expect(certificate.publicKey == key.publicKey && certificate.keyHash == key.publicKey.keyHash)
        let algorithm = TestKeys.algorithm(key.kind)
        let signature = try key.sign(message: utf8(name), using: algorithm)
        #expect(try key.publicKey.verify(signature, message: utf8(name), using: algorithm))
    }

    @Test(arguments: CardFolders.files(".crt"))
    func certificatesAreReadAsOpenSSLReadsThem(name: String) throws {
        let certificate = try #require(try Certificate.all(in: read(name)).first)
        #expect(certificate.publicKey != nil)
        let openssl = try OpenSSLCommand()
        try openssl.write(utf8(certificate.pem), to: "certificate.pem")
        let text = try openssl.succeed(
            "x509", "-in", "certificate.pem", "-noout", "-serial", "-subject", "-issuer", "-nameopt",
            "RFC2253,utf8,-esc_msb",
            "-dateopt", "iso_8601", "-dates")
        let times = [certificate.notBeforeText, certificate.notAfterText].map {
            $0.replacingOccurrences(of: "T", with: " ")
        }
        let serial = Hex.encode(certificate.serialNumber.drop { $0 == 0 })
        #expect(
            text.split(separator: "\n").map(String.init) == [
                "serial=\(serial)", "subject=\(certificate.subject)", "issuer=\(certificate.issuer)",
                "notBefore=\(times[0])", "notAfter=\(times[1])",
            ])
    }

    private static let issuers = CardFolders.files(".crt").filter { $0.hasPrefix("ca/") }

    /// Cards with issuers. Generated cards are self-signed, and `CertificateChainTests` tests chains.
    private static func cards(_ name: String) -> [String] {
        issuers.isEmpty ? [] : CardFolders.files("-9a.crt").filter { $0.contains(name) }
    }

    /// The issuers' certificates. Roots are those that are signed with their own key: others may have the same subject and issuer,
    /// because an authority has signed its new key with the old one.
    private func authorities() throws -> (roots: [Certificate], intermediates: [Certificate]) {
        let all = try Self.issuers.flatMap { try Certificate.all(in: read($0)) }
        let roots = try all.filter { try $0.verify(issuedBy: $0) }
        return (roots, all.filter { !roots.contains($0) })
    }

    private func verify(_ name: String) throws -> CertificateChain.Outcome {
        let (roots, intermediates) = try authorities()
        let certificate = try #require(try Certificate.all(in: read(name)).first)
        return try CertificateChain.verify(
            certificate, intermediates: intermediates, roots: roots, at: certificate.notAfter - 86_400)
    }

    // A parameterised test without a card to run on would count as skipped.
    @Test func goldenCardsLeadToARoot() throws {
        for name in Self.cards("Golden") {
            guard case .trusted(let chain) = try verify(name) else {
                Issue.record("\(name): \(try verify(name))")
                continue
            }
            #expect(chain.count >= 3 && chain.last?.isSelfIssued == true)
            for (subject, issuer) in zip(chain, chain.dropFirst()) { #expect(try subject.verify(issuedBy: issuer)) }
        }
    }

    @Test func tamperedCardsDoNot() throws {
        for name in Self.cards("Tampered") {
            guard case .untrusted(_, let depth) = try verify(name) else {
                Issue.record("\(name) is trusted")
                continue
            }
            #expect(depth == 0)
        }
    }
}
