import Testing

@testable import SystemCrypto

@Suite struct ConstantTimeTests {
    static let values: [UInt] = [0, 1, 2, 9, 10, 11, 127, 128, 255, 256, 2048, 1 << 32, (1 << 63) - 1]

    @Test(arguments: values)
    func masksSayWhatComparisonsSay(left: UInt) {
        for right in Self.values {
            #expect(ConstantTime.isEqual(left, right) == (left == right ? .max : 0))
            #expect(ConstantTime.isLess(left, right) == (left < right ? .max : 0))
        }
        #expect(ConstantTime.isZero(left) == (left == 0 ? .max : 0))
    }

    @Test func zeroIsToldFromTheLargestNumbers() {
        for value in [UInt.max, 1 << 63, UInt.max - 1] { #expect(ConstantTime.isZero(value) == 0) }
    }

    @Test func selectTakesOneOrTheOther() {
        #expect(ConstantTime.select(.max, 7, 9) as UInt == 7)
        #expect(ConstantTime.select(0, 7, 9) as UInt == 9)
        #expect(ConstantTime.select(.max, 0xAB, 0xCD) as UInt8 == 0xAB)
        #expect(ConstantTime.select(0, 0xAB, 0xCD) as UInt8 == 0xCD)
    }

    @Test func bytesAreEqualOnlyToThemselves() {
        let bytes: [UInt8] = [1, 2, 3, 4]
        #expect(ConstantTime.isEqual(bytes, [1, 2, 3, 4]))
        #expect(ConstantTime.isEqual([], []))
        for index in bytes.indices { #expect(!ConstantTime.isEqual(bytes, flipping(bytes, at: index))) }
        #expect(!ConstantTime.isEqual(bytes, [1, 2, 3]))
        #expect(!ConstantTime.isEqual(bytes, []))
    }
}
