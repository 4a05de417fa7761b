import SystemCrypto
import Testing

@Suite struct AuthenticationCodeTests {
    /// RFC 4231 §4.2 and §4.3, test cases 1 and 2.
    static let hmac: [(key: String, data: String, algorithm: DigestAlgorithm, code: String)] = [
        (
            "0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B", "4869205468657265", .sha256,
            "B0344C61D8DB38535CA8AFCEAF0BF12B881DC200C9833DA726E9376C2E32CFF7"
        ),
        (
            "4A656665", "7768617420646F2079612077616E7420666F72206E6F7468696E673F", .sha256,
            "5BDCC146BF60754E6A042426089575C75A003F089D2739839DEC58B964EC3843"
        ),
        (
            "4A656665", "7768617420646F2079612077616E7420666F72206E6F7468696E673F", .sha384,
            "AF45D2E376484031617F78D2B58A6B1B9C7EF464F5A01B47E42EC3736322445E8E2240CA5E69E2C78B3239ECFAB21649"
        ),
    ]

    @Test(arguments: hmac)
    func hmacKnownAnswers(key: String, data: String, algorithm: DigestAlgorithm, code: String) throws {
        let result = try HMAC.code(for: hex(data), key: secret(hex(key)), using: algorithm)
        #expect(result == hex(code))
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func hmacInPartsIsThatOfTheWhole(algorithm: DigestAlgorithm) throws {
        for (key, message) in [(utf8("key"), utf8("what is authenticated")), ([], []), ([1], [2])] {
            var context = try HMACContext(algorithm, key: secret(key))
            for byte in message { try context.update([byte]) }
            let code = try context.finalize()
            #expect(try code == HMAC.code(for: message, key: secret(key), using: algorithm))
        }
    }

    @Test func hmacOfNothingIsNotAnError() throws {
        #expect(try HMAC.code(for: [], key: secret("key")).count == 32)
    }
}
