import SystemCrypto
import Testing

@Suite struct BlockCipherTests {
    /// FIPS 197 appendix C; SP 800-67 appendix B.1.
    static let vectors: [(cipher: BlockCipher, key: String, plaintext: String, ciphertext: String)] = [
        (
            .aes128, "000102030405060708090A0B0C0D0E0F", "00112233445566778899AABBCCDDEEFF",
            "69C4E0D86A7B0430D8CDB78070B4C55A"
        ),
        (
            .aes192, "000102030405060708090A0B0C0D0E0F1011121314151617", "00112233445566778899AABBCCDDEEFF",
            "DDA97CA4864CDFE06EAF70A0EC0D7191"
        ),
        (
            .aes256, "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
            "00112233445566778899AABBCCDDEEFF", "8EA2B7CA516745BFEAFC49904B496089"
        ),
        (
            .tripleDES, "0123456789ABCDEF23456789ABCDEF01456789ABCDEF0123",
            "5468652071756663" + "6B2062726F776E20" + "666F78206A756D70",
            "A826FD8CE53B855F" + "CCE21C8112256FE6" + "68D5C05DD9B6B900"
        ),
    ]

    @Test(arguments: vectors)
    func knownAnswers(cipher: BlockCipher, key: String, plaintext: String, ciphertext: String) throws {
        #expect(try cipher.encrypt(hex(plaintext), key: secret(hex(key))) == hex(ciphertext))
        #expect(try cipher.decrypt(hex(ciphertext), key: secret(hex(key))) == hex(plaintext))
    }

    @Test(arguments: BlockCipher.allCases)
    func equalBlocksGiveEqualBlocks(cipher: BlockCipher) throws {
        let key = try RandomBytes.make(count: cipher.keyLength)
        let block = [UInt8](repeating: 0x5A, count: cipher.blockLength)
        let encrypted = try cipher.encrypt(block + block, key: secret(key))
        #expect(encrypted.prefix(cipher.blockLength) == encrypted.suffix(cipher.blockLength))
        #expect(try cipher.decrypt(encrypted, key: secret(key)) == block + block)
        #expect(try cipher.encrypt([], key: secret(key)) == [])
    }

    @Test(arguments: BlockCipher.allCases)
    func partsOfBlocksAndOtherKeysDoNotFit(cipher: BlockCipher) {
        let key = [UInt8](repeating: 1, count: cipher.keyLength)
        for length in [1, cipher.blockLength - 1, cipher.blockLength + 1] {
            #expect(throws: CryptoError(.invalidLength, "")) {
                try cipher.encrypt([UInt8](repeating: 0, count: length), key: secret(key))
            }
            #expect(throws: CryptoError(.invalidLength, "")) {
                try cipher.decrypt([UInt8](repeating: 0, count: length), key: secret(key))
            }
        }
        for key in [[], Array(key.dropLast()), key + [1]] {
            #expect(throws: CryptoError(.invalidLength, "")) {
                try cipher.encrypt([UInt8](repeating: 0, count: cipher.blockLength), key: secret(key))
            }
        }
    }
}
