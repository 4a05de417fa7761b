import SecureBytes
import Testing

@testable import SystemCrypto

/// Buffers between Swift's memory and C's.
@Suite struct BufferTests {
    @Test(arguments: [0, 1, 4096, 5000])
    func capacityIsNeverExceeded(capacity: Int) throws {
        let used = try [UInt8](capacity: capacity, "test") { _, _, count in
            #expect(count == capacity)
            count = capacity / 2
            return true
        }
        #expect(used.count == capacity / 2)
        for wrong in [-1, capacity + 1, .max, .min] {
            #expect(throws: CryptoError(.library, "")) {
                try [UInt8](capacity: capacity, "test") { _, _, count in
                    count = wrong
                    return true
                }
            }
            let code = errorCode { () throws(CryptoError) in
                _ = try Secret(capacity: capacity, "test") { _, _, count in
                    count = wrong
                    return true
                }
            }
            #expect(code == .library)
        }
    }

    @Test func failuresHaveTheCodeTheyWereGiven() {
        #expect(throws: CryptoError(.wrongPassword, "")) {
            try [UInt8](capacity: 1, "test", failing: .wrongPassword) { _, _, _ in false }
        }
        #expect(throws: CryptoError(.malformed, "")) {
            try OpenSSL.call("test", failing: .malformed) { _ -> Int? in nil }
        }
        #expect(throws: CryptoError(.invalidKey, "")) { try OpenSSL.check("test", failing: .invalidKey) { _ in 0 } }
        #expect(throws: CryptoError(.invalidKey, "")) { try OpenSSL.check("test", failing: .invalidKey) { _ in -1 } }
    }

    @Test func emptySpansHaveAnAddressThatCMayTake() {
        let empty: [UInt8] = []
        let length = empty.span.withPointer { start, count in count + Int(start.pointee) }
        #expect(length == 0)
        let bytes: [UInt8] = [7, 8]
        let last = bytes.span.withPointer { start, count in start[count - 1] }
        #expect(last == 8)
    }

    @Test func emptySecretsAreWritten() throws {
        let empty = try Secret(capacity: 0, "test") { _, _, _ in true }
        #expect(reveal(empty) == [])
    }

    @Test func ciphersThatAreNotThereAreUnsupported() {
        let code = errorCode { () throws(CryptoError) in
            _ = try CipherContext("NO-SUCH-CIPHER", .encrypt, key: secret([1]))
        }
        #expect(code == .unsupported)
        let derivation = errorCode { () throws(CryptoError) in
            _ = try KeyDerivation.derive("NO-SUCH-KDF", ParameterList(), count: 1)
        }
        #expect(derivation == .unsupported)
    }
}
