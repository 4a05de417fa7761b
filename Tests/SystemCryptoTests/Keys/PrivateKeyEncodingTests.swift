import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@Suite struct PrivateKeyEncodingTests {
    @Test(arguments: TestKeys.kinds) func pkcs8IsByteForByteWhatOpenSSLWrites(kind: KeyKind) throws {
        let (openssl, der) = (try OpenSSLCommand(), reveal(try TestKeys.key(kind).pkcs8()))
        try openssl.write(der, to: "ours.der")
        try openssl.succeed(
            "pkcs8", "-topk8", "-nocrypt", "-inform", "DER", "-in", "ours.der", "-outform", "DER", "-out", "theirs.der")
        #expect(try openssl.read("theirs.der") == der)
    }

    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP256, .ecP384, .ecP521])
    func theAlgorithmsOwnFormatIsByteForByteWhatOpenSSLWrites(kind: KeyKind) throws {
        let (openssl, key) = (try OpenSSLCommand(), try TestKeys.key(kind))
        try openssl.write(reveal(key.pkcs8()), to: "key.der")
        try openssl.succeed("pkey", "-in", "key.der", "-traditional", "-outform", "DER", "-out", "theirs.der")
        #expect(try openssl.read("theirs.der") == reveal(try key.algorithmEncoding()))
    }

    /// A key whose numbers begin with zeros, or with a bit that would be a sign.
    @Test func numbersOfAnySizeAreWrittenAsOpenSSLDoes() throws {
        let openssl = try OpenSSLCommand()
        for bits in stride(from: 512, through: 540, by: 1) {
            let der = reveal(try PrivateKey.generate(.rsa(bits: bits)).pkcs8())
            try openssl.write(der, to: "ours.der")
            try openssl.succeed(
                "pkcs8", "-topk8", "-nocrypt", "-inform", "DER", "-in", "ours.der", "-outform", "DER", "-out",
                "theirs.der")
            #expect(try openssl.read("theirs.der") == der, "RSA \(bits)")
        }
    }

    /// RFC 5958 §2: version 1, and the public key at the end.
    private func withPublicKey(_ key: PrivateKey, _ publicKey: [UInt8], attributes: [UInt8] = []) throws -> Secret {
        var outer = TLVReader(reveal(try key.pkcs8()))
        var fields = TLVReader(try #require(outer.all().first).value)
        let content =
            try [TLV(0x02, [1])] + fields.all().dropFirst() + (attributes.isEmpty ? [] : [TLV(0xA0, attributes)])
            + [TLV(0x81, [0] + publicKey)]
        return secret(TLV(0x30, content.flatMap { $0.encoded() }).encoded())
    }

    @Test(arguments: TestKeys.kinds) func aPublicKeyBehindTheKeyIsRead(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        for attributes in [[], [0x30, 0x00]] as [[UInt8]] {
            let file = try withPublicKey(key, key.publicKey.rawRepresentation, attributes: attributes)
            #expect(try PrivateKey(encoded: file).publicKey == key.publicKey)
        }
    }

    @Test(arguments: TestKeys.kinds) func aPublicKeyOfAnotherKeyIsRefused(kind: KeyKind) throws {
        let (key, other) = (try TestKeys.key(kind), try PrivateKey.generate(kind).publicKey.rawRepresentation)
        for wrong in [other, [], Array(key.publicKey.rawRepresentation.dropLast())] {
            let file = try withPublicKey(key, wrong)
            #expect(errorCode { () throws(CryptoError) in _ = try PrivateKey(encoded: file) } == .invalidKey)
        }
    }

    @Test func aCurveThatContradictsTheOneBesideItIsMalformed() throws {
        let openssl = try OpenSSLCommand()
        let sec1 = reveal(try TestKeys.key(.ecP256).algorithmEncoding())
        var outer = TLVReader(reveal(try TestKeys.key(.ecP384).pkcs8()))
        var fields = TLVReader(try #require(outer.all().first).value)
        let content = try fields.all().dropLast() + [TLV(0x04, sec1)]
        let file = TLV(0x30, content.flatMap { $0.encoded() }).encoded()
        try openssl.write(file, to: "mixed.der")
        #expect(errorCode { () throws(CryptoError) in _ = try PrivateKey(encoded: secret(file)) } == .malformed)
    }

    /// Negative numbers, an unknown version, something at the end.
    @Test func whatIsNotPKCS1IsMalformed() throws {
        var outer = TLVReader(reveal(try TestKeys.rsa().algorithmEncoding()))
        var fields = TLVReader(try #require(outer.all().first).value)
        let numbers = try fields.all().map { Array($0.value) }
        func code(_ numbers: [[UInt8]], after: [UInt8] = []) -> CryptoError.Code? {
            let file = TLV(0x30, numbers.flatMap { TLV(0x02, $0).encoded() } + after).encoded()
            return errorCode { () throws(CryptoError) in _ = try PrivateKey(encoded: secret(file)) }
        }
        #expect(code(numbers) == nil)
        #expect(code([[2]] + numbers.dropFirst()) == .malformed)
        #expect(code(numbers + [[1]]) == .malformed)
        #expect(code(numbers, after: [5, 0]) == .malformed)
        for index in 1..<numbers.count {
            var wrong = numbers
            wrong[index] = [0xFF] + wrong[index]
            #expect(code(wrong) == .malformed)
            wrong[index] = []
            #expect(code(wrong) == .malformed)
            #expect(code(Array(numbers.prefix(index))) == .malformed)
        }
    }

    /// OpenSSL's own encoders and decoders would leave copies in memory that they have freed.
    @Test(arguments: TestKeys.kinds) func writingAndReadingLeaveNoCopyInMemory(kind: KeyKind) throws {
        func secretPart(of key: PrivateKey) throws -> Secret {
            if case .rsa = kind { try key.rsaPrimes().p.clone() } else { try key.scalar() }
        }
        func use(_ key: PrivateKey) throws {
            let password = secret("password")
            _ = try PrivateKey(encoded: key.pkcs8())
            let encrypted = try key.encryptedPKCS8(password: password, iterations: 10)
            _ = try PrivateKey(encoded: secret(encrypted), password: password)
            _ = try key.externalRepresentation()
            if kind != .x25519 {
                let text = try key.openSSH()
                _ = try PrivateKey(encoded: text)
                let certificate = try CertificateBuilder(
                    commonName: "Test", publicKey: key.publicKey, notBefore: 1_577_836_800, notAfter: 2_208_988_800
                ).selfSigned(by: key)
                let file = try PKCS12.create([.init(key, certificate)], password: password, iterations: 10)
                #expect(try PKCS12.parse(file, password: password).keys.count == 1)
            }
            if kind.isEC || kind == .rsa(bits: 2048) { _ = try PrivateKey(encoded: key.algorithmEncoding()) }
        }
        func makeUsed() throws -> Secret {
            let key = try PrivateKey.generate(kind)
            try use(key)
            return try secretPart(of: key)
        }
        let left = try makeUsed()
        #expect(try ProcessMemory.occurrences(of: left) == 0)
    }
}
