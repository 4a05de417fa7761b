import ItemDictionaries
import KeychainModel
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost

/// A certificate is parsed once on its way from its row to its reader.
@Suite(.serialized) struct CertificateParsingTests {
    private final class Counter: Sendable {
        private let counts = Mutex<[[UInt8]: Int]>([:])

        func add(_ der: [UInt8]) { counts.withLock { $0[der, default: 0] += 1 } }
        func count(of der: [UInt8]) -> Int { counts.withLock { $0[der] ?? 0 } }
    }

    /// How often each of the certificates is parsed while `body` runs. Other tests have other certificates.
    private func parses(of certificates: [Certificate], _ body: () throws -> Void) rethrows -> [Int] {
        let counter = Counter()
        Certificate.parseObserver.withLock { $0 = { counter.add($0) } }
        defer { Certificate.parseObserver.withLock { $0 = nil } }
        try body()
        return certificates.map { counter.count(of: $0.der) }
    }

    private func certificates(_ count: Int, in test: TestKeychain) throws -> [Certificate] {
        try (0..<count).map { number in
            let key = try PrivateKey.generate(.ecP256)
            var builder = try CertificateBuilder(
                commonName: "certificate \(number)", publicKey: key.publicKey, notBefore: 1, notAfter: 4_000_000_000)
            builder.subjectAlternativeNames = [.email("anna@example.org")]
            let certificate = try builder.selfSigned(by: key)
            try test.add(certificate)
            try test.add(key)
            return certificate
        }
    }

    @Test func aListingParsesEachCertificateOnce() throws {
        let test = try TestKeychain()
        let made = try certificates(5, in: test)
        let list = SearchList(locals: [test.keychain])
        let query = try Query(
            .certificate, filters: [.emailAddress("anna@example.org"), .validNow, .policy(.basicX509)], limit: .all)
        let counts = try parses(of: made) {
            let found = try list.items(matching: query).found
            #expect(found.count == made.count)
            // Commands, SecCertificate and the objects of PKCS #11 use found items in these ways.
            let names = CryptokiItemNames(keys: [], certificates: found)
            for item in found {
                #expect(item.certificate?.commonName == item.commonName)
                #expect(names.ids(of: item).count == 1)
            }
        }
        #expect(counts == made.map { _ in 1 })
    }

    @Test func whereAttributesAreEnoughNothingIsParsed() throws {
        let test = try TestKeychain()
        let made = try certificates(3, in: test)
        let session = KeychainSession(searchList: SearchList(locals: [test.keychain]))
        let counts = try parses(of: made) {
            _ = try session.copyMatching([
                "class": .string("cert"), "m_Limit": .string("m_LimitAll"), "r_Attributes": .bool(true),
            ])
            _ = try session.searchList.identities(matching: Query(.identity, limit: .all))
        }
        #expect(counts == made.map { _ in 0 })
    }

    @Test func anItemOfACardHasTheCertificateThatItsAttributesAreFrom() throws {
        let key = try TestKey.named("parsing")
        let object = TokenObject(
            id: TokenObjectID("9A"), label: "PIV Authentication", certificate: key.certificate.der, key: nil)
        let identity = TokenIdentity(id: TokenID(driver: "piv", instance: "1"), label: "Card")
        let items = TokenItems(identity: identity, name: "Reader")
        let query = ResolvedQuery(try Query(.certificate, limit: .all))
        let counts = parses(of: [key.certificate]) {
            let found = items.result(of: query, in: TokenInventory(objects: [object])).found
            #expect(found.map(\.certificate) == [key.certificate])
        }
        #expect(counts == [1])
    }
}
