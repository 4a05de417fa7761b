import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// `m_Issuers`: a chain is followed through all keychains that hold a part of it.
@Suite struct IssuerTests {
    /// Certificates of which each issued the next, from the root.
    private func chain(_ names: [String]) throws -> [Certificate] {
        var issued: [Certificate] = []
        for (index, name) in names.enumerated() {
            let builder = try CertificateBuilder(
                commonName: name, publicKey: TestKey.named(name).privateKey.publicKey, notBefore: 1_600_000_000,
                notAfter: 1_900_000_000)
            issued.append(
                index == 0
                    ? try builder.selfSigned(by: TestKey.named(name).privateKey)
                    : try builder.issued(by: issued[index - 1], key: TestKey.named(names[index - 1]).privateKey))
        }
        return issued
    }

    private func found(_ list: SearchList, _ issuer: Certificate) throws -> [String?] {
        try list.items(matching: Query(.certificate, filters: [.issuers([issuer.subject.der])], limit: .all)).found
            .map(\.commonName)
    }

    @Test func parentsMayBeInAnyKeychain() throws {
        let (leaves, middles) = (try TestKeychain(), try TestKeychain())
        let chain = try chain(["root", "middle", "lower", "leaf"])
        try middles.add(chain[1])
        try leaves.add(chain[2])
        try leaves.add(chain[3])
        let list = SearchList(locals: [leaves.keychain, middles.keychain])
        #expect(try found(list, chain[0]) == ["lower", "leaf", "middle"])
        #expect(try found(list, chain[1]) == ["lower", "leaf", "middle"])
        #expect(try found(list, chain[2]) == ["lower", "leaf"])
        #expect(try found(SearchList(locals: [leaves.keychain]), chain[0]).isEmpty, "a link is missing")
        let one = try Query(
            .certificate, filters: [.issuers([chain[0].subject.der])], in: [leaves.keychain.identifier], limit: .all)
        #expect(try list.items(matching: one).found.count == 2, "parents are looked for everywhere")
    }

    @Test func aChainIsFollowedForTenSteps() throws {
        let keychain = try TestKeychain()
        let chain = try chain((0...12).map { "link \($0)" })
        for certificate in chain { try keychain.add(certificate) }
        let list = SearchList(locals: [keychain.keychain])
        #expect(try found(list, chain[0]) == (0...10).map { "link \($0)" })
    }

    @Test func namesAreComparedNormalised() throws {
        let keychain = try TestKeychain()
        let key = try TestKey.named("root").privateKey
        func name(_ text: String) -> [UInt8] {
            NameBuilder.name([[(NameBuilder.commonName, 0x13, Array(text.utf8))]])
        }
        let builder = try CertificateBuilder(
            subject: DistinguishedName(der: name("Acme  root")), publicKey: key.publicKey, notBefore: 0, notAfter: 9)
        try keychain.add(builder.selfSigned(by: key))
        let query = try Query(.certificate, filters: [.issuers([name("ACME Root")])], limit: .all)
        #expect(try SearchList(locals: [keychain.keychain]).items(matching: query).found.count == 1)
    }

    @Test func rootsThatIssueEachOtherEndTheSearch() throws {
        let keychain = try TestKeychain()
        let chain = try chain(["one", "two"])
        let back = try CertificateBuilder(
            commonName: "one", publicKey: TestKey.named("one").privateKey.publicKey, notBefore: 0, notAfter: 9
        ).issued(by: chain[1], key: TestKey.named("two").privateKey)
        for certificate in [chain[1], back] { try keychain.add(certificate) }
        #expect(try found(SearchList(locals: [keychain.keychain]), chain[0]).count == 2)
    }
}
