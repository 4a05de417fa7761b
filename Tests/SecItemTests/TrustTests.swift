import Foundation
import SecItem
import SystemCrypto
import Testing

@Suite struct PolicyTests {
    @Test func aPolicyHasThePropertiesThatItKnows() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let key = try PrivateKey.generate(.ecP256)
            for (name, purpose) in [("client", OID.clientAuthentication), ("server", .serverAuthentication)] {
                var builder = try CertificateBuilder(
                    commonName: name, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000)
                builder.extendedKeyUsage = [purpose]
                let der = Data(try builder.selfSigned(by: key).der)
                #expect(add([kSecClass: kSecClassCertificate, kSecValueData: der]) == errSecSuccess)
            }
            let cases: [([String: Any]?, String)] = [
                (nil, "server"), ([kSecPolicyClient: false], "server"), ([kSecPolicyClient: true], "client"),
                ([kSecPolicyClient: true, kSecPolicyName: "www.example.com"], "client"),
            ]
            for (properties, name) in cases {
                let policy = try #require(
                    SecPolicyCreateWithProperties(kSecPolicyAppleSSL, properties as CFDictionary?))
                let found =
                    try find([
                        kSecClass: kSecClassCertificate, kSecMatchPolicy: policy, kSecMatchLimit: kSecMatchLimitAll,
                        kSecReturnAttributes: true,
                    ]) as? [[String: Any]]
                #expect(found?.map { $0[kSecAttrLabel] as? String } == [name])
            }
        }
    }

    @Test func otherPropertiesMakeNoPolicy() {
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSSL, ["SecPolicyTeamIdentifier": "x"]) == nil)
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSSL, [kSecPolicyClient: "yes"]) == nil)
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSSL, [kSecPolicyName: 1]) == nil)
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, [kSecPolicyName: "jo@example.com"]) == nil)
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, nil) != nil)
        #expect(SecPolicyCreateWithProperties("1.2.3", nil) == nil)
        #expect(SecPolicyCreateWithProperties(1, nil) == nil)
    }
}

@Suite struct SystemTrustTests {
    @Test func rule1_5_trustedIsWhatLeadsToARootOfTheSystem() async {
        await #expect(processExitsWith: .success) {
            let key = try PrivateKey.generate(.ecP256)
            let certificates = try ["known", "unknown"].map { name in
                try CertificateBuilder(
                    commonName: name, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000
                ).selfSigned(by: key)
            }
            let home = try Home(roots: certificates[0].pem)
            defer { home.end() }
            for certificate in certificates {
                #expect(add([kSecClass: kSecClassCertificate, kSecValueData: Data(certificate.der)]) == errSecSuccess)
            }
            let query: [String: Any] = [
                kSecClass: kSecClassCertificate, kSecMatchTrustedOnly: true, kSecMatchLimit: kSecMatchLimitAll,
                kSecReturnAttributes: true,
            ]
            let found = try find(query) as? [[String: Any]]
            #expect(found?.map { $0[kSecAttrLabel] as? String } == ["known"])
            unlink(home.path("roots"))
            #expect(status(of: query) == errSecTrustNotAvailable)
            #expect(status(of: query.merging([kSecMatchTrustedOnly: false]) { $1 }) == errSecSuccess)
        }
    }
}
