import SystemCrypto
import Testing

@Suite struct X963KDFTests {
    /// NIST CAVS "ANSI X9.63-2001" vectors for SHA-256.
    @Test func knownAnswers() throws {
        let short = try X963KDF.deriveKey(
            from: secret(hex("96c05619d56c328ab95fe84b18264b08725b85e33fd34f08")), sharedInfo: [], count: 16,
            using: .sha256)
        #expect(reveal(short) == hex("443024c3dae66b95e6f5670601558f71"))
        let long = try X963KDF.deriveKey(
            from: secret(hex("22518b10e70f2a3f243810ae3254139efbee04aa57c7af7d")),
            sharedInfo: hex("75eef81aa3041e33b80971203d2c0c52"), count: 128, using: .sha256)
        #expect(
            reveal(long)
                == hex(
                    """
                    c498af77161cc59f2962b9a713e2b215152d139766ce34a776df11866a69bf2e52a13d9c7c6fc878c50c5ea0bc7b00e0da2447cfd8
                    74f6cf92f30d0097111485500c90c3af8b487872d04685d14c8d1dc8d7fa08beb0ce0ababc11f0bd496269142d43525a78e5bc79a1
                    7f59676a5706dc54d54d4d1f0bd7e386128ec26afc21
                    """))
    }

    /// SEC 1 §3.6.1: Hash(Z ‖ counter ‖ SharedInfo) for the counters 1, 2, …, cut to length.
    @Test(arguments: DigestAlgorithm.allCases) func itIsTheHashesOneAfterTheOther(digest: DigestAlgorithm) throws {
        let (shared, info): ([UInt8], [UInt8]) = ([1, 2, 3], [9])
        var expected: [UInt8] = []
        for counter in UInt8(1)...4 {
            expected += try Digest.hash(shared + [0, 0, 0, counter] + info, using: digest)
        }
        let length = 3 * digest.byteCount + 5
        let derived = try X963KDF.deriveKey(from: secret(shared), sharedInfo: info, count: length, using: digest)
        #expect(reveal(derived) == Array(expected.prefix(length)))
    }

    @Test func lengthsThatMakeNoSenseAreRefused() {
        for count in [0, -1, Int.max] {
            let code = errorCode { () throws(CryptoError) in
                _ = try X963KDF.deriveKey(from: secret([1]), sharedInfo: [], count: count, using: .sha256)
            }
            #expect(code == .invalidLength)
        }
    }
}
