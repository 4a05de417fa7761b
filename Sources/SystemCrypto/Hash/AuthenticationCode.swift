internal import COpenSSL
public import TokenKit

/// Keyed hashes, FIPS 198-1.
public enum HMAC {
    /// The authentication code of `bytes` under `key`, as long as the hash function's digest.
    public static func code(
        for bytes: [UInt8], key: borrowing Secret, using algorithm: DigestAlgorithm = .sha256
    ) throws(CryptoError) -> [UInt8] {
        let name = algorithm.openSSLName
        return try quickMAC("HMAC", name, key: key.bytes, bytes: bytes.span, capacity: algorithm.byteCount)
    }

    /// The same, where the code is itself a key.
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

/// Block-cipher based authentication codes with AES, SP 800-38B.
public enum AESCMAC {
    /// The 16-byte authentication code of `bytes` under a key of 16, 24 or 32 bytes.
    public static func code(for bytes: [UInt8], key: borrowing Secret) throws(CryptoError) -> [UInt8] {
        guard [16, 24, 32].contains(key.count) else { throw CryptoError(.invalidLength, "AES-CMAC key") }
        return try quickMAC("CMAC", "AES-\(key.count * 8)-CBC", key: key.bytes, bytes: bytes.span, capacity: 16)
    }
}

/// Wraps `EVP_Q_mac`.
private func quickMAC(
    _ name: String, _ algorithm: String, key: Span<UInt8>, bytes: Span<UInt8>, capacity: Int
) throws(CryptoError) -> [UInt8] {
    try unsafe key.withPointer { key, keyLength throws(CryptoError) in
        try unsafe bytes.withPointer { data, length throws(CryptoError) in
            try unsafe [UInt8](capacity: capacity, name) { context, start, count in
                unsafe EVP_Q_mac(
                    context, name, nil, algorithm, nil, key, keyLength, data, length, start, count, &count) != nil
            }
        }
    }
}
