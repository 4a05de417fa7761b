internal import COpenSSL

// This folder has the only cipher that this package implements itself. Private keys that OpenSSH encrypts need bcrypt_pbkdf(3) of
// OpenBSD, for which no library has the parts: OpenSSL's Blowfish runs its key schedule once and without a salt, and crypt(3) has
// bcrypt for password hashes only.

/// The cipher of Schneier's "Description of a New Variable-Length Key, 64-Bit Block Cipher" with the key schedule of
/// bcrypt (Provos and Mazières, "A Future-Adaptable Password Scheme" §4).
///
/// For private keys of OpenSSH only: which words are read from the tables depends on the password.
struct Blowfish {
    /// The eighteen words of P, then four tables of 256 words.
    private var words = Blowfish.digitsOfPi

    private static let roundKeys = 18

    /// Replaces the tables by key schedule, with a key and a salt.
    mutating func expand(key: Span<UInt8>, salt: Span<UInt8>) {
        var keyPosition = 0, saltPosition = 0
        for index in 0..<Blowfish.roundKeys { words[index] ^= Blowfish.word(of: key, at: &keyPosition) }
        var (left, right): (UInt32, UInt32) = (0, 0)
        var index = 0
        while index < words.count {
            if !salt.isEmpty {
                left ^= Blowfish.word(of: salt, at: &saltPosition)
                right ^= Blowfish.word(of: salt, at: &saltPosition)
            }
            encrypt(&left, &right)
            words[index] = left
            words[index + 1] = right
            index += 2
        }
    }

    /// Encrypts a block of two words. A derivation calls this millions of times, and a loop over a `stride` takes longer than the
    /// cipher in a build without optimisation.
    func encrypt(_ left: inout UInt32, _ right: inout UInt32) {
        left ^= words[0]
        var round = 1
        while round < Blowfish.roundKeys - 1 {
            right ^= mixed(left) ^ words[round]
            left ^= mixed(right) ^ words[round + 1]
            round += 2
        }
        (left, right) = (right ^ words[Blowfish.roundKeys - 1], left)
    }

    /// Overwrites the key schedule.
    mutating func wipe() {
        unsafe words.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    private func mixed(_ word: UInt32) -> UInt32 {
        let first = Blowfish.roundKeys
        let sum = words[first + Int(word >> 24)] &+ words[first + 256 + Int(word >> 16 & 0xFF)]
        return (sum ^ words[first + 512 + Int(word >> 8 & 0xFF)]) &+ words[first + 768 + Int(word & 0xFF)]
    }

    /// The next four bytes, most significant first. Continues at the first byte after the last.
    private static func word(of bytes: Span<UInt8>, at position: inout Int) -> UInt32 {
        var word: UInt32 = 0
        for _ in 0..<4 {
            word = word << 8 | (bytes.isEmpty ? 0 : UInt32(bytes[position]))
            position = position + 1 < bytes.count ? position + 1 : 0
        }
        return word
    }

    /// The fraction of π in binary, by Machin's formula: π = 16 arctan 1/5 − 4 arctan 1/239.
    static let digitsOfPi: [UInt32] = {
        let (first, second) = (arctangent(of: 5, times: 16), arctangent(of: 239, times: 4))
        // The word before the fraction is 3. Two words behind the fraction hold the rounding error.
        return Array(difference(first, second)[1...(roundKeys + 4 * 256)])
    }()

    /// `factor` · arctan 1/x as a fixed-point number, by its series.
    private static func arctangent(of x: UInt64, times factor: UInt32) -> [UInt32] {
        var power = [factor] + [UInt32](repeating: 0, count: roundKeys + 4 * 256 + 2)
        var start = 0
        divide(&power, by: x, from: &start)
        var sum = power
        var divisor: UInt64 = 1
        while start < power.count {
            divide(&power, by: x * x, from: &start)
            divisor += 2
            var (term, from) = (power, start)
            divide(&term, by: divisor, from: &from)
            sum = divisor % 4 == 3 ? difference(sum, term) : difference(sum, term, adding: true)
        }
        return sum
    }

    /// - Parameter start: the first word that is not zero.
    private static func divide(_ number: inout [UInt32], by divisor: UInt64, from start: inout Int) {
        var remainder: UInt64 = 0
        for index in start..<number.count {
            let value = remainder << 32 | UInt64(number[index])
            number[index] = UInt32(truncatingIfNeeded: value / divisor)
            remainder = value % divisor
        }
        while start < number.count, number[start] == 0 { start += 1 }
    }

    private static func difference(_ left: [UInt32], _ right: [UInt32], adding: Bool = false) -> [UInt32] {
        var result = left
        var carry: Int64 = 0
        for index in left.indices.reversed() {
            let term = Int64(right[index])
            let value = Int64(left[index]) + (adding ? term : -term) + carry
            result[index] = UInt32(truncatingIfNeeded: value)
            carry = value >> 32
        }
        return result
    }
}
