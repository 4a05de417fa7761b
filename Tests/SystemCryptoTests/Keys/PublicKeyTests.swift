import SystemCrypto
import Testing

@Suite struct PublicKeyTests {
    @Test(arguments: TestKeys.kinds)
    func spkiComesBack(kind: KeyKind) throws {
        let key = try TestKeys.key(kind).publicKey
        let read = try PublicKey(spki: key.spki)
        #expect(read == key)
        #expect(read.kind == kind)
        #expect(read.rawRepresentation == key.rawRepresentation)
        #expect(Set([read, key]).count == 1)
        #expect(try read.keyHash == Digest.hash(key.rawRepresentation, using: .sha1))
    }

    @Test(arguments: TestKeys.kinds)
    func theHashIsThatOfTheBitsInTheEncoding(kind: KeyKind) throws {
        let key = try TestKeys.key(kind).publicKey
        #expect(PublicKey.keyHash(ofBitsIn: key.spki) == key.keyHash)
        for count in 0..<key.spki.count { #expect(PublicKey.keyHash(ofBitsIn: Array(key.spki.prefix(count))) == nil) }
        #expect(PublicKey.keyHash(ofBitsIn: key.spki + [0]) == nil)
    }

    @Test(arguments: TestKeys.kinds)
    func opensslReadsThePEM(kind: KeyKind) throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(kind).publicKey
        try openssl.write(utf8(key.pem), to: "key.pem")
        try openssl.succeed("pkey", "-pubin", "-in", "key.pem", "-outform", "DER", "-out", "key.der")
        #expect(try openssl.read("key.der") == key.spki)
    }

    @Test func rsaKeysAreRebuiltFromTheirNumbers() throws {
        let key = try TestKeys.rsa().publicKey
        let (modulus, exponent) = try #require(key.rsaComponents)
        #expect(modulus.count == 256 && exponent == [1, 0, 1])
        #expect(try PublicKey(rsaModulus: modulus, exponent: exponent) == key)
        #expect(try PublicKey(rsaModulus: [0, 0] + modulus, exponent: [0] + exponent) == key)
        #expect(try TestKeys.key(.ecP256).publicKey.rsaComponents == nil)
    }

    @Test func rsaNumbersThatAreNone() {
        for (modulus, exponent) in [([], [3]), ([3], []), ([4], [3]), ([5], [2]), ([5], [1, 1])] as [([UInt8], [UInt8])]
        {
            #expect(throws: CryptoError(.malformed, "")) { try PublicKey(rsaModulus: modulus, exponent: exponent) }
        }
        let huge = [UInt8](repeating: 0xFF, count: 100_000)
        #expect(throws: CryptoError(.malformed, "")) { try PublicKey(rsaModulus: huge, exponent: [3]) }
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521])
    func ecKeysAreRebuiltFromTheirPoint(kind: KeyKind) throws {
        let key = try TestKeys.key(kind).publicKey
        let length = try #require(kind.coordinateLength)
        #expect(key.rawRepresentation.count == 1 + 2 * length && key.rawRepresentation.first == 4)
        #expect(try PublicKey(ecPoint: key.rawRepresentation, curve: kind) == key)
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521])
    func pointsOffTheCurveAreMalformed(kind: KeyKind) throws {
        let point = try TestKeys.key(kind).publicKey.rawRepresentation
        let zeros = [UInt8](repeating: 0, count: point.count - 1)
        let wrong: [[UInt8]] = [
            flipping(point, at: point.count - 1), flipping(point, at: 0), Array(point.dropLast()), point + [0], [], [0],
            [4] + zeros, [4] + zeros.map { _ in 0xFF }, [2] + Array(point.dropFirst()),
        ]
        for point in wrong {
            #expect(throws: CryptoError(.malformed, "")) { try PublicKey(ecPoint: point, curve: kind) }
        }
    }

    @Test func anotherCurvesPointIsMalformed() throws {
        let point = try TestKeys.key(.ecP256).publicKey.rawRepresentation
        #expect(throws: CryptoError(.malformed, "")) { try PublicKey(ecPoint: point, curve: .ecP384) }
        #expect(throws: CryptoError(.unsupported, "")) { try PublicKey(ecPoint: point, curve: .ed25519) }
        #expect(throws: CryptoError(.unsupported, "")) { try PublicKey(ecPoint: point, curve: .other("P-192")) }
    }

    @Test(arguments: [KeyKind.ed25519, .x25519])
    func curve25519KeysAreRebuiltFromTheirBytes(kind: KeyKind) throws {
        let key = try TestKeys.key(kind).publicKey
        #expect(key.rawRepresentation.count == 32)
        #expect(try PublicKey(raw: key.rawRepresentation, kind: kind) == key)
        for count in [0, 31, 33] {
            #expect(throws: CryptoError(.malformed, "")) {
                try PublicKey(raw: [UInt8](repeating: 1, count: count), kind: kind)
            }
        }
        #expect(throws: CryptoError(.unsupported, "")) { try PublicKey(raw: key.rawRepresentation, kind: .ecP256) }
    }

    /// A card or a certificate may give a compressed point; identities pair by the hash of the uncompressed one.
    @Test func compressedPointsHashLikeUncompressedOnes() throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(.ecP256).publicKey
        try openssl.write(key.spki, to: "key.der")
        try openssl.succeed(
            "pkey", "-pubin", "-inform", "DER", "-in", "key.der", "-ec_conv_form", "compressed", "-outform", "DER",
            "-out", "short.der")
        let short = try PublicKey(spki: openssl.read("short.der"))
        #expect(short.spki.count == key.spki.count - 32)
        #expect(short.rawRepresentation == key.rawRepresentation)
        #expect(short.keyHash == key.keyHash)
    }

    @Test func damagedInfosAreMalformed() throws {
        let spki = try TestKeys.key(.ecP256).publicKey.spki
        for damaged in [[], [0x30], spki + [0], Array(spki.dropLast()), [0x30, 0x00], [0x30, 0x80] + spki] {
            #expect(throws: CryptoError(.malformed, "")) { try PublicKey(spki: damaged) }
        }
    }

    @Test func everyCutOfAnInfoIsAnErrorNotATrap() throws {
        let spki = try TestKeys.rsa().publicKey.spki
        for length in 0..<spki.count {
            #expect(throws: CryptoError.self) { try PublicKey(spki: Array(spki.prefix(length))) }
        }
        for index in 0..<40 { _ = try? PublicKey(spki: flipping(spki, at: index)) }
    }

    @Test(arguments: [(KeyKind.rsa(bits: 2048), "RSA 2048"), (.ecP256, "EC P-256"), (.other("ED448"), "ED448")])
    func kindsSayWhatTheyAre(kind: KeyKind, text: String) {
        #expect(kind.description == text)
    }

    @Test func kindsNobodyKnowsKeepTheirName() throws {
        let key = try PrivateKey.generate(.other("ED448"))
        #expect(key.kind == .other("ED448"))
        #expect(try PublicKey(spki: key.publicKey.spki).kind == .other("ED448"))
        #expect(key.kind.bits == nil && key.kind.coordinateLength == nil)
    }
}
