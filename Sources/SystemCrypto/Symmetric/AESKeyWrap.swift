public import SecureBytes

/// Encryption of one key under another, RFC 3394 and, padded, RFC 5649. Wrapping keys have 16, 24 or 32 bytes.
public enum AESKeyWrap {
    /// The wrapped length of a key of `count` bytes; nil where the key cannot be wrapped: without padding, `count` must be a
    /// multiple of 8, and at least 16.
    public static func wrappedLength(of count: Int, padded: Bool = false) -> Int? {
        guard padded ? count >= 1 : count >= 16 && count.isMultiple(of: 8) else { return nil }
        return (count + 7) / 8 * 8 + 8
    }

    /// Encrypts `key`.
    ///
    /// - Throws: `invalidLength` for a key that cannot be wrapped.
    public static func wrap(
        _ key: borrowing Secret, under wrappingKey: borrowing Secret, padded: Bool = false
    ) throws(CryptoError) -> [UInt8] {
        guard let length = wrappedLength(of: key.count, padded: padded) else {
            throw CryptoError(.invalidLength, "AES key wrap")
        }
        let context = try context(.encrypt, wrappingKey, padded)
        let input = key.bytes
        return try unsafe [UInt8](capacity: length, "AES key wrap") { _, start, count in
            guard let written = unsafe context.finish(input, into: start) else { return false }
            count = written
            return true
        }
    }

    /// Decrypts the output of `wrap`.
    ///
    /// - Throws: `authenticationFailed` when the wrapping key is another or the data was changed; `invalidLength` for a length
    ///   that no wrapped key has.
    public static func unwrap(
        _ wrapped: [UInt8], under wrappingKey: borrowing Secret, padded: Bool = false
    ) throws(CryptoError) -> Secret {
        guard wrapped.count >= (padded ? 16 : 24), wrapped.count.isMultiple(of: 8) else {
            throw CryptoError(.invalidLength, "AES key unwrap")
        }
        let context = try context(.decrypt, wrappingKey, padded)
        return try unsafe Secret(
            capacity: wrapped.count, "AES key unwrap", failing: .authenticationFailed
        ) { _, start, count in
            guard let written = unsafe context.finish(wrapped.span, into: start) else { return false }
            count = written
            return true
        }
    }

    private static func context(
        _ direction: CipherContext.Direction, _ key: borrowing Secret, _ padded: Bool
    ) throws(CryptoError) -> CipherContext {
        guard [16, 24, 32].contains(key.count) else { throw CryptoError(.invalidLength, "AES key wrap key") }
        return try CipherContext(
            "AES-\(key.count * 8)-WRAP\(padded ? "-PAD" : "")", direction, key: key,
            initializationVector: padded ? alternativeInitialValue : defaultInitialValue)
    }

    /// RFC 3394 §2.2.3.1.
    private static let defaultInitialValue = [UInt8](repeating: 0xA6, count: 8)

    /// RFC 5649 §3; the length of the key follows.
    private static let alternativeInitialValue: [UInt8] = [0xA6, 0x59, 0x59, 0xA6]
}
