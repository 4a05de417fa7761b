import SystemCrypto
import Testing

@Suite struct AESStreamTests {
    private static let plaintext = """
        6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51 30c81c46a35ce411e5fbc1191a0a52ef \
        f69f2445df4f9b17ad2b417be66c3710
        """

    /// SP 800-38A §F.2 and §F.5.
    private static let vectors: [(mode: AESStream.Mode, key: String, vector: String, ciphertext: String)] = [
        (
            .cbc, "2b7e151628aed2a6abf7158809cf4f3c", "000102030405060708090a0b0c0d0e0f",
            """
            7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2 73bed6b8e3c1743b7116e69e22229516 \
            3ff1caa1681fac09120eca307586e1a7
            """
        ),
        (
            .cbc, "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "000102030405060708090a0b0c0d0e0f",
            """
            f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d 39f23369a9d9bacfa530e26304231461 \
            b2eb05e2c39be9fcda6c19078c6a9d1b
            """
        ),
        (
            .ctr, "2b7e151628aed2a6abf7158809cf4f3c", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            """
            874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff 5ae4df3edbd5d35e5b4f09020db03eab \
            1e031dda2fbe03d1792170a0f3009cee
            """
        ),
        (
            .ctr, "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            """
            1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94 1e36b26bd1ebc670d1bd1d665620abf7 \
            4f78a7f6d29809585a97daec58c6b050
            """
        ),
    ]

    /// Processes the input in parts of a length, and checks the lengths that were predicted.
    private func process(
        _ input: [UInt8], _ mode: AESStream.Mode, encrypts: Bool, key: [UInt8], vector: [UInt8], part: Int,
        authenticating associated: [UInt8] = [], tagLength: Int = 16
    ) throws -> [UInt8] {
        var stream = try AESStream(
            mode, encrypts: encrypts, key: secret(key), initializationVector: vector, authenticating: associated,
            tagLength: tagLength)
        var output: [UInt8] = []
        for start in stride(from: 0, to: input.count, by: part) {
            let piece = Array(input[start..<min(start + part, input.count)])
            let length = stream.outputLength(ofPart: piece.count)
            let written = try reveal(stream.update(piece.span))
            #expect(written.count == length)
            output += written
        }
        let most = stream.outputLength()
        let last = try reveal(stream.finish())
        if mode == .paddedCBC, !encrypts {
            #expect(last.count < most)
        } else {
            #expect(last.count == most)
        }
        return output + last
    }

    @Test(arguments: [1, 7, 16, 17, 64])
    func knownAnswersInParts(part: Int) throws {
        for row in Self.vectors {
            let (key, vector) = (hex(row.key), hex(row.vector))
            #expect(
                try process(hex(Self.plaintext), row.mode, encrypts: true, key: key, vector: vector, part: part)
                    == hex(row.ciphertext))
            #expect(
                try process(hex(row.ciphertext), row.mode, encrypts: false, key: key, vector: vector, part: part)
                    == hex(Self.plaintext))
        }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 32, 47])
    func paddingIsOneByteToABlock(count: Int) throws {
        let (key, vector) = ([UInt8](repeating: 1, count: 24), [UInt8](repeating: 2, count: 16))
        let message = [UInt8](repeating: 7, count: count)
        for part in [1, 16, 64] {
            let sealed = try process(message, .paddedCBC, encrypts: true, key: key, vector: vector, part: part)
            #expect(sealed.count == count / 16 * 16 + 16)
            let opened = try process(sealed, .paddedCBC, encrypts: false, key: key, vector: vector, part: part)
            #expect(opened == message)
        }
    }

    @Test func gcmInPartsIsThatOfTheWhole() throws {
        let (key, nonce) = ([UInt8](repeating: 3, count: 32), [UInt8](repeating: 4, count: 12))
        let (message, associated) = ([UInt8](repeating: 5, count: 100), utf8("associated"))
        let whole = try AESGCM.seal(message.span, key: secret(key), nonce: nonce, authenticating: associated)
        for length in AESGCM.tagLengths {
            let sealed = try process(
                message, .gcm, encrypts: true, key: key, vector: nonce, part: 7, authenticating: associated,
                tagLength: length)
            #expect(sealed == Array(whole.prefix(100 + length)))
            let opened = try AESGCM.open(
                sealed, key: secret(key), nonce: nonce, authenticating: associated, tagLength: length)
            #expect(reveal(opened) == message)
        }
        let opening = errorCode { () throws(CryptoError) in
            _ = try AESStream(.gcm, encrypts: false, key: secret(key), initializationVector: nonce)
        }
        #expect(opening == .unsupported)
    }

    @Test func whatIsNotWholeBlocksIsRefusedAtTheEnd() throws {
        let (key, vector) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16))
        for (mode, encrypts) in [(AESStream.Mode.cbc, true), (.cbc, false), (.paddedCBC, false)] {
            var stream = try AESStream(mode, encrypts: encrypts, key: secret(key), initializationVector: vector)
            _ = try stream.update([UInt8](repeating: 0, count: 17).span)
            let length = errorCode { () throws(CryptoError) in _ = try stream.finish() }
            #expect(length == .invalidLength)
        }
        var stream = try AESStream(.paddedCBC, encrypts: false, key: secret(key), initializationVector: vector)
        _ = try stream.update([UInt8](repeating: 0, count: 16).span)
        let padding = errorCode { () throws(CryptoError) in _ = try stream.finish() }
        #expect(padding == .decryptionFailed)
    }

    @Test func vectorsAndKeysHaveTheirLengths() {
        let key = [UInt8](repeating: 1, count: 16)
        for (keyLength, vectorLength) in [(15, 16), (16, 15), (16, 0), (33, 16)] {
            let key = Array((key + key + key).prefix(keyLength))
            let code = errorCode { () throws(CryptoError) in
                _ = try AESStream(
                    .cbc, encrypts: true, key: secret(key),
                    initializationVector: [UInt8](repeating: 0, count: vectorLength))
            }
            #expect(code == .invalidLength)
        }
    }
}
