internal import COpenSSL
public import SecureBytes

/// A key from a shared secret, ANSI X9.63 §5.6.3 (SEC 1 §3.6.1).
public enum X963KDF {
    /// Derives `count` bytes. `sharedInfo` is known to both sides beside the secret.
    public static func deriveKey(
        from secret: borrowing Secret, sharedInfo: [UInt8], count: Int, using algorithm: DigestAlgorithm
    ) throws(CryptoError) -> Secret {
        var parameters = ParameterList()
        parameters.add(OSSL_KDF_PARAM_DIGEST, text: algorithm.openSSLName)
        parameters.add(OSSL_KDF_PARAM_SECRET, octets: secret.bytes)
        if !sharedInfo.isEmpty { parameters.add(OSSL_KDF_PARAM_INFO, octets: sharedInfo.span) }
        return try KeyDerivation.derive("X963KDF", parameters, count: count)
    }
}
