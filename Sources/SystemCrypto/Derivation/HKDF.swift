internal import COpenSSL
public import SecureBytes

/// A key from another key, RFC 5869.
public enum HKDF {
    /// Extracts and expands `count` bytes for the purpose that `info` names.
    public static func deriveKey(
        from secret: borrowing Secret, salt: [UInt8] = [], info: [UInt8], count: Int,
        using algorithm: DigestAlgorithm = .sha256
    ) throws(CryptoError) -> Secret {
        guard count <= 255 * algorithm.byteCount else { throw CryptoError(.invalidLength, "HKDF") }
        var parameters = ParameterList()
        parameters.add(OSSL_KDF_PARAM_DIGEST, text: algorithm.openSSLName)
        parameters.add(OSSL_KDF_PARAM_KEY, octets: secret.bytes)
        if !salt.isEmpty { parameters.add(OSSL_KDF_PARAM_SALT, octets: salt.span) }
        if !info.isEmpty { parameters.add(OSSL_KDF_PARAM_INFO, octets: info.span) }
        return try KeyDerivation.derive("HKDF", parameters, count: count)
    }
}
