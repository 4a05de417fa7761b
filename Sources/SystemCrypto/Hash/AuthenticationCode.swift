internal import COpenSSL
public import SecureBytes

/// Keyed hashes, FIPS 198-1.
public enum HMAC {
    /// The authentication code of `bytes` under `key`, as long as the hash function's digest.
    public static func code(
        for bytes: [UInt8], key: borrowing Secret, using algorithm: DigestAlgorithm = .sha256
    ) throws(CryptoError) -> [UInt8] {
        try secret(for: bytes.span, key: key.bytes, using: algorithm).copied()
    }

    /// The code as a secret, for a code that is itself a key.
    static func secret(
        for bytes: Span<UInt8>, key: Span<UInt8>, using algorithm: DigestAlgorithm = .sha256
    ) throws(CryptoError) -> Secret {
        try unsafe key.withPointer { key, keyLength throws(CryptoError) in
            try unsafe bytes.withPointer { data, length throws(CryptoError) in
                try unsafe Secret(capacity: algorithm.byteCount, "HMAC") { context, start, count in
                    unsafe EVP_Q_mac(
                        context, "HMAC", nil, algorithm.openSSLName, nil, key, keyLength, data, length, start, count,
                        &count) != nil
                }
            }
        }
    }
}

/// An ``HMAC`` of a message in parts. Wraps `EVP_MAC_update`.
public struct HMACContext: ~Copyable {
    private let algorithm: DigestAlgorithm
    private let handle: Handle

    public init(_ algorithm: DigestAlgorithm, key: borrowing Secret) throws(CryptoError) {
        let method = try unsafe Handle("HMAC", failing: .unsupported, release: EVP_MAC_free) { context in
            unsafe EVP_MAC_fetch(context, "HMAC", nil)
        }
        let handle = try unsafe Handle("HMAC", release: EVP_MAC_CTX_free) { _ in
            unsafe EVP_MAC_CTX_new(method.pointer)
        }
        var parameters = ParameterList()
        parameters.add("digest", text: algorithm.openSSLName)
        try unsafe key.bytes.withPointer { key, count throws(CryptoError) in
            try unsafe parameters.withPointer { list throws(CryptoError) in
                try unsafe OpenSSL.check("HMAC") { _ in unsafe EVP_MAC_init(handle.pointer, key, count, list) }
            }
        }
        self.algorithm = algorithm
        self.handle = handle
    }

    /// Adds bytes to the authenticated message.
    public mutating func update(_ bytes: [UInt8]) throws(CryptoError) {
        try unsafe bytes.span.withPointer { start, count throws(CryptoError) in
            try unsafe OpenSSL.check("HMAC") { _ in unsafe EVP_MAC_update(handle.pointer, start, count) }
        }
    }

    /// The code of all bytes added, as long as the hash function's digest.
    public consuming func finalize() throws(CryptoError) -> [UInt8] {
        try unsafe [UInt8](capacity: algorithm.byteCount, "HMAC") { _, start, count in
            unsafe EVP_MAC_final(handle.pointer, start, &count, count) == 1
        }
    }
}
