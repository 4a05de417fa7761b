import SystemCrypto
import Testing

/// PEM that is encrypted as a whole, RFC 1421, as OpenSSL wrote it before PKCS#8 and `ssh-keygen -m PEM` still does.
@Suite struct EncryptedPEMTests {
    private let openssl: OpenSSLCommand

    init() throws {
        openssl = try OpenSSLCommand()
        try openssl.succeed("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024", "-out", "key.pem")
    }

    private func encrypted(_ cipher: String, password: String = "right") throws -> [UInt8] {
        try openssl.succeed(
            "rsa", "-in", "key.pem", "-traditional", cipher, "-passout", "pass:\(password)", "-out", "encrypted.pem")
        return try openssl.read("encrypted.pem")
    }

    @Test(arguments: ["-aes128", "-aes256", "-des3", "-camellia256"])
    func keysAreReadWithTheirPassword(cipher: String) throws {
        let file = try encrypted(cipher)
        let key = try PrivateKey(encoded: secret(openssl.read("key.pem")))
        #expect(throws: CryptoError(.passwordRequired, "")) { try PrivateKey(encoded: secret(file)) }
        #expect(try PrivateKey(encoded: secret(file), password: secret("right")).publicKey == key.publicKey)
    }

    @Test func noOtherPasswordOpensThem() throws {
        let file = try encrypted("-aes128")
        let long = String(repeating: "1", count: 2000)
        // More than 256, so that the padding looks right for some.
        let others = (0..<600).map { "wrong \($0)" } + ["", "Right", "right\0", "right\0more", long]
        for other in others {
            #expect(throws: CryptoError(.wrongPassword, ""), "\(other)") {
                try PrivateKey(encoded: secret(file), password: secret(Array(other.utf8)))
            }
        }
    }

    /// The error comes before a person is asked for a password.
    @Test(arguments: [
        ("DEK-Info: AES-128-CBC,ZZ", CryptoError.Code.malformed), ("DEK-Info: AES-128-CBC,00", .malformed),
        ("DEK-Info: AES-128-CBC", .unsupported), ("DEK-Info: ", .unsupported), ("Garbage: yes", .malformed),
        ("DEK-Info: FROB,0011223344556677", .unsupported),
    ])
    func aHeaderThatSaysNothingUsableIsAnError(header: String, code: CryptoError.Code) throws {
        let lines = String(decoding: try encrypted("-aes128"), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        let file = utf8(lines.map { $0.hasPrefix("DEK-Info") ? header : String($0) }.joined(separator: "\n"))
        #expect(throws: CryptoError(code, "")) { try PrivateKey(encoded: secret(file)) }
        #expect(throws: CryptoError(code, "")) { try PrivateKey(encoded: secret(file), password: secret("right")) }
    }

    @Test func theReaderTellsWhatIsEncrypted() throws {
        let text = try encrypted("-aes128") + openssl.read("key.pem")
        let reader = try PEMReader(text.span)
        let first = try #require(try description(of: reader.next()))
        #expect(first == "RSA PRIVATE KEY true true")
        let second = try #require(try description(of: reader.next()))
        #expect(second == "PRIVATE KEY true false")
        #expect(try description(of: reader.next()) == nil)
    }

    private func description(of block: consuming PEMBlock?) -> String? {
        guard let block else { return nil }
        return "\(block.label) \(block.isPrivateKey) \(block.isEncrypted)"
    }
}
