import SecureBytes
import SystemCrypto
import Testing

@Suite struct RSAEncryptionTests {
    static let paddings: [RSAEncryption] =
        DigestAlgorithm.allCases.map { .oaep($0) } + [
            .pkcs1, .oaep(.sha256, mgf1: .sha1, label: []), .oaep(.sha1, mgf1: .sha256, label: [1, 2, 3]),
        ]

    @Test(arguments: paddings)
    func messagesComeBack(padding: RSAEncryption) throws {
        let key = try TestKeys.rsa()
        for message in [[], [0], utf8("thirty-two bytes of session key.")] {
            let ciphertext = try key.publicKey.encrypt(message, using: padding)
            #expect(ciphertext.count == 256)
            #expect(try reveal(key.decrypt(ciphertext, using: padding)) == message)
        }
    }

    @Test func rawIsTheBareOperation() throws {
        let key = try TestKeys.rsa()
        let block = [0] + (1...255).map { UInt8($0) }
        let ciphertext = try key.publicKey.encrypt(block, using: .raw)
        #expect(try reveal(key.rsaPrivateOperation(ciphertext)) == block)
        #expect(try reveal(key.decrypt(ciphertext, using: .raw)) == block)
    }

    @Test func blocksOfAnotherLengthOrNotBelowTheModulusDoNotFit() throws {
        let key = try TestKeys.rsa()
        let modulus = try #require(key.publicKey.rsaComponents?.modulus)
        for block in [[], [1], Array(modulus.dropLast()), modulus + [0], modulus] {
            let code = errorCode { () throws(CryptoError) in _ = try key.rsaPrivateOperation(block) }
            #expect(code == .invalidLength)
        }
        let tooLong = [UInt8](repeating: 1, count: 246)
        for padding in [RSAEncryption.pkcs1, .oaep(.sha256), .raw] {
            #expect(throws: CryptoError(.invalidLength, "")) {
                try key.publicKey.encrypt(tooLong, using: padding)
            }
        }
    }

    @Test func otherLabelsHashesAndCiphertextsFailWithoutAReason() throws {
        let key = try TestKeys.rsa()
        let ciphertext = try key.publicKey.encrypt([1, 2, 3], using: .oaep(.sha256, mgf1: .sha256, label: [7]))
        let attempts: [(ciphertext: [UInt8], padding: RSAEncryption)] = [
            (ciphertext, .oaep(.sha256)), (ciphertext, .oaep(.sha256, mgf1: .sha256, label: [8])),
            (ciphertext, .oaep(.sha384, mgf1: .sha256, label: [7])),
            (ciphertext, .oaep(.sha256, mgf1: .sha1, label: [7])),
            (flipping(ciphertext, at: 255), .oaep(.sha256, mgf1: .sha256, label: [7])),
        ]
        for attempt in attempts {
            let code = errorCode { () throws(CryptoError) in
                _ = try key.decrypt(attempt.ciphertext, using: attempt.padding)
            }
            #expect(code == .decryptionFailed)
        }
    }

    @Test func otherKeysDoNotEncrypt() throws {
        for kind in [KeyKind.ecP256, .ed25519, .x25519] {
            let key = try TestKeys.key(kind)
            #expect(throws: CryptoError(.unsupported, "")) { try key.publicKey.encrypt([1], using: .pkcs1) }
            #expect(errorCode { () throws(CryptoError) in _ = try key.decrypt([1], using: .pkcs1) } == .unsupported)
            #expect(errorCode { () throws(CryptoError) in _ = try key.rsaPrivateOperation([1]) } == .unsupported)
        }
    }

    @Test(arguments: [
        (RSAEncryption.pkcs1, ["-pkeyopt", "rsa_padding_mode:pkcs1"]),
        (.oaep(.sha256), ["-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:sha256"]),
    ])
    func opensslEncryptsForUs(padding: RSAEncryption, options: [String]) throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.rsa()
        try openssl.write(utf8(key.publicKey.pem), to: "key.pem")
        try openssl.write(utf8("from the command"), to: "in")
        try openssl.succeed(
            ["pkeyutl", "-encrypt", "-pubin", "-inkey", "key.pem", "-in", "in", "-out", "out"] + options)
        #expect(try reveal(key.decrypt(openssl.read("out"), using: padding)) == utf8("from the command"))
    }
}

@Suite struct KeyAgreementTests {
    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521, .x25519])
    func bothSidesShareOneSecret(kind: KeyKind) throws {
        let one = try TestKeys.key(kind)
        let two = try PrivateKey.generate(kind)
        let shared = try one.sharedSecret(with: two.publicKey)
        #expect(shared.count == kind.coordinateLength)
        #expect(try reveal(two.sharedSecret(with: one.publicKey)) == reveal(shared))
    }

    /// RFC 7748 §6.1.
    @Test func x25519KnownAnswer() throws {
        let alice = try PrivateKey(seed: secret(hex(PrivateKeyComponentTests.seeds[1].seed)), kind: .x25519)
        let bob = try PublicKey(raw: hex(PrivateKeyComponentTests.seeds[2].publicKey), kind: .x25519)
        let expected = hex("4A5D9D5BA4CE2DE1728E3BF480350F25E07E21C947D19E3376F09B3C1E161742")
        #expect(try reveal(alice.sharedSecret(with: bob)) == expected)
    }

    /// RFC 5903 §8.1.
    @Test func p256KnownAnswer() throws {
        let scalar = secret(hex("C88F01F510D9AC3F70A292DAA2316DE544E9AAB8AFE84049C62A9C57862D1433"))
        let peer = try PublicKey(
            ecPoint: hex(
                "04D12DFB5289C8D4F81208B70270398C342296970A0BCCB74C736FC7554494BF63"
                    + "56FBF3CA366CC23E8157854C13C58D6AAC23F046ADA30F8353E74F33039872AB"), curve: .ecP256)
        let shared = try PrivateKey(ecScalar: scalar, curve: .ecP256).sharedSecret(with: peer)
        #expect(reveal(shared) == hex("D6840F6B42F6EDAFD13116E0E12565202FEF8E9ECE7DCE03812464D04B9442DE"))
    }

    @Test func aPeerWithoutOrderIsRefused() throws {
        let key = try TestKeys.key(.x25519)
        let zero = try PublicKey(raw: [UInt8](repeating: 0, count: 32), kind: .x25519)
        #expect(errorCode { () throws(CryptoError) in _ = try key.sharedSecret(with: zero) } == .malformed)
    }

    @Test(arguments: [
        (KeyKind.ecP256, KeyKind.ecP384), (.ecP256, .x25519), (.x25519, .ecP256), (.ed25519, .ed25519),
        (.rsa(bits: 2048), .rsa(bits: 2048)),
    ])
    func keysThatShareNothing(one: KeyKind, two: KeyKind) throws {
        let (key, peer) = (try TestKeys.key(one), try TestKeys.key(two).publicKey)
        #expect(errorCode { () throws(CryptoError) in _ = try key.sharedSecret(with: peer) } == .unsupported)
    }
}
