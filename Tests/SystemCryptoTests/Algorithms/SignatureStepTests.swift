import TestSupport
import Testing

@testable import SystemCrypto

/// `SignatureAlgorithm` describes signatures, and reduces them to the bare operation.
@Suite struct SignatureStepTests {
    private static let digest = [UInt8](repeating: 0x5A, count: 32)

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521]) func anECDSASignatureHasTwoForms(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        let fixed = SignatureAlgorithm.ecdsa(.sha256, .rfc4754)
        let signature = try key.sign(digest: Self.digest, using: fixed)
        #expect(signature.count == 2 * (kind.coordinateLength ?? 0))
        #expect(try key.publicKey.verify(signature, digest: Self.digest, using: fixed))
        #expect(try !key.publicKey.verify(signature, digest: Self.digest, using: .ecdsa(.sha256)))
        let der = try SignatureAlgorithm.ecdsa(nil).signature(fromFixedWidth: signature)
        #expect(try key.publicKey.verify(der, digest: Self.digest, using: .ecdsa(.sha256)))
        #expect(try !key.publicKey.verify(der, digest: Self.digest, using: fixed))
        #expect(try fixed.signature(fromBare: der, of: kind) == signature)
    }

    @Test func anECDSADigestIsAsLongAsItsHashFunctionSays() throws {
        let key = try TestKeys.key(.ecP256)
        for form in SignatureAlgorithm.Form.allCases {
            let algorithm = SignatureAlgorithm.ecdsa(.sha384, form)
            #expect(throws: CryptoError(.invalidLength, "")) { try key.sign(digest: Self.digest, using: algorithm) }
            #expect(throws: CryptoError(.invalidLength, "")) {
                try key.publicKey.verify([1], digest: Self.digest, using: algorithm)
            }
            #expect(throws: CryptoError(.invalidLength, "")) { try algorithm.bareInput(of: Self.digest, for: .ecP256) }
        }
    }

    @Test(arguments: [
        SignatureAlgorithm.rsaPKCS1(.sha256), .rsaPKCS1(nil), .rsaPSS(.sha256, mgf1: .sha1, saltLength: 11),
    ])
    func whatTheBareOperationMakesOfABlockIsTheSignature(algorithm: SignatureAlgorithm) throws {
        let key = try TestKeys.rsa()
        let block = try algorithm.bareInput(of: Self.digest, for: key.kind)
        let signature = try key.sign(digest: block, using: .rsaRaw)
        #expect(try key.publicKey.verify(signature, digest: block, using: .rsaRaw))
        #expect(try !key.publicKey.verify(signature, digest: Self.digest, using: .rsaRaw))
        #expect(try key.publicKey.verify(signature, digest: Self.digest, using: algorithm))
    }

    @Test func whatDoesNotFitTheKeyIsFoundBeforeTheBareOperation() throws {
        let kind = KeyKind.rsa(bits: 1024)
        let rows: [(SignatureAlgorithm, Int)] = [
            (.rsaPKCS1(.sha256), 31), (.rsaPKCS1(nil), 118), (.rsaPSS(.sha256), 31), (.rsaPSS(.sha512), 64),
            (.rsaPSS(.sha256, saltLength: -1), 32), (.rsaPSS(.sha256, saltLength: .max), 32),
            (.rsaPSS(.sha256, mgf1: .sha256, saltLength: nil), 32),
        ]
        for (algorithm, count) in rows {
            let input = [UInt8](repeating: 1, count: count)
            #expect(throws: CryptoError(.invalidLength, ""), "\(algorithm)") {
                try algorithm.bareInput(of: input, for: kind)
            }
        }
    }

    @Test func eachIsForItsKindOfKeys() {
        let kinds: [KeyKind] = [.rsa(bits: 2048), .ecP256, .ecP384, .ecP521, .ed25519, .x25519, .other("DSA")]
        func suited(_ algorithm: SignatureAlgorithm) -> [KeyKind] { kinds.filter { algorithm.suits($0) } }
        for algorithm in [SignatureAlgorithm.rsaRaw, .rsaPKCS1(nil), .rsaPSS(.sha256)] {
            #expect(suited(algorithm) == [.rsa(bits: 2048)])
        }
        #expect(suited(.ecdsa(nil)) == [.ecP256, .ecP384, .ecP521])
        #expect(suited(.ed25519) == [.ed25519])
    }
}
