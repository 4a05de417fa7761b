import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver
@testable import VirtualCard

/// A maker with a root, a card's attestation key that the root certifies, and a key that the card attests.
private struct Maker {
    let rootKey: PrivateKey
    let root: Certificate
    let cardKey: PrivateKey
    let card: Certificate
    let key: PrivateKey
    let statement: Certificate

    static let time: Int64 = 1_700_000_000

    /// - Parameter change: changes the certificate of the card's attestation key before it is issued.
    init(_ name: String = "Maker", _ change: (inout CertificateBuilder) -> Void = { _ in }) throws {
        rootKey = try PrivateKey.generate(.ecP384)
        var root = try Self.builder("\(name) Root", rootKey)
        (root.isCA, root.keyUsage) = (true, .keyCertSign)
        self.root = try root.selfSigned(by: rootKey)
        cardKey = try PrivateKey.generate(.ecP256)
        var card = try Self.builder("\(name) Card", cardKey)
        card.isCA = true
        change(&card)
        self.card = try card.issued(by: self.root, key: rootKey)
        key = try PrivateKey.generate(.ecP256)
        statement = try Self.statement(about: key, by: self.card, cardKey)
    }

    static func builder(_ name: String, _ key: PrivateKey) throws -> CertificateBuilder {
        try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: time - 1000, notAfter: time + 1000)
    }

    static func statement(
        about key: PrivateKey, by signer: Certificate, _ signerKey: PrivateKey, _ policies: [UInt8] = [2, 3],
        change: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> Certificate {
        var builder = try builder("YubiKey PIV Attestation 9a", key)
        builder.extensions = [
            CertificateExtension("1.3.6.1.4.1.41482.3.3", value: [5, 2, 4]),
            CertificateExtension("1.3.6.1.4.1.41482.3.7", value: .init(hex: "020400BC614E")),
            CertificateExtension("1.3.6.1.4.1.41482.3.8", value: policies),
            CertificateExtension("1.3.6.1.4.1.41482.3.9", value: [0x84]),
        ]
        change(&builder)
        return try builder.issued(by: signer, key: signerKey)
    }
}

/// Statements of cards about keys, and what is not one.
@Suite struct AttestationChainTests {
    private func verify(
        _ statement: [Certificate], _ roots: [Certificate], at time: Int64 = Maker.time
    ) throws(TokenError) -> TokenAttestation? {
        try PIVDriver().verify(statement, roots: roots, at: time)
    }

    private func expectRefusal(
        _ statement: [Certificate], _ roots: [Certificate], at time: Int64 = Maker.time, because reason: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: TokenError(.notProven, ""), sourceLocation: sourceLocation) {
            try verify(statement, roots, at: time)
        }
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")", sourceLocation: sourceLocation)
    }

    @Test func aStatementTellsOfKeyAndDevice() throws {
        let maker = try Maker()
        let other = try Maker("Other")
        let attestation = try #require(try verify([maker.statement, maker.card], [other.root, maker.root]))
        #expect(attestation.publicKey == maker.key.publicKey.spki)
        #expect(attestation.place == "9A" && attestation.pinPolicy == .once && attestation.touchPolicy == .cached)
        #expect(attestation.facts.map(\.name) == ["Firmware", "Warning", "Serial number", "Form"])
        #expect(attestation.facts.map(\.value).contains("USB-C nano, FIPS"))
        #expect(attestation.facts.map(\.value).contains("12345678"))
    }

    /// A root may be the card's own certificate, with or without it among the certificates of the statement.
    @Test func theCardItselfMayBeTrusted() throws {
        let maker = try Maker()
        #expect(try verify([maker.statement], [maker.card]) != nil)
        #expect(try verify([maker.statement, maker.card], [maker.card]) != nil)
        expectRefusal([maker.statement], [maker.root], because: "the card's own certificate is missing")
    }

    /// The attestation certificates of YubiKeys 4 have no basic constraints.
    @Test func aCardWhoseCertificateDoesNotSayThatItIsAnAuthorityIsTrusted() throws {
        let maker = try Maker { $0.hasConstraints = false }
        let card = maker.card
        #expect(!card.extensions.contains { $0.identifier == "2.5.29.19" })
        #expect(try verify([maker.statement, card], [maker.root]) != nil)
        expectRefusal([maker.statement, card], [try Maker().root], because: "leads to none of the roots")
    }

    @Test(arguments: [CardProfile.yubiKey54, .yubiKey57]) func whatCardsSayIsVerified(_ profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile, keys: [:], keyHistory: nil, guid: nil))
        let change = TokenChange.generateKey("9C", .rsa(bits: 2048), KeyPolicies(), replacing: .none)
        let spki = try desk.administer(change).publicKey
        let chain = try desk.slot.attestation(of: "9C", at: desk.slot.insertion()).map { try Certificate(der: $0) }
        #expect(chain.count == 2)
        let attestation = try #require(try verify(chain, [chain[1]]))
        #expect(attestation.publicKey == spki && attestation.place == "9C")
        expectRefusal(chain, [try Maker().root], because: "leads to none of the roots")
    }

    @Test func anotherRootIsRefused() throws {
        let maker = try Maker()
        expectRefusal([maker.statement, maker.card], [try Maker().root], because: "leads to none of the roots")
        expectRefusal([maker.statement, maker.card], [], because: "leads to none of the roots")
    }

    @Test func anotherCardsCertificateIsRefused() throws {
        let (maker, other) = (try Maker(), try Maker())
        // It has the same name and the same root, and another key.
        let twin = try Maker.builder("Maker Card", other.cardKey)
        var card = twin
        card.isCA = true
        let swapped = try card.issued(by: maker.root, key: maker.rootKey)
        expectRefusal([maker.statement, swapped], [maker.root], because: "not signed with the key of the card's")
        expectRefusal([maker.statement, other.card], [maker.root, other.root], because: "not signed with the key")
    }

    @Test func aForgedStatementIsRefused() throws {
        let maker = try Maker()
        let forger = try PrivateKey.generate(.ecP256)
        // Signed with another key under the card's name, and with the root's key.
        let forged = try Maker.statement(about: forger, by: maker.card, forger)
        expectRefusal([forged, maker.card], [maker.root], because: "not signed with the key of the card's")
        var changed = maker.statement.der
        changed[changed.count - 1] ^= 1
        expectRefusal([try Certificate(der: changed), maker.card], [maker.root], because: "not signed with the key")
    }

    /// A key that the card attests, and uses for its owner, says nothing about other keys, whatever its certificate.
    @Test func anAttestedKeyAttestsNothing() throws {
        let maker = try Maker()
        let forger = try PrivateKey.generate(.ecP256)
        let forged = try Maker.statement(about: forger, by: maker.statement, maker.key)
        expectRefusal([forged, maker.statement], [maker.card], because: "not that of a card")
        expectRefusal([forged, maker.statement, maker.card], [maker.root], because: "more than the card's own")
        expectRefusal([forged], [maker.statement], because: "not that of a card")
        // As an authority's certificate it is no better.
        let grand = try Maker.statement(about: maker.key, by: maker.card, maker.cardKey) { $0.isCA = true }
        let other = try Maker.statement(about: forger, by: grand, maker.key)
        expectRefusal([other, grand], [maker.card], because: "not that of a card")
    }

    @Test func aSignerThatIsNoAuthorityIsRefused() throws {
        let plain = try Maker { $0.isCA = false }
        expectRefusal([plain.statement, plain.card], [plain.root], because: "not that of a card")
        let signing = try Maker { $0.keyUsage = .digitalSignature }
        expectRefusal([signing.statement, signing.card], [signing.root], because: "not that of a card")
    }

    @Test func onlyWhatIsValidCounts() throws {
        let maker = try Maker()
        expectRefusal(
            [maker.statement, maker.card], [maker.root], at: Maker.time + 2000, because: "not valid at this time")
        let early = try Maker { $0.notAfter = Maker.time - 500 }
        expectRefusal([early.statement, early.card], [early.root], because: "has expired")
    }

    /// Other certificates are no statements: another driver, or none, knows them.
    @Test func whatIsNoStatementIsLeftAlone() throws {
        let maker = try Maker()
        #expect(try verify([], [maker.root]) == nil)
        #expect(try verify([maker.card], [maker.root]) == nil)
        for policies in [[], [2], [2, 3, 1]] as [[UInt8]] {
            let strange = try Maker.statement(about: maker.key, by: maker.card, maker.cardKey, policies)
            #expect(try verify([strange, maker.card], [maker.root]) == nil)
        }
        for name in ["YubiKey PIV Attestation", "YubiKey PIV Attestation 9", "YubiKey PIV Attestation 77", "9a"] {
            let strange = try Maker.statement(about: maker.key, by: maker.card, maker.cardKey) {
                if let subject = try? DistinguishedName(commonName: name) { $0.subject = subject }
            }
            #expect(try verify([strange, maker.card], [maker.root]) == nil, "\(name)")
        }
        let unversioned = try Maker.statement(about: maker.key, by: maker.card, maker.cardKey) {
            $0.extensions.removeFirst()
        }
        #expect(try verify([unversioned, maker.card], [maker.root]) == nil)
    }
}
