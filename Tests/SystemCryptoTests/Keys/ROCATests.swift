import SecureBytes
import Testing

@testable import SystemCrypto

/// The form of the RSA keys of CVE-2017-15361.
@Suite struct ROCATests {
    /// A number of base 256, least significant byte first.
    private struct Natural {
        var digits: [UInt8]

        func times(_ factor: UInt64) -> Natural {
            var carry: UInt64 = 0
            var result = digits.map { digit in
                carry += UInt64(digit) * factor
                defer { carry >>= 8 }
                return UInt8(truncatingIfNeeded: carry)
            }
            while carry > 0 {
                result.append(UInt8(truncatingIfNeeded: carry))
                carry >>= 8
            }
            return Natural(digits: result)
        }

        func plus(_ other: Natural) -> Natural {
            var carry: UInt16 = 0
            let result = (0...max(digits.count, other.digits.count)).map { index in
                carry += UInt16(index < digits.count ? digits[index] : 0)
                carry += UInt16(index < other.digits.count ? other.digits[index] : 0)
                defer { carry >>= 8 }
                return UInt8(truncatingIfNeeded: carry)
            }
            return Natural(digits: result)
        }

        func number() throws -> BigNumber { try BigNumber(Array(digits.reversed()).span) }
    }

    /// A prime of 512 bits in the library's form, for keys of 1024 bits: M is the product of the first 71 primes.
    private static func prime(_ k: UInt64, _ a: Int) -> Natural {
        let primes = (2...353).filter { candidate in (2..<candidate).allSatisfy { candidate % $0 != 0 } }
        let product = primes.reduce(Natural(digits: [1])) { $0.times(UInt64($1)) }
        // The power is smaller than M.
        let power = (0..<a).reduce(Natural(digits: [1])) { number, _ in number.times(65_537) }
        return product.times(k).plus(power)
    }

    @Test func aKeyOfTheLibraryIsTold() throws {
        let (p, q) = (Self.prime(108_916_875_890, 23), Self.prime(108_916_877_836, 25))
        let modulus = try p.number().times(q.number()).bytes()
        let key = try PublicKey(rsaModulus: Array(copying: modulus.bytes), exponent: [1, 0, 1])
        #expect(key.kind == .rsa(bits: 1024))
        #expect(key.isROCA)
    }

    @Test func otherKeysAreNot() throws {
        for _ in 0..<20 { #expect(try !PrivateKey.generate(.rsa(bits: 1024)).publicKey.isROCA) }
        #expect(try !PrivateKey.generate(.rsa(bits: 2048)).publicKey.isROCA)
        #expect(try !PrivateKey.generate(.ecP256).publicKey.isROCA)
    }
}
