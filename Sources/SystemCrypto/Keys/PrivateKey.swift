internal import COpenSSL
public import TokenKit

/// A private key in memory, held by OpenSSL and wiped when the last reference goes.
public final class PrivateKey: Sendable {
    /// The public half.
    public let publicKey: PublicKey
    let handle: KeyHandle

    /// The algorithm and size.
    public var kind: KeyKind { publicKey.kind }

    init(handle: KeyHandle) throws(CryptoError) {
        self.handle = handle
        publicKey = try PublicKey(handle: handle)
    }

    /// A new key. RSA keys have 512 to 16384 bits and the exponent 65537.
    ///
    /// - Throws: `unsupported` for a kind OpenSSL does not generate.
    public static func generate(_ kind: KeyKind) throws(CryptoError) -> PrivateKey {
        var parameters = ParameterList()
        if case .rsa(let bits) = kind {
            guard 512...PublicKey.maximumModulusLength * 8 ~= bits else {
                throw CryptoError(.unsupported, "generate \(kind)")
            }
            parameters.add(OSSL_PKEY_PARAM_RSA_BITS, number: UInt64(bits))
        } else if let group = kind.groupName {
            parameters.add(OSSL_PKEY_PARAM_GROUP_NAME, text: group)
        }
        let operation = "generate \(kind)"
        let maker = try Handle(making: operation, of: kind.algorithmName)
        let handle = try unsafe parameters.withPointer { list throws(CryptoError) in
            try unsafe KeyHandle(operation, failing: .unsupported) { _ in
                var key: OpaquePointer?
                guard unsafe EVP_PKEY_keygen_init(maker.pointer) == 1,
                    unsafe EVP_PKEY_CTX_set_params(maker.pointer, list) == 1,
                    unsafe EVP_PKEY_generate(maker.pointer, &key) == 1
                else { return nil }
                return unsafe key
            }
        }
        return try PrivateKey(handle: handle)
    }
}

extension PrivateKey {
    /// The DER of the key's PKCS#8 `PrivateKeyInfo`, RFC 5208 §5.
    public func pkcs8() throws(CryptoError) -> Secret {
        try handle.writing { () throws(CryptoError) in
            let info = try privateKeyInfo()
            return try unsafe Secret(encoding: "PKCS#8") { unsafe i2d_PKCS8_PRIV_KEY_INFO(info.pointer, $0) }
        }
    }

    /// The DER of a PKCS#8 `EncryptedPrivateKeyInfo`: PBES2 with PBKDF2-HMAC-SHA-256 and AES-256-CBC, RFC 8018 §6.2.
    public func encryptedPKCS8(
        password: borrowing Secret, iterations: Int32 = 600_000
    ) throws(CryptoError) -> [UInt8] {
        let cipher = try unsafe Handle("PKCS#8", release: EVP_CIPHER_free) { context in
            unsafe EVP_CIPHER_fetch(context, "AES-256-CBC", nil)
        }
        guard let length = Int32(exactly: password.count) else { throw CryptoError(.invalidLength, "password") }
        return try unsafe password.bytes.withPointer { start, _ throws(CryptoError) in
            try handle.writing { () throws(CryptoError) in
                let info = try privateKeyInfo()
                let encrypted = try unsafe Handle("PKCS#8", release: X509_SIG_free) { context in
                    let password = unsafe UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
                    return unsafe PKCS8_encrypt_ex(
                        -1, cipher.pointer, password, length, nil, 0, max(iterations, 1), info.pointer, context, nil)
                }
                return try unsafe [UInt8](encoding: "PKCS#8") { unsafe i2d_X509_SIG(encrypted.pointer, $0) }
            }
        }
    }

    private func privateKeyInfo() throws(CryptoError) -> Handle {
        try unsafe Handle("PKCS#8", release: PKCS8_PRIV_KEY_INFO_free) { _ in unsafe EVP_PKEY2PKCS8(handle.pointer) }
    }
}
