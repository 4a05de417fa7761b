public import SecureBytes

/// Authenticated encryption with AES in Galois/Counter Mode, SP 800-38D. Keys have 16, 24 or 32 bytes.
public enum AESGCM {
    /// Length of a nonce in bytes. A nonce must not be used twice under one key.
    public static let nonceLength = 12
    /// Lengths of nonces that are accepted in other programs' formats.
    public static let nonceLengths = 8...64
    /// Length of the authentication tag in bytes.
    public static let tagLength = 16
    /// Lengths of tags that are accepted in other programs' formats, SP 800-38D §5.2.1.2.
    public static let tagLengths = 12...16

    /// Encrypts, and authenticates `associatedData` along with it.
    ///
    /// - Returns: the ciphertext followed by the tag.
    /// - Throws: `invalidLength` for a key or nonce of another length.
    public static func seal(
        _ plaintext: Span<UInt8>, key: borrowing Secret, nonce: [UInt8], authenticating associatedData: [UInt8] = []
    ) throws(CryptoError) -> [UInt8] {
        let context = try CipherContext(
            name(for: key), .encrypt, key: key, initializationVector: nonce, authenticating: associatedData)
        let ciphertext = try unsafe [UInt8](capacity: plaintext.count, "AES-GCM seal") { _, start, count in
            guard let written = unsafe context.finish(plaintext, into: start) else { return false }
            count = written
            return true
        }
        return ciphertext + (try context.tag(count: tagLength))
    }

    /// Decrypts the output of `seal`, or of another program with a shorter tag.
    ///
    /// - Throws: `authenticationFailed` when key, nonce, ciphertext, tag or associated data differ from what was sealed;
    ///   `invalidLength` for a key or nonce of another length.
    public static func open(
        _ sealed: [UInt8], key: borrowing Secret, nonce: [UInt8], authenticating associatedData: [UInt8] = [],
        tagLength: Int = tagLength
    ) throws(CryptoError) -> Secret {
        guard tagLengths ~= tagLength else { throw CryptoError(.invalidLength, "AES-GCM tag") }
        let context = try CipherContext(
            name(for: key), .decrypt, key: key, initializationVector: nonce, authenticating: associatedData)
        guard sealed.count >= tagLength else { throw CryptoError(.authenticationFailed, "AES-GCM open") }
        let ciphertext = Array(sealed.dropLast(tagLength))
        try context.expect(tag: Array(sealed.suffix(tagLength)))
        return try unsafe Secret(
            capacity: ciphertext.count, "AES-GCM open", failing: .authenticationFailed
        ) { _, start, count in
            guard let written = unsafe context.finish(ciphertext.span, into: start) else { return false }
            count = written
            return true
        }
    }

    private static func name(for key: borrowing Secret) throws(CryptoError) -> String {
        guard [16, 24, 32].contains(key.count) else { throw CryptoError(.invalidLength, "AES-GCM key") }
        return "AES-\(key.count * 8)-GCM"
    }
}
