import Testing

@testable import SystemCrypto

@Suite struct BigNumberTests {
    private func number(_ text: String) throws(CryptoError) -> BigNumber {
        let bytes = hex(text)
        return try BigNumber(bytes.span)
    }

    @Test(arguments: [("", 0, ""), ("00", 0, ""), ("0001", 1, "01"), ("80", 1, "80"), ("0100", 2, "0100")])
    func leadingZerosGo(text: String, count: Int, bytes: String) throws {
        let number = try number(text)
        let byteCount = number.byteCount
        #expect(byteCount == count)
        #expect(reveal(try number.bytes()) == hex(bytes))
    }

    @Test func paddingFillsFromTheLeft() throws {
        let number = try number("0102")
        #expect(reveal(try number.bytes(length: 4)) == [0, 0, 1, 2])
        #expect(reveal(try number.bytes(length: 2)) == [1, 2])
        #expect(errorCode { () throws(CryptoError) in _ = try number.bytes(length: 1) } == .invalidLength)
    }

    @Test func arithmetic() throws {
        let (seven, eleven) = (hex("07"), hex("0B"))
        let a = try BigNumber(seven.span)
        let b = try BigNumber(eleven.span)
        #expect(reveal(try a.times(b).bytes()) == [77])
        #expect(reveal(try b.minusOne().bytes()) == [10])
        #expect(reveal(try b.remainder(dividingBy: a).bytes()) == [4])
        // 7 · 8 = 56 = 5 · 11 + 1
        #expect(reveal(try a.inverse(modulo: b).bytes()) == [8])
        let product = try a.times(a.inverse(modulo: b))
        let rest = try product.remainder(dividingBy: b)
        let isOne = rest.isOne
        #expect(isOne)
    }

    @Test func numbersThatShareAFactorHaveNoInverse() throws {
        let six = try number("06")
        let four = try number("04")
        #expect(errorCode { () throws(CryptoError) in _ = try four.inverse(modulo: six) } == .invalidKey)
    }

    @Test func zeroDividesNothing() throws {
        let one = try number("01")
        let zero = try number("00")
        #expect(errorCode { () throws(CryptoError) in _ = try one.remainder(dividingBy: zero) } == .invalidKey)
        #expect(errorCode { () throws(CryptoError) in _ = try one.inverse(modulo: zero) } == .invalidKey)
    }

    @Test func equalityIsOfTheValue() throws {
        let one = try number("0001")
        let same = try number("01")
        let other = try number("02")
        let (isSame, isOther) = (one.equals(same), one.equals(other))
        #expect(isSame && !isOther)
    }
}
