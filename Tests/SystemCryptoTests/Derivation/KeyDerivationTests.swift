import SecureBytes
import SystemCrypto
import Testing

@Suite struct ScryptTests {
    struct Vector {
        let password, salt: String
        let n: UInt64
        let r, p: UInt32
        let key: String
    }

    /// RFC 7914 §12.
    static let vectors = [
        Vector(
            password: "", salt: "", n: 16, r: 1, p: 1,
            key: "77D6576238657B203B19CA42C18A0497F16B4844E3074AE8DFDFFA3FEDE21442"
                + "FCD0069DED0948F8326A753A0FC81F17E8D3E0FB2E0D3628CF35E20C38D18906"),
        Vector(
            password: "password", salt: "NaCl", n: 1024, r: 8, p: 16,
            key: "FDBABE1C9D3472007856E7190D01E9FE7C6AD7CBC8237830E77376634B373162"
                + "2EAF30D92E22A3886FF109279D9830DAC727AFB94A83EE6D8360CBDFA2CC0640"),
    ]

    @Test(arguments: vectors)
    func knownAnswers(_ vector: Vector) throws {
        let key = try Scrypt.deriveKey(
            password: secret(vector.password), salt: utf8(vector.salt), n: vector.n, r: vector.r, p: vector.p, count: 64
        )
        #expect(reveal(key) == hex(vector.key))
    }

    /// OpenSSL alone stops at 32 MiB.
    @Test func takesTheMemoryThatRFC7914Recommends() throws {
        let key = try Scrypt.deriveKey(password: secret("a"), salt: utf8("b"), n: 65536, r: 8, p: 1, count: 32)
        #expect(key.count == 32)
    }

    @Test(arguments: [
        (0, 8, 1, 32), (1, 8, 1, 32), (3, 8, 1, 32), (1024, 0, 1, 32), (1024, 8, 0, 32), (1 << 40, 8, 1, 32),
        (1 << 62, .max, .max, 32), (2, .max, 1, 32), (1024, 8, 1, 0), (1024, 8, 1, -1), (1024, 8, 1, .max),
    ])
    func hostileCostsAreErrors(n: UInt64, r: UInt32, p: UInt32, count: Int) {
        let code = errorCode { () throws(CryptoError) in
            _ = try Scrypt.deriveKey(password: secret("a"), salt: [], n: n, r: r, p: p, count: count)
        }
        #expect(code == .invalidLength)
    }
}

@Suite struct HKDFTests {
    /// RFC 5869 §A.1 to §A.3.
    static let vectors: [(secret: String, salt: String, info: String, key: String)] = [
        (
            "0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B", "000102030405060708090A0B0C", "F0F1F2F3F4F5F6F7F8F9",
            "3CB25F25FAACD57A90434F64D0362F2A2D2D0A90CF1A5A4C5DB02D56ECC4C5BF34007208D5B887185865"
        ),
        (
            "0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B", "", "",
            "8DA4E775A563C18F715F802A063C5A31B8A11F5C5EE1879EC3454E5F3C738D2D9D201395FAA4B61A96C8"
        ),
    ]

    @Test(arguments: vectors)
    func knownAnswers(input: String, salt: String, info: String, key: String) throws {
        let derived = try HKDF.deriveKey(from: secret(hex(input)), salt: hex(salt), info: hex(info), count: 42)
        #expect(reveal(derived) == hex(key))
    }

    @Test func otherPurposesGiveOtherKeys() throws {
        let one = try HKDF.deriveKey(from: secret("key"), info: utf8("one"), count: 32)
        let two = try HKDF.deriveKey(from: secret("key"), info: utf8("two"), count: 32)
        #expect(reveal(one) != reveal(two))
    }

    @Test(arguments: [0, -1, 255 * 32 + 1, .max])
    func moreThanThereIsIsAnError(count: Int) {
        let code = errorCode { () throws(CryptoError) in
            _ = try HKDF.deriveKey(from: secret("key"), info: [], count: count)
        }
        #expect(code == .invalidLength)
    }
}
