import SecureBytes
import Testing

@testable import VirtualCard

@Suite struct FASCNTests {
    /// The example of the guidance, and the number of all cards that are not federal.
    @Test(arguments: [
        (
            FASCN(agency: 32, system: 1, credential: 92_446, person: 1_112_223_333),
            "D0439458210C2C19A0846D83685A1082108CE739"
        ),
        (FASCN(), "D4E739DA739CED39CE739D836858210842108421"),
    ])
    func beginsAsPublished(number: FASCN, prefix: String) {
        #expect(number.encoded.count == 25)
        #expect(Hex.encode(number.encoded).hasPrefix(prefix))
    }

    @Test(arguments: [
        FASCN(), FASCN(agency: 32, system: 1, credential: 92_446, person: 1_112_223_333), FASCN(agency: 0),
    ])
    func everyCharacterHasOddParityAndTheLastIsTheSumOfTheOthers(number: FASCN) {
        let bits = number.encoded.flatMap { byte in (0..<8).map { Int(byte >> (7 - $0) & 1) } }
        let characters = stride(from: 0, to: 200, by: 5).map { Array(bits[$0..<$0 + 5]) }
        #expect(characters.count == 40)
        #expect(characters.allSatisfy { $0.reduce(0, +) % 2 == 1 })
        let values = characters.map { $0[0] | $0[1] << 1 | $0[2] << 2 | $0[3] << 3 }
        #expect(values.reduce(0, ^) == 0)
        #expect(values[0] == 0xB && values[38] == 0xF)
    }
}

@Suite struct GzipTests {
    @Test func oneBlockIsByteForByteThis() {
        let expected = "1F8B08000000000000FF" + "01" + "0900" + "F6FF" + "313233343536373839" + "2639F4CB" + "09000000"
        #expect(Hex.encode(Gzip.wrap(Array("123456789".utf8))) == expected)
    }

    @Test func longContentHasMoreBlocks() {
        let wrapped = Gzip.wrap(Array(repeating: 7, count: 70_000))
        #expect(wrapped.count == 10 + 5 + 65_535 + 5 + 4465 + 8)
        #expect(wrapped[10] == 0 && wrapped[10 + 5 + 65_535] == 1)
    }
}
