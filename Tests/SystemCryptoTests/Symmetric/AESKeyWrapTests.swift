import SystemCrypto
import Testing
import TokenKit

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
