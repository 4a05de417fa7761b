import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// Signatures by every algorithm, on cards, in files and by a key that does the bare operation alone.
@Suite struct SignatureAlgorithmTests {
    private static let message = Array("a message to sign".utf8)

    /// Keys of one pair in three places.
    private static func keys(_ algorithm: CardAlgorithm) throws -> [any KeychainKey] {
        let desk = try Desk(TestCard(profile: .yubiKey57, algorithm: algorithm, slots: [.authentication]))
        let pair = try TestCard(algorithm: algorithm).key(.authentication)
        return [try desk.key("9A"), SoftwareKey(pair.privateKey)]
            + (algorithm == .rsa2048 ? [DoesRawRSAOnly(pair.privateKey)] : [])
    }

    @Test(arguments: DigestAlgorithm.allCases) func everyRSASignatureVerifiesWithTheLibrary(digest: DigestAlgorithm)
        throws
    {
        let hashed = try Digest.hash(Self.message, using: digest)
        for key in try Self.keys(.rsa2048) {
            let publicKey = try PublicKey(spki: key.publicKey)
            for (input, algorithm) in [
                (Self.message, KeyAlgorithm.rsaSignatureMessagePKCS1v15(digest)),
                (hashed, .rsaSignatureDigestPKCS1v15(digest)),
            ] {
                let signature = try key.signed(input, algorithm)
                #expect(try publicKey.verify(signature, digest: hashed, using: .rsaPKCS1(digest)))
                #expect(try key.verify(signature, of: input, using: algorithm))
            }
            for (input, algorithm) in [
                (Self.message, KeyAlgorithm.rsaSignatureMessagePSS(digest)), (hashed, .rsaSignatureDigestPSS(digest)),
            ] {
                let signature = try key.signed(input, algorithm)
                #expect(try publicKey.verify(signature, digest: hashed, using: .rsaPSS(digest)))
                #expect(try key.verify(signature, of: input, using: algorithm))
            }
        }
    }

    // Case 87
    @Test func messageAndDigestGiveTheSameRSABytesAndTwoGoodECDSASignatures() throws {
        let digest = try Digest.hash(Self.message, using: .sha256)
        for key in try Self.keys(.rsa2048) {
            #expect(
                try key.signed(Self.message, .rsaSignatureMessagePKCS1v15(.sha256))
                    == key.signed(digest, .rsaSignatureDigestPKCS1v15(.sha256)))
        }
        for key in try Self.keys(.p256) {
            let signatures = [
                try key.signed(Self.message, .ecdsaSignatureMessageX962(.sha256)),
                try key.signed(digest, .ecdsaSignatureDigestX962(.sha256)),
                try key.signed(digest, .ecdsaSignatureDigestX962),
            ]
            for signature in signatures {
                #expect(try key.verify(signature, of: Self.message, using: .ecdsaSignatureMessageX962(.sha256)))
                #expect(try key.verify(signature, of: digest, using: .ecdsaSignatureDigestX962(.sha256)))
            }
        }
    }

    // Case 89
    @Test func anECDSADigestOfAnotherLengthIsRefusedAndNobodyIsAsked() throws {
        let desk = try Desk()
        let key = try desk.key("9C")
        let person = TypesInTurn("123456")
        let context = AuthenticationContext(prompter: person)
        for algorithm in [KeyAlgorithm.ecdsaSignatureDigestX962(.sha256), .ecdsaSignatureDigestRFC4754(.sha256)] {
            for count in [0, 20, 31, 33, 64] {
                let digest = [UInt8](repeating: 7, count: count)
                #expect(throws: KeychainError(.param)) { try key.signed(digest, algorithm, context) }
                #expect(throws: KeychainError(.param)) { try key.verify([1], of: digest, using: algorithm) }
            }
        }
        for count in [0, 20, 33] {
            let digest = [UInt8](repeating: 7, count: count)
            let rsa = DoesRawRSAOnly(try TestKey.named("anna", .rsa(bits: 2048)).privateKey)
            for algorithm in [KeyAlgorithm.rsaSignatureDigestPKCS1v15(.sha256), .rsaSignatureDigestPSS(.sha256)] {
                #expect(throws: KeychainError(.param)) { try rsa.signed(digest, algorithm) }
                #expect(throws: KeychainError(.param)) { try rsa.verify([1], of: digest, using: algorithm) }
            }
            #expect(rsa.uses.isEmpty)
        }
        #expect(person.requests.isEmpty)
    }

    @Test(arguments: [CardAlgorithm.p256, .p384]) func rfc4754IsTheTwoNumbersOneAfterTheOther(algorithm: CardAlgorithm)
        throws
    {
        let length = algorithm == .p256 ? 32 : 48
        for key in try Self.keys(algorithm) {
            for digest in DigestAlgorithm.allCases {
                let signature = try key.signed(Self.message, .ecdsaSignatureMessageRFC4754(digest))
                #expect(signature.count == 2 * length)
                #expect(try key.verify(signature, of: Self.message, using: .ecdsaSignatureMessageRFC4754(digest)))
                let der = try ECDSASignature.der(fromFixedWidth: signature)
                #expect(try key.verify(der, of: Self.message, using: .ecdsaSignatureMessageX962(digest)))
                // Neither form passes for the other.
                #expect(try !key.verify(der, of: Self.message, using: .ecdsaSignatureMessageRFC4754(digest)))
                #expect(try !key.verify(signature, of: Self.message, using: .ecdsaSignatureMessageX962(digest)))
            }
        }
    }

    @Test func ed25519SignsTheMessage() throws {
        for key in try Self.keys(.ed25519) {
            let signature = try key.signed(Self.message, .eddsaSignatureMessageCurve25519SHA512)
            #expect(try PublicKey(spki: key.publicKey).verify(signature, message: Self.message, using: .ed25519))
            #expect(try key.verify(signature, of: Self.message, using: .eddsaSignatureMessageCurve25519SHA512))
            #expect(try !key.verify(signature, of: [], using: .eddsaSignatureMessageCurve25519SHA512))
        }
    }

    @Test func rawAndUnprefixedSignaturesAreWhatTheyAreGiven() throws {
        for key in try Self.keys(.rsa2048) {
            let block = [UInt8](repeating: 0, count: 200) + [UInt8](repeating: 9, count: 56)
            let raw = try key.signed(block, .rsaSignatureRaw)
            #expect(try PublicKey(spki: key.publicKey).encrypt(raw, using: .raw) == block)
            #expect(try key.verify(raw, of: block, using: .rsaSignatureRaw))
            #expect(try !key.verify(raw, of: Array(block.dropFirst()), using: .rsaSignatureRaw))
            let padded = try key.signed(Self.message, .rsaSignatureDigestPKCS1v15Raw)
            #expect(try key.verify(padded, of: Self.message, using: .rsaSignatureDigestPKCS1v15Raw))
            #expect(throws: KeychainError(.param)) { try key.signed([1, 2, 3], .rsaSignatureRaw) }
            #expect(throws: KeychainError(.param)) {
                try key.signed([UInt8](repeating: 1, count: 246), .rsaSignatureDigestPKCS1v15Raw)
            }
        }
    }

    @Test func aSignatureThatIsNoneIsNotValidAndNoError() throws {
        let rsa = SoftwareKey(try TestKey.named("anna", .rsa(bits: 2048)).privateKey)
        let ec = SoftwareKey(try TestKey.named("anna").privateKey)
        for signature in [[], [0], [UInt8](repeating: 0xFF, count: 256), [UInt8](repeating: 0, count: 64)] {
            #expect(try !rsa.verify(signature, of: Self.message, using: .rsaSignatureMessagePKCS1v15(.sha256)))
            #expect(try !rsa.verify(signature, of: Self.message, using: .rsaSignatureMessagePSS(.sha256)))
            #expect(try !rsa.verify(signature, of: Self.message, using: .rsaSignatureRaw))
            #expect(try !ec.verify(signature, of: Self.message, using: .ecdsaSignatureMessageX962(.sha256)))
            #expect(try !ec.verify(signature, of: Self.message, using: .ecdsaSignatureMessageRFC4754(.sha256)))
        }
    }

    @Test func verifyingAndEncryptingTouchNoCardAndAskNobody() throws {
        let desk = try Desk(TestCard(profile: .yubiKey57, algorithm: .rsa2048))
        let key = try desk.key("9D")
        desk.reader.clearLog()
        _ = try key.verify([1], of: Self.message, using: .rsaSignatureMessagePKCS1v15(.sha256))
        _ = try key.encrypt(Self.message.span, using: .rsaEncryptionOAEP(.sha256))
        #expect(desk.reader.log.isEmpty)
    }
}
