import SystemCrypto
import Testing

@testable import KeychainModel

@Suite struct CertificatePolicyTests {
    private func certificate(_ purposes: [OID], _ usage: KeyUsage = []) throws -> Certificate {
        let key = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: "policy", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_600_000_001)
        builder.extendedKeyUsage = purposes
        builder.keyUsage = usage
        return try builder.selfSigned(by: key)
    }

    private func accepted(_ certificate: Certificate) -> Set<CertificatePolicy> {
        Set(CertificatePolicy.allCases.filter { $0.accepts(certificate) })
    }

    @Test func whatNamesNoPurposeIsForAnythingButCode() throws {
        #expect(try accepted(certificate([])) == [.basicX509, .tlsServer, .tlsClient, .smime])
        #expect(try accepted(certificate([.anyExtendedKeyUsage])) == [.basicX509, .tlsServer, .tlsClient, .smime])
    }

    @Test(arguments: [
        (OID.serverAuthentication, CertificatePolicy.tlsServer), (.clientAuthentication, .tlsClient),
        (.emailProtection, .smime), (.codeSigning, .codeSigning),
    ])
    func aPurposeIsForItsPolicyAlone(purpose: OID, policy: CertificatePolicy) throws {
        #expect(try accepted(certificate([purpose])) == [.basicX509, policy])
    }

    @Test func theKeyUsageHasToFitToo() throws {
        #expect(try accepted(certificate([], .keyEncipherment)) == [.basicX509, .tlsServer, .smime])
        #expect(try accepted(certificate([.codeSigning], .keyEncipherment)) == [.basicX509])
        #expect(try accepted(certificate([], .keyCertSign)) == [.basicX509])
        #expect(try accepted(certificate([.clientAuthentication], .digitalSignature)) == [.basicX509, .tlsClient])
    }
}

@Suite struct AccessGroupsTests {
    @Test(
        arguments: [
            ([], nil), (["a"], "a"), (["a", "b"], "a"), (["*"], "local"), (["*", "b"], "b"),
        ] as [([String], String?)])
    func theFirstNameIsForNewItems(names: [String], standard: String?) {
        #expect(AccessGroups(names).standard == standard)
    }

    @Test func aStarIsEveryGroup() {
        #expect(AccessGroups(["a", "b"]).allow("b"))
        #expect(!AccessGroups(["a", "b"]).allow("c"))
        #expect(!AccessGroups([]).allow("a"))
        #expect(AccessGroups.all.allow("anything"))
    }
}
