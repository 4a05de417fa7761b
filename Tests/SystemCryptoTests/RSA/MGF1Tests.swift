import Testing

@testable import SystemCrypto

@Suite struct MGF1Tests {
    private func mask(_ seed: String, _ count: Int, _ algorithm: DigestAlgorithm) throws -> [UInt8] {
        let seed = utf8(seed)
        return reveal(try MGF1.mask(seed: seed.span, count: count, using: algorithm))
    }

    /// The definition of RFC 8017 §B.2.1, with the hash function taken from elsewhere.
    @Test(arguments: DigestAlgorithm.allCases)
    func masksAreHashesOfTheSeedAndACounter(algorithm: DigestAlgorithm) throws {
        let blocks = try (0..<3).map { counter in
            try Digest.hash(utf8("seed") + [0, 0, 0, UInt8(counter)], using: algorithm)
        }
        let whole = Array(blocks.joined())
        for count in [0, 1, algorithm.byteCount, algorithm.byteCount + 1, 3 * algorithm.byteCount] {
            #expect(try mask("seed", count, algorithm) == Array(whole.prefix(count)))
        }
    }

    @Test(arguments: [("foo", 3, "1AC907"), ("foo", 5, "1AC9075CD4"), ("bar", 5, "BC0C655E01")])
    func knownAnswers(seed: String, count: Int, expected: String) throws {
        #expect(try mask(seed, count, .sha1) == hex(expected))
    }

    @Test func theCounterGoesBeyondOneByte() throws {
        let long = try mask("seed", 300 * 32, .sha256)
        let block = try Digest.hash(utf8("seed") + [0, 0, 1, 0], using: .sha256)
        #expect(Array(long[(256 * 32)..<(257 * 32)]) == block)
    }
}
