import HostAPI
import KeychainHost
import KeychainModel
import PIVDriver
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// Answers every question for a PIN with the PIN that test cards have.
private struct KnowsThePIN: Prompter {
    let canAsk = true
    let canAskAgain = false

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        var pin = Array("123456".utf8)
        return Secret(consuming: &pin)
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { false }
}

/// Real card images, read and used as keychains from the driver up. Listings do not report faults of a card.
@Suite struct GovernmentCardTests {
    private let digest = [UInt8](repeating: 0x5A, count: 32)

    private func keychain(_ name: String) throws -> TokenKeychain {
        let card = try CardImage.load(CardFolders.path(name)).makeCard()
        return TokenKeychain(TokenSlot(reader: VirtualReader(card: card), drivers: [PIVDriver()]))
    }

    @Test(arguments: CardFolders.names)
    func listsWhatIsOnTheCard(name: String) throws {
        let result = try SearchList(tokens: [keychain(name)]).items(matching: Query(.certificate, limit: .all))
        let retired = name == CardFolders.golden ? 5 : 0
        #expect(result.missing.isEmpty)
        #expect(result.found.count == 4 + retired)
        let labels = result.found.compactMap(\.label)
        #expect(
            labels.prefix(4) == [
                "PIV Authentication", "Digital Signature", "Key Management", "Card Authentication",
            ])
        #expect(labels.dropFirst(4).allSatisfy { $0.hasPrefix("Retired Key Management") })
    }

    @Test(arguments: CardFolders.names)
    func signsWithEachKeyAndTheSignaturesVerifyAgainstTheCertificates(name: String) throws {
        let keychain = try keychain(name)
        let list = SearchList(tokens: [keychain])
        let identities = try list.identities(matching: Query(.identity, limit: .all)).found
        #expect(identities.count == (name == CardFolders.golden ? 9 : 4))
        for identity in identities {
            let certificate = try Certificate(der: #require(identity.certificate.der))
            let publicKey = try #require(certificate.publicKey)
            let key = try #require(try list.keys(.reference(identity.key.reference)).found.first)
            let action: TokenOperation.Action =
                publicKey.kind.isEC ? .sign(.ecdsa(nil), digest) : .sign(.rsaPKCS1(.sha256), digest)
            let signature = try key.perform(
                action, use: "sign", authentication: AuthenticationContext(prompter: KnowsThePIN()))
            let bytes = signature.bytes.indices.map { signature.bytes[$0] }
            let algorithm: SignatureAlgorithm =
                publicKey.kind.isEC ? .ecdsa(.sha256) : .rsaPKCS1(.sha256)
            #expect(try publicKey.verify(bytes, digest: digest, using: algorithm), "\(name) \(key.name)")
        }
    }

    @Test(arguments: CardFolders.names)
    func tellsWhichCardItIs(name: String) throws {
        let keychain = try keychain(name)
        let identity = try #require(try keychain.identity())
        #expect(identity.id.driver == "piv")
        #expect(!identity.id.instance.isEmpty)
        #expect(try keychain.facts().isEmpty == false)
        // The Discovery Object decides which PIN is asked for. Either PIN has tries left.
        #expect(try keychain.status(of: .pin).isBlocked == false)
    }
}
