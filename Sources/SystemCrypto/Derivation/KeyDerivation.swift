internal import COpenSSL
internal import SecureBytes

/// Wraps `EVP_KDF_derive`.
enum KeyDerivation {
    /// More than any key needs, in bytes.
    private static let maximumLength = 1 << 20

    static func derive(_ name: String, _ parameters: borrowing ParameterList, count: Int) throws(CryptoError) -> Secret
    {
        guard 1...maximumLength ~= count else { throw CryptoError(.invalidLength, name) }
        let algorithm = try unsafe Handle(name, failing: .unsupported, release: EVP_KDF_free) { context in
            unsafe EVP_KDF_fetch(context, name, nil)
        }
        let handle = try unsafe Handle(name, release: EVP_KDF_CTX_free) { _ in
            unsafe EVP_KDF_CTX_new(algorithm.pointer)
        }
        return try unsafe parameters.withPointer { parameters throws(CryptoError) in
            try unsafe Secret(capacity: count, name) { _, start, count in
                unsafe EVP_KDF_derive(handle.pointer, start, count, parameters) == 1
            }
        }
    }
}
