internal import COpenSSL
public import SecureBytes

/// Base64 without line breaks, RFC 4648 §4.
public enum Base64 {
    /// The digits of secret bytes, which are a secret too.
    public static func encode(_ bytes: Span<UInt8>) -> Secret {
        Secret(capacity: digitCount(of: bytes.count) + 1) { append(bytes, to: &$0) }
    }

    /// The digits of bytes.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: Array(copying: encode(bytes.span).bytes), as: UTF8.self)
    }

    /// The bytes that digits stand for. Wraps `EVP_DecodeBlock`.
    ///
    /// - Throws: `malformed` for anything but the digits that ``encode(_:)-(Span<UInt8>)`` writes: white space, missing or
    ///   needless padding, bits behind the last byte (RFC 4648 §3.5), another alphabet.
    public static func decode(_ digits: Span<UInt8>) throws(CryptoError) -> Secret {
        guard digits.count.isMultiple(of: 4), let length = Int32(exactly: digits.count) else { throw malformed }
        let padding = digits.indices.suffix(2).count { digits[$0] == UInt8(ascii: "=") }
        let bytes = try unsafe Secret(capacity: digits.count / 4 * 3, "Base64", failing: .malformed) {
            _, output, count in
            count =
                unsafe digits.withPointer { start, _ in unsafe Int(EVP_DecodeBlock(output, start, length)) } - padding
            return count >= 0
        }
        // OpenSSL ignores white space at both ends, and decodes padding in the middle as zeros.
        guard isEncoding(digits, of: bytes) else { throw malformed }
        return bytes
    }

    private static func isEncoding(_ digits: Span<UInt8>, of bytes: borrowing Secret) -> Bool {
        encode(bytes.bytes).equals(Secret(copying: digits))
    }

    /// Appends digits to a secret, which must have room for one byte more, since OpenSSL ends them with a zero. Wraps
    /// `EVP_EncodeBlock`.
    static func append(_ bytes: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        for start in stride(from: 0, to: bytes.count, by: longestBlock) {
            let block = bytes.extracting(start..<min(start + longestBlock, bytes.count))
            precondition(output.freeCapacity > digitCount(of: block.count), "no room for the digits")
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                guard let end = unsafe buffer.baseAddress.map({ unsafe $0 + count }) else { return }
                count += unsafe block.withPointer {
                    unsafe Int(EVP_EncodeBlock(end, $0, Int32(truncatingIfNeeded: $1)))
                }
            }
        }
    }

    static func digitCount(of byteCount: Int) -> Int { (byteCount + 2) / 3 * 4 }

    /// The longest block: whole groups of three bytes, whose number of digits fits C's `int`.
    private static let longestBlock = 3 << 20

    private static let malformed = CryptoError(.malformed, "Base64")
}
