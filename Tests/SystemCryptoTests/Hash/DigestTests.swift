import SecureBytes
import SystemCrypto
import Testing

/// Digests of "abc", FIPS 180-4 (the examples NIST publishes with it).
@Suite struct DigestTests {
    static let abc: [(DigestAlgorithm, String)] = [
        (.sha1, "A9993E364706816ABA3E25717850C26C9CD0D89D"),
        (.sha224, "23097D223405D8228642A477BDA255B32AADBCE4BDA0B3F7E36C9DA7"),
        (.sha256, "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
        (
            .sha384,
            "CB00753F45A35E8BB5A03D699AC65007272C32AB0EDED1631A8B605A43FF5BED8086072BA1E7CC2358BAECA134C825A7"
        ),
        (
            .sha512,
            "DDAF35A193617ABACC417349AE20413112E6FA4E89A97EA20A9EEEE64B55D39A"
                + "2192992A274FC1A836BA3C23A3FEEBBD454D4423643CE80E2A9AC94FA54CA49F"
        ),
    ]

    @Test(arguments: abc)
    func knownAnswers(algorithm: DigestAlgorithm, digest: String) throws {
        #expect(Hex.encode(try Digest.hash(Array("abc".utf8), using: algorithm)) == digest)
        #expect(digest.utf8.count == 2 * algorithm.byteCount)
    }

    @Test func nothingHasADigestToo() throws {
        let digest = try Digest.hash([], using: .sha256)
        #expect(Hex.encode(digest) == "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855")
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func piecesGiveTheDigestOfTheWhole(algorithm: DigestAlgorithm) throws {
        let message = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        var context = try DigestContext(algorithm)
        for start in stride(from: 0, to: message.count, by: 37) {
            try context.update(Array(message[start..<min(start + 37, message.count)]))
            try context.update([])
        }
        #expect(try context.finalize() == Digest.hash(message, using: algorithm))
    }

    @Test func manyThreadsHashAtOnce() async throws {
        let message = [UInt8](repeating: 0x61, count: 10_000)
        let expected = try Digest.hash(message, using: .sha256)
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<64 { group.addTask { try Digest.hash(message, using: .sha256) } }
            for try await digest in group { #expect(digest == expected) }
        }
    }
}

@Suite struct DigestStreamTests {
    /// FIPS 180-4's own long example: a million times the letter a.
    @Test func aMillionLetters() throws {
        let letters = [UInt8](repeating: 0x61, count: 1000)
        var context = try DigestContext(.sha256)
        for _ in 0..<1000 { try context.update(letters.span) }
        let digest = try context.finalize()
        #expect(Hex.encode(digest) == "CDC76E5C9914FB9281A1C7E284D73E67F1809A48A497200E046D39CCC7112CD0")
    }

    @Test func twoContextsDoNotMix() throws {
        var one = try DigestContext(.sha1)
        var two = try DigestContext(.sha1)
        try one.update(Array("a".utf8))
        try two.update(Array("abc".utf8))
        try one.update(Array("bc".utf8))
        let (first, second) = (try one.finalize(), try two.finalize())
        #expect(first == second)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func contextsKnowTheirAlgorithm(algorithm: DigestAlgorithm) throws {
        let context = try DigestContext(algorithm)
        let known = context.algorithm
        #expect(known == algorithm)
        #expect(try context.finalize().count == algorithm.byteCount)
    }
}
