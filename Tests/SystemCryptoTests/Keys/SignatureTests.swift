import SystemCrypto
import Testing

@Suite struct SignatureTests {
    static let rsaAlgorithms: [SignatureAlgorithm] =
        DigestAlgorithm.allCases.flatMap { [.rsaPKCS1($0), .rsaPSS($0)] } + [
            .rsaPKCS1(nil), .rsaPSS(.sha256, mgf1: .sha1, saltLength: 0), .rsaPSS(.sha1, mgf1: .sha512, saltLength: 32),
        ]

    @Test(arguments: rsaAlgorithms)
    func rsaSignaturesVerify(algorithm: SignatureAlgorithm) throws {
        try expectSignature(by: TestKeys.rsa(), using: algorithm)
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521], DigestAlgorithm.allCases)
    func ecdsaSignaturesVerify(kind: KeyKind, digest: DigestAlgorithm) throws {
        try expectSignature(by: TestKeys.key(kind), using: .ecdsa(digest))
    }

    @Test func ed25519SignaturesVerify() throws {
        try expectSignature(by: TestKeys.key(.ed25519), using: .ed25519)
    }

    private func expectSignature(by key: PrivateKey, using algorithm: SignatureAlgorithm) throws {
        let message = utf8("a message")
        let signature = try key.sign(message: message, using: algorithm)
        #expect(try key.publicKey.verify(signature, message: message, using: algorithm))
        #expect(try !key.publicKey.verify(signature, message: utf8("another"), using: algorithm))
        for index in stride(from: 0, to: signature.count, by: 7) {
            #expect(try !key.publicKey.verify(flipping(signature, at: index), message: message, using: algorithm))
        }
        for wrong in [[], Array(signature.dropLast()), signature + [0], [0] + signature] {
            #expect(try !key.publicKey.verify(wrong, message: message, using: algorithm))
        }
    }

    /// RFC 8032 §7.1, tests 1 to 3.
    static let ed25519: [(seed: String, message: String, signature: String)] = [
        (
            "9D61B19DEFFD5A60BA844AF492EC2CC44449C5697B326919703BAC031CAE7F60", "",
            "E5564300C360AC729086E2CC806E828A84877F1EB8E5D974D873E065224901555FB8821590A33BACC61E39701CF9B46B"
                + "D25BF5F0595BBE24655141438E7A100B"
        ),
        (
            "4CCD089B28FF96DA9DB6C346EC114E0F5B8A319F35ABA624DA8CF6ED4FB8A6FB", "72",
            "92A009A9F0D4CAB8720E820B5F642540A2B27B5416503F8FB3762223EBDB69DA085AC1E43E15996E458F3613D0F11D8C"
                + "387B2EAEB4302AEEB00D291612BB0C00"
        ),
    ]

    @Test(arguments: ed25519)
    func ed25519KnownAnswers(seed: String, message: String, signature: String) throws {
        let key = try PrivateKey(seed: secret(hex(seed)), kind: .ed25519)
        #expect(try key.sign(message: hex(message), using: .ed25519) == hex(signature))
    }

    @Test func pkcs1SignaturesAreDeterministicAndPSSOnesAreNot() throws {
        let key = try TestKeys.rsa()
        let message = utf8("twice")
        #expect(
            try key.sign(message: message, using: .rsaPKCS1(.sha256))
                == key.sign(message: message, using: .rsaPKCS1(.sha256)))
        #expect(
            try key.sign(message: message, using: .rsaPSS(.sha256))
                != key.sign(message: message, using: .rsaPSS(.sha256)))
    }

    @Test(arguments: [
        (KeyKind.rsa(bits: 2048), SignatureAlgorithm.ecdsa(.sha256)), (.rsa(bits: 2048), .ed25519),
        (.ecP256, .rsaPKCS1(.sha256)), (.ecP256, .rsaPSS(.sha256)), (.ecP256, .ed25519), (.ecP256, .ecdsa(nil)),
        (.ed25519, .ecdsa(.sha256)), (.x25519, .ed25519), (.x25519, .ecdsa(.sha256)),
    ])
    func algorithmsOfOtherKeysAreUnsupported(kind: KeyKind, algorithm: SignatureAlgorithm) throws {
        let key = try TestKeys.key(kind)
        #expect(throws: CryptoError(.unsupported, "")) { try key.sign(message: [1], using: algorithm) }
        #expect(throws: CryptoError(.unsupported, "")) { try key.publicKey.verify([1], message: [1], using: algorithm) }
    }

    @Test func ed25519SignsNoDigests() throws {
        let key = try TestKeys.key(.ed25519)
        let digest = try Digest.hash([], using: .sha512)
        #expect(throws: CryptoError(.unsupported, "")) { try key.sign(digest: digest, using: .ed25519) }
        #expect(throws: CryptoError(.unsupported, "")) { try key.publicKey.verify([], digest: digest, using: .ed25519) }
    }

    @Test func digestsOfAnotherLengthDoNotFit() throws {
        let key = try TestKeys.rsa()
        let short = [UInt8](repeating: 1, count: 31)
        for algorithm in [SignatureAlgorithm.rsaPKCS1(.sha256), .rsaPSS(.sha256)] {
            #expect(throws: CryptoError(.invalidLength, "")) { try key.sign(digest: short, using: algorithm) }
            #expect(throws: CryptoError(.invalidLength, "")) {
                try key.publicKey.verify([], digest: short, using: algorithm)
            }
        }
        let long = [UInt8](repeating: 1, count: 246)
        #expect(throws: CryptoError(.invalidLength, "")) { try key.sign(digest: long, using: .rsaPKCS1(nil)) }
        let negative = SignatureAlgorithm.rsaPSS(.sha256, mgf1: .sha256, saltLength: -1)
        #expect(throws: CryptoError(.invalidLength, "")) { try key.sign(message: [], using: negative) }
        let huge = SignatureAlgorithm.rsaPSS(.sha256, mgf1: .sha256, saltLength: .max)
        #expect(throws: CryptoError.self) { try key.sign(message: [], using: huge) }
    }

    @Test func aSaltOfAnyLengthIsVerifiedAndNoneIsSigned() throws {
        let key = try TestKeys.rsa()
        let anyLength = SignatureAlgorithm.rsaPSS(.sha256, mgf1: .sha256, saltLength: nil)
        for length in [0, 20, 32, 222] {
            let signature = try key.sign(
                message: utf8("m"), using: .rsaPSS(.sha256, mgf1: .sha256, saltLength: length))
            #expect(try key.publicKey.verify(signature, message: utf8("m"), using: anyLength), "\(length)")
            #expect(try !key.publicKey.verify(signature, message: utf8("n"), using: anyLength), "\(length)")
        }
        #expect(throws: CryptoError(.invalidLength, "")) { try key.sign(message: utf8("m"), using: anyLength) }
    }

    @Test(arguments: [
        (SignatureAlgorithm.rsaPKCS1(.sha384), ["-sha384"]),
        (.rsaPSS(.sha256), ["-sha256", "-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]),
    ])
    func opensslVerifiesRSA(algorithm: SignatureAlgorithm, options: [String]) throws {
        try expectOpenSSLVerifies(.rsa(bits: 2048), algorithm, options)
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521])
    func opensslVerifiesECDSA(kind: KeyKind) throws {
        try expectOpenSSLVerifies(kind, .ecdsa(.sha512), ["-sha512"])
    }

    private func expectOpenSSLVerifies(_ kind: KeyKind, _ algorithm: SignatureAlgorithm, _ options: [String]) throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(kind)
        try openssl.write(utf8(key.publicKey.pem), to: "key.pem")
        try openssl.write(utf8("a message"), to: "message")
        try openssl.write(key.sign(message: utf8("a message"), using: algorithm), to: "signature")
        let arguments = ["dgst", "-verify", "key.pem", "-signature", "signature"] + options + ["message"]
        #expect(try openssl.succeed(arguments).contains("Verified OK"))
    }
}
