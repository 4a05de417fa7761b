internal import COpenSSL
public import SecureBytes

/// Unpredictable bytes, from OpenSSL's generator.
public enum RandomBytes {
    /// Overwrites all of `bytes`.
    public static func fill(_ bytes: inout [UInt8]) throws(CryptoError) {
        bytes = try make(count: bytes.count)
    }

    /// The most bytes of one call.
    public static let maximumCount = 1 << 24

    /// Random bytes that need not stay secret, such as a nonce, a salt or a serial number.
    public static func make(count: Int) throws(CryptoError) -> [UInt8] {
        try check(count)
        return try unsafe [UInt8](capacity: count, "random bytes") { context, start, count in
            unsafe RAND_bytes_ex(context, start, count, 0) == 1
        }
    }

    /// Random bytes that are a secret, such as a key.
    public static func makeSecret(count: Int) throws(CryptoError) -> Secret {
        try check(count)
        return try unsafe Secret(capacity: count, "random bytes") { context, start, count in
            unsafe RAND_priv_bytes_ex(context, start, count, 0) == 1
        }
    }

    private static func check(_ count: Int) throws(CryptoError) {
        guard 0...maximumCount ~= count else { throw CryptoError(.invalidLength, "random bytes") }
    }
}
