import SystemCrypto
import Testing

@Suite struct KeyKindTests {
    @Test(
        arguments: [
            (KeyKind.rsa(bits: 3072), "RSA 3072", 3072, nil), (.ecP256, "EC P-256", 256, 32),
            (.ecP384, "EC P-384", 384, 48),
            (.ecP521, "EC P-521", 521, 66), (.ed25519, "Ed25519", 256, 32), (.x25519, "X25519", 256, 32),
            (.other("X448"), "X448", nil, nil),
        ] as [(KeyKind, String, Int?, Int?)])
    func kindsSayWhatTheyAre(kind: KeyKind, text: String, bits: Int?, coordinate: Int?) {
        #expect(kind.description == text)
        #expect(kind.bits == bits)
        #expect(kind.coordinateLength == coordinate)
        #expect(kind.isEC == text.hasPrefix("EC "))
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521, .ed25519, .x25519])
    func aPointIsKnownByItsLength(kind: KeyKind) throws {
        let length = try PrivateKey.generate(kind).publicKey.rawRepresentation.count
        // The bytes of the point do not matter.
        let point = [UInt8](repeating: 4, count: length)
        let header: [UInt8] = length < 0x80 ? [4, UInt8(length)] : [4, 0x81, UInt8(length)]
        let wrapped = header + point
        #expect(kind.point(in: point) == point)
        #expect(kind.point(in: wrapped) == point)
        let wrong: [[UInt8]] = [[], [4], Array(point.dropLast()), wrapped + [0], [3] + wrapped.dropFirst()]
        for wrong in wrong {
            #expect(kind.point(in: wrong) == nil)
        }
    }

    @Test func aKindWithoutPointsHasNone() {
        for kind in [KeyKind.rsa(bits: 512), .other("X448")] { #expect(kind.point(in: [4, 1, 1]) == nil) }
    }

    /// A curve that PIV does not have is still a key that can be listed, signed with and verified.
    @Test func otherCurvesKeepTheirName() throws {
        let openssl = try OpenSSLCommand()
        try openssl.succeed(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1", "-outform", "DER", "-out",
            "key.der")
        let key = try PrivateKey(encoded: secret(openssl.read("key.der")))
        #expect(key.kind == .other("EC secp256k1"))
        #expect(key.publicKey.rawRepresentation.count == 65)
        let signature = try key.sign(message: utf8("m"), using: .ecdsa(.sha256))
        #expect(try key.publicKey.verify(signature, message: utf8("m"), using: .ecdsa(.sha256)))
        #expect(errorCode { () throws(CryptoError) in _ = try key.scalar() } == .unsupported)
        #expect(errorCode { () throws(CryptoError) in _ = try key.sharedSecret(with: key.publicKey) } == .unsupported)
    }

    @Test func rsaKeysForPSSOnlyAreAKindOfTheirOwn() throws {
        let openssl = try OpenSSLCommand()
        try openssl.succeed(
            "genpkey", "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:1024", "-outform", "DER", "-out", "key.der"
        )
        let key = try PrivateKey(encoded: secret(openssl.read("key.der")))
        #expect(key.kind == .other("RSA-PSS"))
        #expect(throws: CryptoError(.unsupported, "")) { try key.sign(message: [], using: .rsaPKCS1(.sha256)) }
    }

    @Test func dsaKeysAreReadAndDoNothing() throws {
        let openssl = try OpenSSLCommand()
        try openssl.succeed("dsaparam", "-genkey", "-noout", "-outform", "DER", "-out", "dsa.der", "1024")
        try openssl.succeed(
            "pkcs8", "-topk8", "-nocrypt", "-inform", "DER", "-in", "dsa.der", "-outform", "DER", "-out", "key.der")
        let key = try PrivateKey(encoded: secret(openssl.read("key.der")))
        #expect(key.kind == .other("DSA"))
        #expect(throws: CryptoError(.unsupported, "")) { try key.sign(message: [1], using: .ecdsa(.sha256)) }
        #expect(throws: CryptoError(.unsupported, "")) {
            try CertificateBuilder.signatureAlgorithm(of: key.publicKey, digest: .sha256)
        }
    }
}
