import Testing

@testable import SystemCrypto

/// Keys that were read before are not read again, and are the same.
@Suite struct PublicKeyCacheTests {
    @Test func aKeyThatWasReadIsTheSameTheNextTime() throws {
        let key = try PrivateKey.generate(.ecP256)
        let first = try PublicKey(spki: key.publicKey.spki)
        let second = try PublicKey(spki: key.publicKey.spki)
        #expect(first == second)
        let signature = try key.sign(message: [1, 2, 3], using: .ecdsa(.sha256))
        #expect(try second.verify(signature, message: [1, 2, 3], using: .ecdsa(.sha256)))
    }

    @Test func whatIsNoKeyIsNoneTheNextTimeEither() {
        for _ in 0..<2 { #expect(throws: CryptoError.self) { try PublicKey(spki: [0x30, 0x00]) } }
    }

    @Test func moreKeysThanAreKeptAreReadAllTheSame() throws {
        let keys = try (0..<40).map { _ in try PrivateKey.generate(.ecP256).publicKey }
        for _ in 0..<2 { for key in keys { #expect(try PublicKey(spki: key.spki).keyHash == key.keyHash) } }
    }
}
