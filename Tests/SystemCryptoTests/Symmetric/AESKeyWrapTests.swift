import SystemCrypto
import Testing

@Suite struct AESKeyWrapTests {
    /// RFC 3394 §4.1, §4.3, §4.6.
    static let vectors: [(wrappingKey: String, key: String, wrapped: String)] = [
        (
            "000102030405060708090A0B0C0D0E0F", "00112233445566778899AABBCCDDEEFF",
            "1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5"
        ),
        (
            "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F", "00112233445566778899AABBCCDDEEFF",
            "64E8C3F9CE0F5BA263E9777905818A2A93C8191E7D6E8AE7"
        ),
        (
            "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
            "00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F",
            "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21"
        ),
    ]

    @Test(arguments: vectors)
    func knownAnswers(wrappingKey: String, key: String, wrapped: String) throws {
        #expect(try AESKeyWrap.wrap(secret(hex(key)), under: secret(hex(wrappingKey))) == hex(wrapped))
        #expect(reveal(try AESKeyWrap.unwrap(hex(wrapped), under: secret(hex(wrappingKey)))) == hex(key))
    }

    /// RFC 5649 §6.
    @Test(arguments: [
        (
            "c37b7e6492584340bed12207808941155068f738",
            "138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a"
        ), ("466f7250617369", "afbeb0f07dfbf5419200f2ccb50bb24f"),
    ])
    func knownAnswersOfKeysOfAnyLength(key: String, wrapped: String) throws {
        let wrapping = hex("5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8")
        #expect(try AESKeyWrap.wrap(secret(hex(key)), under: secret(wrapping), padded: true) == hex(wrapped))
        #expect(reveal(try AESKeyWrap.unwrap(hex(wrapped), under: secret(wrapping), padded: true)) == hex(key))
        #expect(AESKeyWrap.wrappedLength(of: hex(key).count, padded: true) == hex(wrapped).count)
        let changed = errorCode { () throws(CryptoError) in
            _ = try AESKeyWrap.unwrap(flipping(hex(wrapped), at: 3), under: secret(wrapping), padded: true)
        }
        #expect(changed == .authenticationFailed)
    }

    @Test func anyChangedByteIsRefused() {
        let wrapped = hex(Self.vectors[0].wrapped)
        for index in wrapped.indices {
            let code = errorCode { () throws(CryptoError) in
                _ = try AESKeyWrap.unwrap(flipping(wrapped, at: index), under: secret(hex(Self.vectors[0].wrappingKey)))
            }
            #expect(code == .authenticationFailed)
        }
    }

    @Test(arguments: [(0, 16), (8, 16), (17, 16), (16, 15), (16, 0)])
    func otherLengthsDoNotFit(keyLength: Int, wrappingLength: Int) {
        let zeros = [UInt8](repeating: 0, count: 64)
        #expect(throws: CryptoError(.invalidLength, "")) {
            try AESKeyWrap.wrap(
                secret(Array(zeros.prefix(keyLength))), under: secret(Array(zeros.prefix(wrappingLength))))
        }
        let code = errorCode { () throws(CryptoError) in
            _ = try AESKeyWrap.unwrap(
                Array(zeros.prefix(keyLength)), under: secret(Array(zeros.prefix(wrappingLength))))
        }
        #expect(code == .invalidLength)
    }
}
