internal import COpenSSL

/// A private key in memory, held by OpenSSL and wiped with the last reference.
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
