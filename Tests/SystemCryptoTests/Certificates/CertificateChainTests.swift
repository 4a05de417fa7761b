import SystemCrypto
import Testing

@Suite struct CertificateChainTests {
    private static let now: Int64 = 1_800_000_000

    private let root, intermediate, leaf: Certificate

    init() throws {
        let rootKey = try TestKeys.key(.ecP384)
        let intermediateKey = try TestKeys.key(.ecP256)
        var builder = try Self.builder("Root", .ecP384)
        builder.isCA = true
        root = try builder.selfSigned(by: rootKey)
        builder = try Self.builder("Intermediate", .ecP256)
        builder.isCA = true
        intermediate = try builder.issued(by: root, key: rootKey)
        leaf = try Self.builder("Leaf", .rsa(bits: 2048)).issued(by: intermediate, key: intermediateKey)
    }

    private static func builder(_ commonName: String, _ kind: KeyKind) throws -> CertificateBuilder {
        try CertificateBuilder(
            commonName: commonName, publicKey: TestKeys.key(kind).publicKey, notBefore: now - 1000, notAfter: now + 1000
        )
    }

    private func verify(
        _ certificate: Certificate, intermediates: [Certificate], roots: [Certificate], at time: Int64 = now
    ) throws -> CertificateChain.Outcome {
        try CertificateChain.verify(certificate, intermediates: intermediates, roots: roots, at: time)
    }

    @Test func aChainLeadsToTheRoot() throws {
        #expect(try verify(leaf, intermediates: [intermediate], roots: [root]) == .trusted([leaf, intermediate, root]))
        #expect(try verify(root, intermediates: [], roots: [root]) == .trusted([root]))
    }

    @Test func whatIsMissingOrOldIsNamed() throws {
        func reason(_ outcome: CertificateChain.Outcome) -> String? {
            if case .untrusted(let reason, _) = outcome { reason } else { nil }
        }
        let missing = try verify(leaf, intermediates: [], roots: [root])
        #expect(reason(missing)?.contains("unable to get local issuer certificate") == true)
        let untrusted = try verify(leaf, intermediates: [intermediate, root], roots: [])
        #expect(reason(untrusted)?.contains("self-signed") == true)
        let expired = try verify(leaf, intermediates: [intermediate], roots: [root], at: Self.now + 2000)
        #expect(reason(expired)?.contains("expired") == true)
        let early = try verify(leaf, intermediates: [intermediate], roots: [root], at: Self.now - 2000)
        #expect(reason(early)?.contains("not yet valid") == true)
    }

    @Test func whoIsNoAuthorityIssuesNothing() throws {
        let impostor = try Self.builder("Impostor", .rsa(bits: 2048)).issued(by: root, key: TestKeys.key(.ecP384))
        let victim = try Self.builder("Victim", .ecP256).issued(by: impostor, key: TestKeys.rsa())
        guard case .untrusted = try verify(victim, intermediates: [impostor], roots: [root]) else {
            Issue.record("an end-entity certificate passed as an authority")
            return
        }
    }

    @Test func aForgedSignatureIsNotTrusted() throws {
        let forged = try Certificate(der: flipping(leaf.der, at: leaf.der.count - 3))
        guard case .untrusted(_, let depth) = try verify(forged, intermediates: [intermediate], roots: [root]) else {
            Issue.record("a forged certificate is trusted")
            return
        }
        #expect(depth == 0)
    }
}
