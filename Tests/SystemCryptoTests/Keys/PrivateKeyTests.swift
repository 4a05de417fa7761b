import SecureBytes
import SystemCrypto
import Testing

@Suite struct PrivateKeyTests {
    @Test(arguments: TestKeys.kinds)
    func pkcs8ComesBack(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        let read = try PrivateKey(encoded: key.pkcs8())
        #expect(read.publicKey == key.publicKey)
        #expect(read.kind == kind)
        let text = PEM.encode(try key.pkcs8(), label: "PRIVATE KEY")
        #expect(try PrivateKey(encoded: text).publicKey == key.publicKey)
    }

    @Test(arguments: TestKeys.kinds)
    func encryptedPKCS8OpensWithItsPasswordOnly(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        let encrypted = try key.encryptedPKCS8(password: secret("pässword"), iterations: 1000)
        #expect(try PrivateKey(encoded: secret(encrypted), password: secret("pässword")).publicKey == key.publicKey)
        let wrong = errorCode { () throws(CryptoError) in
            _ = try PrivateKey(encoded: secret(encrypted), password: secret("passwort"))
        }
        // A wrong password passes the padding check once in 256 times, and then fails to be a key.
        #expect(wrong == .wrongPassword || wrong == .malformed)
        let none = errorCode { () throws(CryptoError) in _ = try PrivateKey(encoded: secret(encrypted)) }
        #expect(none == .passwordRequired)
    }

    @Test func opensslReadsWhatIsExported() throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(.ecP384)
        let encrypted = try key.encryptedPKCS8(password: secret("hunter2"), iterations: 1000)
        try openssl.write(encrypted, to: "key.der")
        try openssl.succeed(
            "pkey", "-inform", "DER", "-in", "key.der", "-passin", "pass:hunter2", "-pubout", "-outform", "DER", "-out",
            "public.der")
        #expect(try openssl.read("public.der") == key.publicKey.spki)
        let structure = try openssl.succeed("asn1parse", "-inform", "DER", "-in", "key.der")
        for part in ["PBES2", "PBKDF2", "hmacWithSHA256", "aes-256-cbc"] { #expect(structure.contains(part)) }
    }

    /// PKCS#1 and SEC 1.
    @Test(arguments: ["PEM", "DER"], [KeyKind.rsa(bits: 2048), .ecP256])
    func traditionalFormatsAreRead(form: String, kind: KeyKind) throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(kind)
        try openssl.write(reveal(key.pkcs8()), to: "key.der")
        try openssl.succeed("pkey", "-in", "key.der", "-out", "out", "-outform", form, "-traditional")
        #expect(try PrivateKey(encoded: secret(openssl.read("out"))).publicKey == key.publicKey)
    }

    @Test(arguments: ["PBE-SHA1-3DES", "PBE-MD5-DES", "PBE-SHA1-RC2-40"])
    func oldEncryptionIsRead(scheme: String) throws {
        let openssl = try OpenSSLCommand()
        let key = try TestKeys.key(.ecP256)
        try openssl.write(reveal(key.pkcs8()), to: "key.der")
        try openssl.succeed(
            "pkcs8", "-topk8", "-inform", "DER", "-in", "key.der", "-out", "old.pem", "-v1", scheme, "-passout",
            "pass:old", "-provider", "legacy", "-provider", "default")
        let read = try PrivateKey(encoded: secret(openssl.read("old.pem")), password: secret("old"))
        #expect(read.publicKey == key.publicKey)
    }

    @Test func damagedKeysAreErrorsNotTraps() throws {
        let der = reveal(try TestKeys.key(.ecP256).pkcs8())
        for length in 0..<der.count {
            #expect(throws: CryptoError.self) { try PrivateKey(encoded: secret(Array(der.prefix(length)))) }
        }
        #expect(throws: CryptoError(.malformed, "")) { try PrivateKey(encoded: secret(der + [0])) }
        #expect(throws: CryptoError(.malformed, "")) { try PrivateKey(encoded: secret("no key")) }
        #expect(throws: CryptoError(.malformed, "")) {
            try PrivateKey(encoded: secret(PEM.encode(der, label: "CERTIFICATE")))
        }
        for index in der.indices { _ = try? PrivateKey(encoded: secret(flipping(der, at: index))) }
    }

    @Test func aPublicHalfOfAnotherKeyIsRefused() throws {
        let one = reveal(try TestKeys.key(.ecP256).pkcs8())
        let other = try PrivateKey.generate(.ecP256).publicKey.rawRepresentation
        let mixed = Array(one.dropLast(65)) + other
        #expect(throws: CryptoError(.invalidKey, "")) { try PrivateKey(encoded: secret(mixed)) }
    }

    /// Such a key may still sign: OpenSSL makes up for a wrong number by the others.
    @Test(arguments: 0..<8)
    func theNumbersOfAnRSAKeyBelongTogether(index: Int) throws {
        let key = try PrivateKey.generate(.rsa(bits: 1024))
        try key.checkParts()
        var outer = TLVReader(reveal(try key.externalRepresentation()))
        var fields = TLVReader(try #require(outer.all().first).value)
        var numbers = try fields.all().map { Array($0.value) }
        // The version comes first.
        numbers[1 + index][numbers[1 + index].count - 1] ^= 2
        let wrong = TLV(0x30, numbers.flatMap { TLV(0x02, $0).encoded() }).encoded()
        let code = errorCode { () throws(CryptoError) in try PrivateKey(encoded: secret(wrong)).checkParts() }
        #expect(code == .invalidKey || code == .malformed)
    }

    @Test(arguments: [KeyKind.ecP256, .ed25519, .x25519])
    func otherKeysWereCheckedWhenTheyWereRead(kind: KeyKind) throws {
        try TestKeys.key(kind).checkParts()
    }

    @Test(arguments: [KeyKind.rsa(bits: 1024), .rsa(bits: 3072)])
    func rsaKeysHaveTheBitsAskedFor(kind: KeyKind) throws {
        #expect(try PrivateKey.generate(kind).kind == kind)
    }

    @Test(arguments: [KeyKind.rsa(bits: 0), .rsa(bits: -1), .rsa(bits: 100), .rsa(bits: .max), .other("none such")])
    func whatCannotBeGenerated(kind: KeyKind) {
        #expect(throws: CryptoError(.unsupported, "")) { try PrivateKey.generate(kind) }
    }
}

@Suite struct PrivateKeyComponentTests {
    @Test func rsaKeysAreRebuiltFromTheirPrimes() throws {
        let key = try TestKeys.rsa()
        let primes = try key.rsaPrimes()
        let lengths = [primes.p.count, primes.q.count, primes.dP.count, primes.dQ.count, primes.qInv.count]
        #expect(lengths == [128, 128, 128, 128, 128])
        let read = try PrivateKey(primes)
        #expect(read.publicKey == key.publicKey)
        let signature = try read.sign(message: utf8("message"), using: .rsaPKCS1(.sha256))
        #expect(try key.publicKey.verify(signature, message: utf8("message"), using: .rsaPKCS1(.sha256)))
    }

    @Test func primesThatDoNotBelongTogetherAreRefused() throws {
        let key = try TestKeys.rsa()
        let primes = try key.rsaPrimes()
        let parts = [reveal(primes.p), reveal(primes.q), reveal(primes.dP), reveal(primes.dQ), reveal(primes.qInv)]
        for index in parts.indices {
            var parts = parts
            parts[index] = flipping(parts[index], at: parts[index].count - 1)
            let wrong = RSAPrimes(
                p: secret(parts[0]), q: secret(parts[1]), dP: secret(parts[2]), dQ: secret(parts[3]),
                qInv: secret(parts[4]))
            #expect(errorCode { () throws(CryptoError) in _ = try PrivateKey(wrong) } == .invalidKey)
        }
        let other = errorCode { () throws(CryptoError) in _ = try PrivateKey(primes, publicExponent: [3]) }
        #expect(other == .invalidKey)
    }

    @Test func keysOfThreePrimesWorkAndFitNoCard() throws {
        let openssl = try OpenSSLCommand()
        try openssl.succeed(
            "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_primes:3",
            "-out",
            "key.pem")
        let key = try PrivateKey(encoded: secret(openssl.read("key.pem")))
        let signature = try key.sign(message: utf8("m"), using: .rsaPSS(.sha256))
        #expect(try key.publicKey.verify(signature, message: utf8("m"), using: .rsaPSS(.sha256)))
        #expect(errorCode { () throws(CryptoError) in _ = try key.rsaPrimes() } == .unsupported)
    }

    @Test func emptyPrimesAreRefused() {
        let none = RSAPrimes(p: secret([]), q: secret([]), dP: secret([]), dQ: secret([]), qInv: secret([]))
        #expect(errorCode { () throws(CryptoError) in _ = try PrivateKey(none) } == .invalidKey)
        #expect(errorCode { () throws(CryptoError) in _ = try PrivateKey(none, publicExponent: []) } == .invalidKey)
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521])
    func ecKeysAreRebuiltFromTheirScalar(kind: KeyKind) throws {
        let key = try TestKeys.key(kind)
        let scalar = try key.scalar()
        #expect(try PrivateKey(ecScalar: scalar, curve: kind).publicKey == key.publicKey)
        #expect(reveal(scalar).count == kind.coordinateLength)
    }

    /// The base points: SEC 2 §2.4.2, FIPS 186-4 §D.1.2.3.
    @Test func theScalarOneGivesTheBasePoint() throws {
        let one = secret([UInt8](repeating: 0, count: 31) + [1])
        let point = try PrivateKey(ecScalar: one, curve: .ecP256).publicKey.rawRepresentation
        #expect(
            point
                == hex(
                    "04" + "6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"
                        + "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5"))
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521])
    func zerosBeforeAScalarSayNothing(kind: KeyKind) throws {
        let length = try #require(kind.coordinateLength)
        let padded = [UInt8](repeating: 0, count: length - 30) + [UInt8](repeating: 0x7B, count: 30)
        let key = try PrivateKey(ecScalar: secret(padded), curve: kind)
        for scalar in [Array(padded.suffix(30)), [0] + padded.suffix(30), [0, 0] + padded] {
            let same = try PrivateKey(ecScalar: secret(scalar), curve: kind)
            #expect(same.publicKey == key.publicKey)
            #expect(try reveal(same.scalar()) == padded)
        }
    }

    private typealias Refused = (scalar: [UInt8], code: CryptoError.Code)

    @Test func scalarsOutsideTheGroupAreRefused() {
        let order = hex("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551")
        for scalar in [order, [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32)] {
            let code = errorCode { () throws(CryptoError) in
                _ = try PrivateKey(ecScalar: secret(scalar), curve: .ecP256)
            }
            #expect(code == .invalidKey)
        }
        for (scalar, expected) in [([], .invalidKey), ([UInt8](repeating: 1, count: 33), .invalidLength)] as [Refused] {
            let code = errorCode { () throws(CryptoError) in
                _ = try PrivateKey(ecScalar: secret(scalar), curve: .ecP256)
            }
            #expect(code == expected)
        }
        let unknown = errorCode { () throws(CryptoError) in
            _ = try PrivateKey(ecScalar: secret([1]), curve: .rsa(bits: 2048))
        }
        #expect(unknown == .unsupported)
    }

    /// RFC 8032 §7.1, test 1; RFC 7748 §6.1, both sides.
    static let seeds: [(kind: KeyKind, seed: String, publicKey: String)] = [
        (
            .ed25519, "9D61B19DEFFD5A60BA844AF492EC2CC44449C5697B326919703BAC031CAE7F60",
            "D75A980182B10AB7D54BFED3C964073A0EE172F3DAA62325AF021A68F707511A"
        ),
        (
            .x25519, "77076D0A7318A57D3C16C17251B26645DF4C2F87EBC0992AB177FBA51DB92C2A",
            "8520F0098930A754748B7DDCB43EF75A0DBF3A0D26381AF4EBA4A98EAA9B4E6A"
        ),
        (
            .x25519, "5DAB087E624A8A4B79E17F8B83800EE66F3BB1292618B6FD1C2F8B27FF88E0EB",
            "DE9EDB7D7B7DC1B4D35B61C2ECE435373F8343C85B78674DADFC7E146F882B4F"
        ),
    ]

    @Test(arguments: seeds)
    func seedsGiveTheirPublicKeys(kind: KeyKind, seed: String, publicKey: String) throws {
        let key = try PrivateKey(seed: secret(hex(seed)), kind: kind)
        #expect(key.publicKey.rawRepresentation == hex(publicKey))
        #expect(try reveal(key.scalar()) == hex(seed))
    }

    @Test func seedsOfOtherKindsAndLengthsAreRefused() {
        let short = errorCode { () throws(CryptoError) in _ = try PrivateKey(seed: secret([1]), kind: .ed25519) }
        #expect(short == .invalidLength)
        let other = errorCode { () throws(CryptoError) in _ = try PrivateKey(seed: secret([1]), kind: .ecP256) }
        #expect(other == .unsupported)
    }

    @Test func componentsOfOtherKindsAreUnsupported() throws {
        let (ec, rsa) = (try TestKeys.key(.ecP256), try TestKeys.rsa())
        #expect(errorCode { () throws(CryptoError) in _ = try ec.rsaPrimes() } == .unsupported)
        #expect(errorCode { () throws(CryptoError) in _ = try rsa.scalar() } == .unsupported)
    }
}
