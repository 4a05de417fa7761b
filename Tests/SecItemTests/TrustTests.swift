import Foundation
import SecItem
import SystemCrypto
import Testing

@Suite struct SystemTrustTests {
    @Test func rule1_5_trustedIsWhatLeadsToARootOfTheSystem() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let key = try PrivateKey.generate(.ecP256)
            for name in ["known", "unknown"] {
                let certificate = try CertificateBuilder(
                    commonName: name, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000
                ).selfSigned(by: key)
                #expect(add([kSecClass: kSecClassCertificate, kSecValueData: Data(certificate.der)]) == errSecSuccess)
                if name == "known" {
                    try certificate.pem.write(toFile: home.path("roots"), atomically: true, encoding: .utf8)
                }
            }
            let query: [String: Any] = [
                kSecClass: kSecClassCertificate, kSecMatchTrustedOnly: true, kSecMatchLimit: kSecMatchLimitAll,
                kSecReturnAttributes: true,
            ]
            setenv("SSL_CERT_FILE", home.path("roots"), 1)
            let found = try find(query) as? [[String: Any]]
            #expect(found?.map { $0[kSecAttrLabel] as? String } == ["known"])
            setenv("SSL_CERT_FILE", home.path("none"), 1)
            #expect(status(of: query) == errSecTrustNotAvailable)
            #expect(status(of: query.merging([kSecMatchTrustedOnly: false]) { $1 }) == errSecSuccess)
        }
    }
}
