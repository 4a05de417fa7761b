public import TokenKit

/// Encryption of one key under another, RFC 3394. Wrapping keys have 16, 24 or 32 bytes.
public enum AESKeyWrap {
    /// Encrypts `key`, a multiple of 8 bytes and at least 16; the result is 8 bytes longer.
    public static func wrap(_ key: borrowing Secret, under wrappingKey: borrowing Secret) throws(CryptoError) -> [UInt8]
    {
        guard key.count >= 16, key.count.isMultiple(of: 8) else { throw CryptoError(.invalidLength, "AES key wrap") }
        let context = try CipherContext(
            name(for: wrappingKey), .encrypt, key: wrappingKey, initializationVector: defaultInitialValue)
        let input = key.bytes
        return try unsafe [UInt8](capacity: input.count + 8, "AES key wrap") { _, start, count in
            guard let written = unsafe context.finish(input, into: start) else { return false }
            count = written
            return true
        }
    }

    /// Decrypts what `wrap` made.
    ///
    /// - Throws: `authenticationFailed` when the wrapping key is another or the data was changed.
    public static func unwrap(_ wrapped: [UInt8], under wrappingKey: borrowing Secret) throws(CryptoError) -> Secret {
        guard wrapped.count >= 24, wrapped.count.isMultiple(of: 8) else {
            throw CryptoError(.invalidLength, "AES key unwrap")
        }
        let context = try CipherContext(
            name(for: wrappingKey), .decrypt, key: wrappingKey, initializationVector: defaultInitialValue)
        return try unsafe Secret(
            capacity: wrapped.count, "AES key unwrap", failing: .authenticationFailed
        ) { _, start, count in
            guard let written = unsafe context.finish(wrapped.span, into: start) else { return false }
            count = written
            return true
        }
    }

    /// RFC 3394 §2.2.3.1.
    private static let defaultInitialValue = [UInt8](repeating: 0xA6, count: 8)

    private static func name(for key: borrowing Secret) throws(CryptoError) -> String {
        guard [16, 24, 32].contains(key.count) else { throw CryptoError(.invalidLength, "AES key wrap key") }
        return "AES-\(key.count * 8)-WRAP"
    }
}
