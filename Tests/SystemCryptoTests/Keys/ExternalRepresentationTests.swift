import SystemCrypto
import Testing

@Suite struct ExternalRepresentationTests {
    private static func family(_ kind: KeyKind) -> KeyFamily {
        switch kind {
        case .rsa: .rsa
        case .ed25519: .ed25519
        case .x25519: .x25519
        default: .ec
        }
    }

    @Test(arguments: TestKeys.kinds) func bothHalvesComeBack(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        let family = Self.family(kind)
        let again = try PrivateKey(externalRepresentation: key.externalRepresentation(), family: family)
        #expect(again.publicKey == key.publicKey)
        #expect(reveal(try again.externalRepresentation()) == reveal(try key.externalRepresentation()))
        let publicKey = try PublicKey(externalRepresentation: key.publicKey.rawRepresentation, family: family)
        #expect(publicKey == key.publicKey)
    }

    @Test func ecIsThePointAndTheScalar() throws {
        let key = try TestKeys.key(.ecP384)
        let bytes = reveal(try key.externalRepresentation())
        #expect(bytes.count == 145)
        #expect(bytes[0] == 4)
        #expect(Array(bytes.prefix(97)) == key.publicKey.rawRepresentation)
        #expect(Array(bytes.suffix(48)) == reveal(try key.scalar()))
    }

    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP256, .ecP384, .ecP521])
    func theAlgorithmsOwnFormatIsWhatOpenSSLReads(kind: KeyKind) throws {
        let (key, openssl) = (try TestKeys.key(kind), try OpenSSLCommand())
        let label = if case .rsa = kind { "RSA PRIVATE KEY" } else { "EC PRIVATE KEY" }
        try openssl.write(reveal(PEM.encode(try key.algorithmEncoding(), label: label)), to: "key.pem")
        try openssl.succeed("pkey", "-in", "key.pem", "-pubout", "-outform", "DER", "-out", "public.der")
        #expect(try openssl.read("public.der") == key.publicKey.spki)
        #expect(try PrivateKey(encoded: key.algorithmEncoding()).publicKey == key.publicKey)
    }

    /// The races that lose the curve are rare: many keys, each written by several threads at once.
    @Test func aKeyThatManyThreadsWriteAtOnceKeepsItsCurve() async throws {
        for _ in 0..<300 {
            let key = try PrivateKey.generate(.ecP256)
            let before = reveal(try key.algorithmEncoding())
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { for _ in 0..<10 { _ = try? key.pkcs8() } } }
            }
            #expect(reveal(try key.algorithmEncoding()) == before)
        }
    }

    @Test(arguments: [KeyKind.ed25519, .x25519]) func otherKeysHaveNoFormatOfTheirOwn(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        #expect(errorCode { () throws(CryptoError) in _ = try key.algorithmEncoding() } == .unsupported)
    }

    @Test func whatIsNoKeyIsRefused() throws {
        let point = try TestKeys.key(.ecP256).publicKey.rawRepresentation
        let bytes = reveal(try TestKeys.key(.ecP256).externalRepresentation())
        let pkcs8 = reveal(try TestKeys.rsa().pkcs8())
        for family in KeyFamily.allCases {
            for input in [[], [4], point, Array(bytes.dropLast()), bytes + [0], pkcs8] {
                let code = errorCode { () throws(CryptoError) in
                    _ = try PrivateKey(externalRepresentation: secret(input), family: family)
                }
                #expect(code != nil, "\(family) of \(input.count) bytes")
            }
            for input in [[], [4], Array(point.dropLast()), point + [0], [0x30, 0], pkcs8] {
                let code = errorCode { () throws(CryptoError) in
                    _ = try PublicKey(externalRepresentation: input, family: family)
                }
                #expect(code != nil, "\(family) of \(input.count) bytes")
            }
        }
    }

    @Test func aPointThatIsNotTheScalarsIsRefused() throws {
        let (one, other) = (try TestKeys.key(.ecP256), try PrivateKey.generate(.ecP256))
        let mixed = one.publicKey.rawRepresentation + reveal(try other.scalar())
        let code = errorCode { () throws(CryptoError) in
            _ = try PrivateKey(externalRepresentation: secret(mixed), family: .ec)
        }
        #expect(code == .invalidKey)
    }
}
