import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 1.5, `m_TrustedOnly`.
@Suite struct TrustTests {
    private let (leaves, authorities): (TestKeychain, TestKeychain)
    private let root: Certificate
    private let middle: Certificate
    private let leaf: Certificate

    init() throws {
        (leaves, authorities) = (try TestKeychain(), try TestKeychain())
        root = try Self.certificate("root", isCA: true)
        middle = try Self.certificate("middle", isCA: true, below: root, "root")
        leaf = try Self.certificate("leaf", below: middle, "middle")
        for certificate in [leaf, try Self.certificate("alone")] { try leaves.add(certificate) }
        try authorities.add(middle)
    }

    private static func certificate(
        _ name: String, isCA: Bool = false, below authority: Certificate? = nil, _ signer: String = ""
    ) throws -> Certificate {
        var builder = try CertificateBuilder(
            commonName: name, publicKey: TestKey.named(name).publicKey, notBefore: 1_600_000_000,
            notAfter: 1_900_000_000)
        builder.isCA = isCA
        if isCA { builder.keyUsage = .keyCertSign }
        guard let authority else { return try builder.selfSigned(by: TestKey.named(name).privateKey) }
        return try builder.issued(by: authority, key: TestKey.named(signer).privateKey)
    }

    private func session(_ roots: [Certificate], _ keychains: TestKeychain...) -> KeychainSession {
        KeychainSession(
            searchList: SearchList(locals: keychains.map(\.keychain)), trustAnchors: .certificates(roots))
    }

    private func found(_ session: KeychainSession, _ more: ItemDictionary = [:]) throws -> [String?] {
        let query: ItemDictionary = [
            "class": .string("cert"), "m_TrustedOnly": .bool(true), "m_Limit": .string("m_LimitAll"),
            "r_Attributes": .bool(true),
        ]
        do throws(KeychainError) {
            return try session.copyMatching(query.merging(more) { $1 }).found?.array?.map {
                $0.dictionary?["labl"]?.text
            }
                ?? []
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }

    @Test func onlyWhatLeadsToARootIsFound() throws {
        #expect(try found(session([root], leaves, authorities)) == ["leaf", "middle"])
        #expect(try found(session([leaf], leaves, authorities)).isEmpty, "a root issued itself")
        #expect(try found(session([], leaves, authorities)).isEmpty)
        #expect(try found(session([root], leaves)).isEmpty, "a link is missing")
        #expect(try found(session([root], leaves, authorities), ["m_TrustedOnly": .bool(false)]).count == 3)
    }

    @Test func linksMayBeInKeychainsThatAreNotSearched() throws {
        let list = SearchList(locals: [leaves.keychain, authorities.keychain])
        let client = KeychainSession(searchList: list, trustAnchors: .certificates([root]))
        let query = Query.certificates.trusted().in(leaves.keychain.identifier)
        #expect(
            try client.searchList.items(matching: query.checked(), for: client.client).found.map(\.commonName) == [
                "leaf"
            ])
    }

    @Test func theTimeIsThatOfTheQuery() throws {
        let client = session([root], leaves, authorities)
        #expect(try found(client, ["m_ValidOnDate": .date(1_700_000_000)]) == ["leaf", "middle"])
        #expect(try found(client, ["m_ValidOnDate": .date(1_900_000_001)]).isEmpty)
    }

    @Test func trustComesBeforeTheLimit() throws {
        let query: ItemDictionary = ["m_Limit": .number(1), "r_Attributes": .bool(true)]
        let client = session([root], authorities, leaves)
        #expect(
            try client.copyMatching(query.merging(["class": .string("cert"), "m_TrustedOnly": .bool(true)]) { $1 })
                .found?
                .dictionary?["labl"]?.text == "middle")
    }

    @Test func identitiesAreTrustedByTheirCertificates() throws {
        for name in ["leaf", "alone"] { try leaves.add(TestKey.named(name).privateKey) }
        let client = session([root], leaves, authorities)
        #expect(
            try client.searchList.identities(matching: Query.identities.trusted().checked(), for: client.client).found
                .map(\.certificate.label) == ["leaf"])
        #expect(
            try client.searchList.identities(matching: Query.identities.checked(), for: client.client).found.count == 2)
    }

    @Test func whatIsDeletedByTrustIsWhatIsFoundByIt() throws {
        let client = session([root], leaves, authorities)
        #expect(try client.searchList.delete(matching: Query.certificates.trusted().checked(), for: client.client) == 2)
        #expect(try leaves.count(.certificate) == 1)
        #expect(try authorities.count(.certificate) == 0)
    }

    @Test func onlyCertificatesAreTrusted() {
        for itemClass in ["genp", "inet", "keys"] {
            expect(.unimplemented, key: "m_TrustedOnly") {
                try session([]).copyMatching(["class": .string(itemClass), "m_TrustedOnly": .bool(true)])
            }
        }
        expect(.param, key: "m_TrustedOnly") {
            try session([]).copyMatching(["class": .string("cert"), "m_TrustedOnly": .string("yes")])
        }
    }
}
