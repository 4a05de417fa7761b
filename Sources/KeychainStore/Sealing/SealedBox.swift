package import SecureBytes
package import SystemCrypto

/// AES-256-GCM as the keychain stores it: the nonce, then the ciphertext with its tag.
///
/// Every sealing draws a new nonce, so one key may seal 2^32 values before two of the same become likely.
package enum SealedBox {
    /// The length that sealing adds, in bytes.
    static let overhead = AESGCM.nonceLength + AESGCM.tagLength

    package static func seal(
        _ plaintext: Span<UInt8>, key: borrowing Secret, authenticating data: AssociatedData
    ) throws(CryptoError) -> [UInt8] {
        let nonce = try RandomBytes.make(count: AESGCM.nonceLength)
        return nonce + (try AESGCM.seal(plaintext, key: key, nonce: nonce, authenticating: data.bytes))
    }

    /// - Throws: `authenticationFailed` if anything differs from when it was sealed.
    package static func open(
        _ sealed: [UInt8], key: borrowing Secret, authenticating data: AssociatedData
    ) throws(CryptoError) -> Secret {
        guard sealed.count >= overhead else { throw CryptoError(.authenticationFailed, "AES-GCM open") }
        let nonce = Array(sealed.prefix(AESGCM.nonceLength))
        let body = Array(sealed.dropFirst(AESGCM.nonceLength))
        return try AESGCM.open(body, key: key, nonce: nonce, authenticating: data.bytes)
    }
}
