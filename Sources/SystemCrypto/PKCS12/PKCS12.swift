internal import COpenSSL
public import TokenKit

/// Keys and certificates that travel together in a file under a password, RFC 7292.
public struct PKCS12: Sendable {
    /// The private keys, in the order of the file.
    public let keys: [PrivateKey]
    /// The certificates, in the order of the file.
    public let certificates: [Certificate]
    /// The first name that one of them has.
    public let friendlyName: String?

    /// Reads a file that has no password.
    ///
    /// - Throws: as with a password; `passwordRequired` when there is one.
    public static func parse(_ der: [UInt8]) throws(CryptoError) -> PKCS12 {
        try parse(der, nil)
    }

    /// Reads a file.
    ///
    /// Files of old programs (RC2, single DES) need OpenSSL's legacy provider. It is loaded for the first file.
    ///
    /// - Throws: `malformed` for anything else, or bytes after it; `wrongPassword`; `unsupported` for a file that is
    ///   encrypted for a public key.
    public static func parse(_ der: [UInt8], password: borrowing Secret) throws(CryptoError) -> PKCS12 {
        try parse(der, password.clone())
    }

    private static func parse(_ der: [UInt8], _ password: borrowing Secret?) throws(CryptoError) -> PKCS12 {
        _ = OpenSSL.hasLegacyAlgorithms
        let file = try unsafe Handle("PKCS#12", failing: .malformed, release: PKCS12_free) { context in
            // Made before it is filled, so that its ciphers are looked for in our context.
            var file = unsafe PKCS12_init_ex(NID_pkcs7_data, context, nil)
            guard unsafe file != nil else { return nil }
            let isRead = unsafe der.span.withPointer { start, count in
                var cursor: UnsafePointer<UInt8>? = unsafe start
                return unsafe d2i_PKCS12(&file, &cursor, count) != nil && cursor == start + count
            }
            guard isRead else {
                unsafe PKCS12_free(file)
                return nil
            }
            return unsafe file
        }
        return try PKCS12Reader.read(file, password: password)
    }

    /// Writes a key, its certificate and the certificates above it into a file: PBES2 with AES-256-CBC, MAC with
    /// HMAC-SHA-256.
    ///
    /// - Throws: `invalidKey` when the certificate is not the key's; `malformed` for a password with a zero byte.
    public static func create(
        key: PrivateKey, certificate: Certificate, chain: [Certificate] = [], friendlyName: String? = nil,
        password: borrowing Secret, iterations: Int32 = 100_000
    ) throws(CryptoError) -> [UInt8] {
        guard certificate.keyHash == key.publicKey.keyHash else { throw CryptoError(.invalidKey, "PKCS#12") }
        let terminated = try terminate(password)
        let others = try CertificateHandle.stack(of: chain)
        return try unsafe terminated.bytes.withPointer { password, _ throws(CryptoError) in
            try key.handle.writing { () throws(CryptoError) in
                let file = try unsafe Handle("PKCS#12", release: PKCS12_free) { context in
                    unsafe PKCS12_create_ex(
                        UnsafeRawPointer(password).assumingMemoryBound(to: CChar.self), friendlyName,
                        key.handle.pointer, certificate.handle.pointer, others.pointer, NID_aes_256_cbc,
                        NID_aes_256_cbc, max(iterations, 1), max(iterations, 1), 0, context, nil)
                }
                return try unsafe [UInt8](encoding: "PKCS#12") { unsafe i2d_PKCS12(file.pointer, $0) }
            }
        }
    }

    private static func terminate(_ password: borrowing Secret) throws(CryptoError) -> Secret {
        let bytes = password.bytes
        guard !bytes.indices.contains(where: { bytes[$0] == 0 }) else { throw CryptoError(.malformed, "password") }
        return Secret(capacity: bytes.count + 1) { output in
            for index in bytes.indices { output.append(bytes[index]) }
            output.append(0)
        }
    }
}
