import SystemCrypto
import Testing

@Suite struct RandomBytesTests {
    @Test(arguments: [0, 1, 16, 1000])
    func givesAsManyAsAsked(count: Int) throws {
        #expect(try RandomBytes.make(count: count).count == count)
        #expect(reveal(try RandomBytes.makeSecret(count: count)).count == count)
    }

    @Test func noTwoAreAlike() throws {
        let values = try (0..<100).map { _ in try RandomBytes.make(count: 16) }
        #expect(Set(values).count == 100)
        #expect(try reveal(RandomBytes.makeSecret(count: 16)) != reveal(RandomBytes.makeSecret(count: 16)))
    }

    @Test func fillOverwritesInPlace() throws {
        var bytes = [UInt8](repeating: 0, count: 64)
        try RandomBytes.fill(&bytes)
        #expect(bytes.count == 64 && bytes != [UInt8](repeating: 0, count: 64))
    }

    @Test(arguments: [-1, Int.min, Int.max, RandomBytes.maximumCount + 1])
    func nonsenseIsAnErrorNotATrap(count: Int) {
        #expect(throws: CryptoError(.invalidLength, "")) { try RandomBytes.make(count: count) }
        #expect(errorCode { () throws(CryptoError) in _ = try RandomBytes.makeSecret(count: count) } == .invalidLength)
    }
}
