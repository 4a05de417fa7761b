import SecureBytes
import SystemCrypto
import Testing

/// The same input for this library and for the `openssl` command.
@Suite struct CommandComparisonTests {
    private let data = (0..<240).map { UInt8(truncatingIfNeeded: $0 &* 37) }

    @Test(arguments: [
        (BlockCipher.tripleDES, "-des-ede3"), (.aes128, "-aes-128-ecb"), (.aes192, "-aes-192-ecb"),
        (.aes256, "-aes-256-ecb"),
    ])
    func blockCiphers(cipher: BlockCipher, option: String) throws {
        let openssl = try OpenSSLCommand()
        let key = try RandomBytes.make(count: cipher.keyLength)
        try openssl.write(data, to: "in")
        try openssl.succeed("enc", option, "-K", Hex.encode(key), "-nopad", "-in", "in", "-out", "out")
        #expect(try cipher.encrypt(data, key: secret(key)) == openssl.read("out"))
    }

    @Test(arguments: [DigestAlgorithm.sha1, .sha224, .sha256, .sha384, .sha512])
    func messageDigestsAndHMAC(algorithm: DigestAlgorithm) throws {
        let openssl = try OpenSSLCommand()
        let message = try RandomBytes.make(count: 100_000)
        try openssl.write(message, to: "in")
        try openssl.succeed("dgst", "-\(algorithm.rawValue)", "-binary", "-out", "digest", "in")
        #expect(try Digest.hash(message, using: algorithm) == openssl.read("digest"))
        try openssl.succeed(
            "mac", "-digest", algorithm.rawValue, "-macopt", "hexkey:0102030405", "-binary", "-in", "in", "-out",
            "code",
            "HMAC")
        let code = try HMAC.code(for: message, key: secret([1, 2, 3, 4, 5]), using: algorithm)
        #expect(try code == openssl.read("code"))
    }

    @Test func passwordsBecomeTheSameKeys() throws {
        let openssl = try OpenSSLCommand()
        try openssl.succeed(
            "kdf", "-keylen", "40", "-kdfopt", "pass:pässword", "-kdfopt", "hexsalt:00FF10", "-kdfopt", "n:4096",
            "-kdfopt", "r:4", "-kdfopt", "p:2", "-binary", "-out", "key", "SCRYPT")
        let key = try Scrypt.deriveKey(
            password: secret("pässword"), salt: hex("00FF10"), n: 4096, r: 4, p: 2, count: 40)
        #expect(try reveal(key) == openssl.read("key"))
    }

    @Test(arguments: [DigestAlgorithm.sha256, .sha384])
    func keysBecomeTheSameKeys(algorithm: DigestAlgorithm) throws {
        let openssl = try OpenSSLCommand()
        try openssl.succeed(
            "kdf", "-keylen", "50", "-kdfopt", "digest:\(algorithm.rawValue)", "-kdfopt", "hexkey:0102030405",
            "-kdfopt",
            "salt:salt", "-kdfopt", "info:info", "-binary", "-out", "key", "HKDF")
        let key = try HKDF.deriveKey(
            from: secret([1, 2, 3, 4, 5]), salt: utf8("salt"), info: utf8("info"), count: 50, using: algorithm)
        #expect(try reveal(key) == openssl.read("key"))
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521, .x25519])
    func keysAgreeWithTheCommands(kind: KeyKind) throws {
        let openssl = try OpenSSLCommand()
        let (ours, theirs) = (try TestKeys.key(kind), try PrivateKey.generate(kind))
        try openssl.write(reveal(PEM.encode(try theirs.pkcs8(), label: "PRIVATE KEY")), to: "key.pem")
        try openssl.write(utf8(ours.publicKey.pem), to: "peer.pem")
        try openssl.succeed("pkeyutl", "-derive", "-inkey", "key.pem", "-peerkey", "peer.pem", "-out", "secret")
        #expect(try reveal(ours.sharedSecret(with: theirs.publicKey)) == openssl.read("secret"))
    }
}
