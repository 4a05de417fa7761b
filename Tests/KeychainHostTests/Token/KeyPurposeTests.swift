import KeychainModel
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// On a curve, a card's signature key agrees on nothing, and its key management key signs only where its certificate says so. What
/// is shown of a key is what it does.
@Suite struct KeyPurposeTests {
    /// A card whose 9D has a certificate with this key usage.
    private func card(_ usage: KeyUsage, _ profile: CardProfile) throws -> TestCard {
        var card = TestCard(profile: profile)
        let key = try card.key(.keyManagement)
        card.certificates[.keyManagement] = try TestKey.certificate(of: key.publicKey, "Jo", usage: usage).der
        return card
    }

    @Test(
        arguments: [
            (KeyUsage.digitalSignature, true), (.nonRepudiation, true), (.keyAgreement, false), (KeyUsage(), false),
        ],
        [CardProfile.yubiKey57, .generic])
    func theKeyManagementKeySignsWhereItsCertificateSaysSo(
        certificate: (usage: KeyUsage, signs: Bool), profile: CardProfile
    ) throws {
        let desk = try Desk(card(certificate.usage, profile))
        // The search for a signer reads the certificate of this key too.
        for selector in [KeySelector.signer("9D"), .name("9D")] {
            let key = try #require(try Desk(desk.reader).token.keys(selector).first)
            #expect(key.isSupported(.signature(.ecdsa(nil)), for: .sign) == certificate.signs)
            #expect(key.isSupported(.keyExchange(.standard, nil), for: .keyExchange))
            if certificate.signs {
                #expect(try key.sign(.owner).isEmpty == false)
            } else {
                #expect(throws: KeychainError(.keyUsageIncorrect)) { try key.sign(.owner) }
                #expect(desk.pinsSent == 0)
            }
        }
        let item = try #require(try desk.items(.key).first { $0.reference.tokenObject == TokenObjectID("9D") })
        #expect(item[.canSign]?.isTrue == certificate.signs)
        #expect(item[.canDerive]?.isTrue == true)
    }

    @Test func theSignatureKeyAgreesOnNothing() throws {
        let desk = try Desk()
        let key = try desk.key("9C")
        #expect(!key.isSupported(.keyExchange(.standard, nil), for: .keyExchange))
        let peer = try PrivateKey.generate(.ecP256).publicKey.rawRepresentation
        #expect(throws: KeychainError(.keyUsageIncorrect)) {
            _ = try key.perform(.agree(peer), use: "agree", authentication: .owner).count
        }
        #expect(desk.pinsSent == 0)
        let item = try #require(try desk.items(.key).first { $0.reference.tokenObject == TokenObjectID("9C") })
        #expect(item[.canSign]?.isTrue == true)
        #expect(item[.canDerive]?.isTrue == false)
        // A keychain that was bound to it opens all the same.
        let secret = try key.forAnyPurpose.perform(.agree(peer), use: "agree", authentication: .owner)
        #expect(secret.count == 32)
    }

    @Test func keysOfRSADoWhatTheyCan() throws {
        for item in try Desk(TestCard(algorithm: .rsa2048)).items(.key) {
            #expect(item[.canSign]?.isTrue == true)
            #expect(item[.canDecrypt]?.isTrue == true)
        }
    }
}
