import Testing

@testable import SystemCrypto

@Suite struct BcryptPBKDFTests {
    /// The test vectors of OpenBSD's regress/lib/libutil/bcrypt_pbkdf.
    static let vectors: [(rounds: UInt32, password: [UInt8], salt: [UInt8], key: String)] = [
        (
            4, utf8("password"), utf8("salt"),
            "5bbf0cc293587f1c3635555c27796598d47e579071bf427e9d8fbe842aba34d9"
        ),
        (4, utf8("password"), [0], "c12b566235eee04c212598970a579a67"),
        (4, [0], utf8("salt"), "6051be18c2f4f82cbf0efee5471b4bb9"),
        (
            8, utf8("password"), utf8("salt"),
            "e1367ec5151a33faac4cc1c144cd23fa15d5548493ecc99b9b5d9c0d3b27bec7"
                + "6227ea66088b849b20ab7aa478010246e74bba51723fefa9f9474d6508845e8d"
        ),
    ]

    @Test(arguments: vectors)
    func knownAnswers(row: (rounds: UInt32, password: [UInt8], salt: [UInt8], key: String)) throws {
        let expected = hex(row.key)
        let key = try BcryptPBKDF.deriveKey(
            password: secret(row.password), salt: row.salt, rounds: row.rounds, count: expected.count)
        #expect(reveal(key) == expected)
    }

    @Test func whatNoKeyIsMadeOfIsRefused() {
        let rows: [([UInt8], [UInt8], UInt32, Int)] = [
            ([], [1], 1, 32), ([1], [], 1, 32), ([1], [1], 0, 32), ([1], [1], 513, 32), ([1], [1], .max, 32),
            ([1], [1], 1, 0), ([1], [1], 1, 65),
        ]
        for (password, salt, rounds, count) in rows {
            let code = errorCode { () throws(CryptoError) in
                _ = try BcryptPBKDF.deriveKey(password: secret(password), salt: salt, rounds: rounds, count: count)
            }
            #expect(code == .invalidLength)
        }
    }

    /// Schneier's tables are the digits of π: the first of P, the first and the last of the four tables.
    @Test func theTablesAreTheDigitsOfPi() {
        let digits = Blowfish.digitsOfPi
        #expect(digits.count == 18 + 4 * 256)
        #expect(Array(digits.prefix(4)) == [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344])
        #expect(digits[18] == 0xD131_0BA6)
        #expect(digits[18 + 256] == 0x4B7A_70E9)
        #expect(digits[18 + 512] == 0xE93D_5A68)
        #expect(digits[18 + 768] == 0x3A39_CE37)
        #expect(digits.last == 0x3AC3_72E6)
    }
}
