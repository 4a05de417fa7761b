import Testing

@testable import SystemCrypto

/// PKCS #1 v1.5 decryption that never reveals whether the padding was right.
@Suite struct ImplicitRejectionTests {
    private let ciphertext = [UInt8](repeating: 0xC5, count: 256)
    private let rejectionKey = [UInt8](repeating: 0x4B, count: 32)

    private func remove(_ block: [UInt8], ciphertext: [UInt8]? = nil, key: [UInt8]? = nil) throws -> [UInt8] {
        reveal(
            try RSAPadding.removePKCS1Decryption(
                secret(block), ciphertext: ciphertext ?? self.ciphertext, rejectionKey: secret(key ?? rejectionKey)))
    }

    private func padded(_ message: [UInt8], header: [UInt8] = [0, 2], count: Int = 256) -> [UInt8] {
        header + [UInt8](repeating: 0xAA, count: count - message.count - header.count - 1) + [0] + message
    }

    @Test(arguments: [0, 1, 48, 244, 245])
    func rightPaddingGivesTheMessage(length: Int) throws {
        let message = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        #expect(try remove(padded(message)) == message)
    }

    static let wrongBlocks: [(name: Comment, block: [UInt8])] = [
        ("all zero", [UInt8](repeating: 0, count: 256)), ("all ones", [UInt8](repeating: 0xFF, count: 256)),
        ("first byte", [1, 2] + [UInt8](repeating: 0xAA, count: 200) + [UInt8](repeating: 0, count: 54)),
        ("block type 1", [0, 1] + [UInt8](repeating: 0xFF, count: 200) + [UInt8](repeating: 0, count: 54)),
        ("no separator", [0, 2] + [UInt8](repeating: 0xAA, count: 254)),
        (
            "seven bytes of padding",
            [0, 2] + [UInt8](repeating: 0xAA, count: 7) + [0] + [UInt8](repeating: 1, count: 246)
        ),
        ("no padding", [0, 2, 0] + [UInt8](repeating: 1, count: 253)),
    ]

    @Test func wrongPaddingGivesTheSameMeaninglessMessageEachTime() throws {
        let substitute = try remove(Self.wrongBlocks[0].block)
        for (name, block) in Self.wrongBlocks {
            #expect(try remove(block) == substitute, name)
            #expect(substitute.count <= 245)
        }
    }

    @Test func substitutesDependOnCiphertextAndKey() throws {
        let block = Self.wrongBlocks[0].block
        let substitute = try remove(block)
        #expect(try remove(block, ciphertext: flipping(ciphertext, at: 200)) != substitute)
        #expect(try remove(block, key: flipping(rejectionKey, at: 0)) != substitute)
    }

    @Test func substitutesHaveManyLengths() throws {
        var lengths: Set<Int> = []
        for index in 0..<64 {
            let length = try remove(Self.wrongBlocks[0].block, ciphertext: flipping(ciphertext, at: index)).count
            #expect(0...245 ~= length)
            lengths.insert(length)
        }
        #expect(lengths.count > 32)
    }

    @Test(arguments: [11, 12, 20, 64, 128, 512, 2048])
    func keysOfAllSizesWork(count: Int) throws {
        let ciphertext = [UInt8](repeating: 1, count: count)
        let message = [UInt8](repeating: 3, count: count - 11)
        let block = padded(message, count: count)
        #expect(try remove(block, ciphertext: ciphertext) == message)
        #expect(try remove(flipping(block, at: 0), ciphertext: ciphertext).count <= count - 11)
    }

    @Test func onlyLengthsEverybodySeesAreErrors() {
        for (count, ciphertextCount) in [(0, 0), (10, 10), (256, 255), (255, 256), (4096, 4096)] {
            #expect(throws: CryptoError(.invalidLength, "")) {
                try remove(
                    [UInt8](repeating: 0, count: count), ciphertext: [UInt8](repeating: 0, count: ciphertextCount))
            }
        }
    }

    /// For a card, the rejection key is the process's own, stable and secret.
    @Test func aCardsSubstituteIsStable() throws {
        func remove() throws -> [UInt8] {
            reveal(try RSAPadding.removePKCS1Decryption(secret(Self.wrongBlocks[1].block), ciphertext: ciphertext))
        }
        #expect(try remove() == remove())
        let message = try RSAPadding.removePKCS1Decryption(secret(padded(utf8("hello"))), ciphertext: ciphertext)
        #expect(reveal(message) == utf8("hello"))
    }

    @Test func tamperedCiphertextsOfALocalKeyDecryptToNonsense() throws {
        let key = try TestKeys.rsa()
        let ciphertext = try key.publicKey.encrypt(utf8("secret"), using: .pkcs1)
        #expect(try reveal(key.decrypt(ciphertext, using: .pkcs1)) == utf8("secret"))
        for index in [1, 100, 255] {
            let tampered = flipping(ciphertext, at: index)
            let nonsense = try reveal(key.decrypt(tampered, using: .pkcs1))
            #expect(nonsense != utf8("secret"))
            #expect(try reveal(key.decrypt(tampered, using: .pkcs1)) == nonsense)
        }
    }

    /// The first 32 bytes as HMAC-SHA-256 gives them over counter 0, the label and 256 bits.
    @Test func thePseudoRandomFunctionIsHMACInCounterMode() throws {
        let input = hex("0000") + utf8("message") + hex("0200")
        let first = try HMAC.code(for: input, key: secret(rejectionKey))
        let second = try HMAC.code(for: hex("0001") + input.dropFirst(2), key: secret(rejectionKey))
        let bytes = try RSAPadding.pseudoRandom(secret(rejectionKey), label: "message", count: 64)
        #expect(reveal(bytes) == first + second)
    }
}
