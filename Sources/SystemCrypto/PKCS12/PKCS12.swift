internal import COpenSSL
public import SecureBytes

/// Keys and certificates in one file under a password, RFC 7292.
public struct PKCS12: Sendable {
    /// The private keys, in the order of the file.
    public let keys: [PrivateKey]
    /// The certificates, in the order of the file.
    public let certificates: [Certificate]
    /// The friendly name of each key, by its hash: its own, else its certificate's.
    public let friendlyNames: [[UInt8]: String]

    /// Reads a file that has no password.
    ///
    /// - Throws: as with a password; `passwordRequired` for a file with one.
    public static func parse(_ der: [UInt8]) throws(CryptoError) -> PKCS12 {
        try parse(der, nil)
    }

    /// Reads a file.
    ///
    /// Files of old programs (RC2, single DES) need OpenSSL's legacy provider. It is loaded for the first file.
    ///
    /// - Throws: `malformed` for anything else, or bytes after it; `wrongPassword`; `unsupported` for a file that is
    ///   encrypted for a public key; `invalidKey` where the numbers of a key do not belong together.
    public static func parse(_ der: [UInt8], password: borrowing Secret) throws(CryptoError) -> PKCS12 {
        try parse(der, password.clone())
    }

    private static func parse(_ der: [UInt8], _ password: borrowing Secret?) throws(CryptoError) -> PKCS12 {
        _ = OpenSSL.hasLegacyAlgorithms
        let file = try unsafe Handle("PKCS#12", failing: .malformed, release: PKCS12_free) { context in
            // The empty file is made first, so that its ciphers are fetched in our context.
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

    /// A key and its certificate, for a file.
    public struct Identity: Sendable {
        public let key: PrivateKey
        public let certificate: Certificate
        public let friendlyName: String?

        /// - Throws: `invalidKey` when the certificate is not the key's.
        public init(_ key: PrivateKey, _ certificate: Certificate, friendlyName: String? = nil) throws(CryptoError) {
            guard certificate.keyHash == key.publicKey.keyHash else { throw CryptoError(.invalidKey, "PKCS#12") }
            self.key = key
            self.certificate = certificate
            self.friendlyName = friendlyName
        }
    }

    /// Writes keys, their certificates and the certificates above them into a file: PBES2 with AES-256-CBC, MAC with
    /// HMAC-SHA-256. Keys and certificates that several identities share are written once.
    ///
    /// - Throws: `malformed` for a password with a zero byte.
    public static func create(
        _ identities: [Identity], chain: [Certificate] = [], password: borrowing Secret, iterations: Int32 = 100_000
    ) throws(CryptoError) -> [UInt8] {
        let terminated = try terminate(password)
        return try unsafe terminated.bytes.withPointer { start, _ throws(CryptoError) in
            let password = unsafe UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
            let writer = try unsafe PKCS12Writer(password: password, iterations: iterations)
            var (certificates, keys) = (Set<Certificate>(), Set<PublicKey>())
            for identity in identities {
                let id = identity.certificate.keyHash
                if certificates.insert(identity.certificate).inserted {
                    try writer.add(identity.certificate, name: identity.friendlyName, id: id)
                }
                if keys.insert(identity.key.publicKey).inserted {
                    try writer.add(identity.key, name: identity.friendlyName, id: id)
                }
            }
            for certificate in chain where certificates.insert(certificate).inserted { try writer.add(certificate) }
            return try writer.finish()
        }
    }

    private static func terminate(_ password: borrowing Secret) throws(CryptoError) -> Secret {
        let bytes = password.bytes
        guard !bytes.indices.contains(where: { bytes[$0] == 0 }) else { throw CryptoError(.malformed, "password") }
        return Secret(capacity: bytes.count + 1) { output in
            output.append(bytes)
            output.append(0)
        }
    }
}
