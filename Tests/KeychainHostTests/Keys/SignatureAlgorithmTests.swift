import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Signatures by every algorithm, on cards, in software and by a key that does only the RSA primitive.
@Suite struct SignatureAlgorithmTests {
    private static let message = Array("a message to sign".utf8)

    /// One key pair on a card, in software and, for RSA, behind the bare primitive.
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
                (Self.message, KeyAlgorithm.messageSignature(.rsaPKCS1(digest))),
                (hashed, .signature(.rsaPKCS1(digest))),
            ] {
                let signature = try key.signed(input, algorithm)
                #expect(try publicKey.verify(signature, digest: hashed, using: .rsaPKCS1(digest)))
                #expect(try key.verify(signature, of: input, using: algorithm))
            }
            for (input, algorithm) in [
                (Self.message, KeyAlgorithm.messageSignature(.rsaPSS(digest))), (hashed, .signature(.rsaPSS(digest))),
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
                try key.signed(Self.message, .messageSignature(.rsaPKCS1(.sha256)))
                    == key.signed(digest, .signature(.rsaPKCS1(.sha256))))
        }
        for key in try Self.keys(.p256) {
            let signatures = [
                try key.signed(Self.message, .messageSignature(.ecdsa(.sha256))),
                try key.signed(digest, .signature(.ecdsa(.sha256))),
                try key.signed(digest, .signature(.ecdsa(nil))),
            ]
            for signature in signatures {
                #expect(try key.verify(signature, of: Self.message, using: .messageSignature(.ecdsa(.sha256))))
                #expect(try key.verify(signature, of: digest, using: .signature(.ecdsa(.sha256))))
            }
        }
    }

    // Case 89
    @Test func anECDSADigestOfAnotherLengthIsRefusedAndNobodyIsAsked() throws {
        let desk = try Desk()
        let key = try desk.key("9C")
        let person = TypesInTurn("123456")
        let context = AuthenticationContext(prompter: person)
        for algorithm in [KeyAlgorithm.signature(.ecdsa(.sha256)), .signature(.ecdsa(.sha256, .rfc4754))] {
            for count in [0, 20, 31, 33, 64] {
                let digest = [UInt8](repeating: 7, count: count)
                #expect(throws: KeychainError(.param)) { try key.signed(digest, algorithm, context) }
                #expect(throws: KeychainError(.param)) { try key.verify([1], of: digest, using: algorithm) }
            }
        }
        for count in [0, 20, 33] {
            let digest = [UInt8](repeating: 7, count: count)
            let rsa = DoesRawRSAOnly(try TestKey.named("anna", .rsa(bits: 2048)).privateKey)
            for algorithm in [KeyAlgorithm.signature(.rsaPKCS1(.sha256)), .signature(.rsaPSS(.sha256))] {
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
                let signature = try key.signed(Self.message, .messageSignature(.ecdsa(digest, .rfc4754)))
                #expect(signature.count == 2 * length)
                #expect(try key.verify(signature, of: Self.message, using: .messageSignature(.ecdsa(digest, .rfc4754))))
                let der = try ECDSASignature.der(fromFixedWidth: signature)
                #expect(try key.verify(der, of: Self.message, using: .messageSignature(.ecdsa(digest))))
                // Neither form passes for the other.
                #expect(try !key.verify(der, of: Self.message, using: .messageSignature(.ecdsa(digest, .rfc4754))))
                #expect(try !key.verify(signature, of: Self.message, using: .messageSignature(.ecdsa(digest))))
            }
        }
    }

    @Test func ed25519SignsTheMessage() throws {
        for key in try Self.keys(.ed25519) {
            let signature = try key.signed(Self.message, .signature(.ed25519))
            #expect(try PublicKey(spki: key.publicKey).verify(signature, message: Self.message, using: .ed25519))
            #expect(try key.verify(signature, of: Self.message, using: .signature(.ed25519)))
            #expect(try !key.verify(signature, of: [], using: .signature(.ed25519)))
        }
    }

    @Test func rawAndUnprefixedSignaturesAreWhatTheyAreGiven() throws {
        for key in try Self.keys(.rsa2048) {
            let block = [UInt8](repeating: 0, count: 200) + [UInt8](repeating: 9, count: 56)
            let raw = try key.signed(block, .signature(.rsaRaw))
            #expect(try PublicKey(spki: key.publicKey).encrypt(raw, using: .raw) == block)
            #expect(try key.verify(raw, of: block, using: .signature(.rsaRaw)))
            #expect(try !key.verify(raw, of: Array(block.dropFirst()), using: .signature(.rsaRaw)))
            let padded = try key.signed(Self.message, .signature(.rsaPKCS1(nil)))
            #expect(try key.verify(padded, of: Self.message, using: .signature(.rsaPKCS1(nil))))
            #expect(throws: KeychainError(.param)) { try key.signed([1, 2, 3], .signature(.rsaRaw)) }
            #expect(throws: KeychainError(.param)) {
                try key.signed([UInt8](repeating: 1, count: 246), .signature(.rsaPKCS1(nil)))
            }
        }
    }

    @Test func aSignatureThatIsNoneIsNotValidAndNoError() throws {
        let rsa = SoftwareKey(try TestKey.named("anna", .rsa(bits: 2048)).privateKey)
        let ec = SoftwareKey(try TestKey.named("anna").privateKey)
        for signature in [[], [0], [UInt8](repeating: 0xFF, count: 256), [UInt8](repeating: 0, count: 64)] {
            #expect(try !rsa.verify(signature, of: Self.message, using: .messageSignature(.rsaPKCS1(.sha256))))
            #expect(try !rsa.verify(signature, of: Self.message, using: .messageSignature(.rsaPSS(.sha256))))
            #expect(try !rsa.verify(signature, of: Self.message, using: .signature(.rsaRaw)))
            #expect(try !ec.verify(signature, of: Self.message, using: .messageSignature(.ecdsa(.sha256))))
            #expect(try !ec.verify(signature, of: Self.message, using: .messageSignature(.ecdsa(.sha256, .rfc4754))))
        }
    }

    @Test func verifyingAndEncryptingTouchNoCardAndAskNobody() throws {
        let desk = try Desk(TestCard(profile: .yubiKey57, algorithm: .rsa2048))
        let key = try desk.key("9D")
        desk.reader.clearLog()
        _ = try key.verify([1], of: Self.message, using: .messageSignature(.rsaPKCS1(.sha256)))
        _ = try key.encrypt(Self.message.span, using: .encryption(.oaep(.sha256)))
        #expect(desk.reader.log.isEmpty)
    }
}
