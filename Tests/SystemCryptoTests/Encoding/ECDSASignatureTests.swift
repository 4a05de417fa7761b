import SystemCrypto
import Testing

@Suite struct ECDSASignatureTests {
    @Test(arguments: [
        ("0101", "3006020101020101"), ("0080", "30070201000202 0080".filter { $0 != " " }),
        ("00FF0001", "3007020200FF020101"), ("80000000", "300802030080000201 00".filter { $0 != " " }),
    ])
    func fixedWidthBecomesDER(fixed: String, der: String) throws {
        #expect(try ECDSASignature.der(fromFixedWidth: hex(fixed)) == hex(der))
        let back = try ECDSASignature.fixedWidth(fromDER: hex(der), coordinateLength: fixed.utf8.count / 4)
        #expect(back == hex(fixed))
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521])
    func signaturesSurviveBothWays(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        let length = try #require(kind.coordinateLength)
        for round in 0..<32 {
            let digest = try Digest.hash([UInt8(round)], using: .sha256)
            let der = try key.sign(digest: digest, using: .ecdsa(nil))
            let fixed = try ECDSASignature.fixedWidth(fromDER: der, coordinateLength: length)
            #expect(fixed.count == 2 * length)
            #expect(try ECDSASignature.der(fromFixedWidth: fixed) == der)
        }
    }

    @Test(arguments: [[], [1], [1, 2, 3]] as [[UInt8]])
    func oddBytesAreNoSignature(bytes: [UInt8]) {
        #expect(throws: CryptoError(.invalidLength, "")) { try ECDSASignature.der(fromFixedWidth: bytes) }
    }

    @Test(arguments: [
        ("", "no bytes"), ("300602010102010100", "trailing byte"), ("3009020101020101020101", "three numbers"),
        ("3003020101", "one number"), ("3006020181020101", "negative"), ("300702020001020101", "needless zero"),
        ("30080203010000020101", "too long for the curve"), ("3005020002010100", "empty number"),
        ("3106020101020101", "a set"),
    ])
    func malformed(text: String, why: Comment) {
        #expect(throws: CryptoError(.malformed, ""), why) {
            try ECDSASignature.fixedWidth(fromDER: hex(text), coordinateLength: 2)
        }
    }

    @Test(arguments: [-1, Int.min])
    func noCurveIsThatSmall(length: Int) {
        #expect(throws: CryptoError(.malformed, "")) {
            try ECDSASignature.fixedWidth(fromDER: hex("3006020101020101"), coordinateLength: length)
        }
        #expect(throws: CryptoError(.invalidLength, "")) {
            try ECDSASignature.fixedWidth(fromDER: hex("3006020101020101"), coordinateLength: .max)
        }
    }

    @Test(
        arguments: [
            ([1, 2, 3], 24, [1, 2, 3]), ([1, 2, 3], 32, [1, 2, 3]), ([1, 2, 3], 16, [1, 2]),
            ([0xFF, 0xFF], 9, [1, 0xFF]),
            ([0x80, 0x01], 15, [0x40, 0]), ([], 256, []), ([1], 0, [1]), ([1], -5, [1]), ([1], .max, [1]),
        ] as [([UInt8], Int, [UInt8])])
    func digestsAreCutToTheirLeftmostBits(digest: [UInt8], bits: Int, cut: [UInt8]) {
        #expect(ECDSASignature.truncate(digest, orderBits: bits) == cut)
    }

    /// The host cuts digests for a card as OpenSSL cuts them by itself.
    @Test(arguments: [
        (KeyKind.ecP256, DigestAlgorithm.sha512), (.ecP256, .sha384), (.ecP384, .sha512), (.ecP521, .sha512),
    ])
    func signaturesOverCutDigestsVerifyOverTheWhole(kind: KeyKind, algorithm: DigestAlgorithm) throws {
        let key = try TestKeys.key(kind)
        let digest = try Digest.hash(utf8("message"), using: algorithm)
        let cut = ECDSASignature.truncate(digest, orderBits: try #require(kind.bits))
        let signature = try key.sign(digest: cut, using: .ecdsa(nil))
        #expect(try key.publicKey.verify(signature, message: utf8("message"), using: .ecdsa(algorithm)))
    }
}
