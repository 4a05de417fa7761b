internal import COpenSSL
public import SecureBytes

/// A key from a password, at a price in memory and time that an attacker pays for each guess. RFC 7914.
public enum Scrypt {
    /// The most memory a derivation may take, in bytes. Costs that need more come from a damaged or hostile file.
    public static let memoryLimit: UInt64 = 1 << 30

    /// Derives `count` bytes.
    ///
    /// - Parameters:
    ///   - n: the cost, a power of two above 1.
    ///   - r: the block size, in units of 128 bytes.
    ///   - p: how often the mixing is repeated.
    /// - Throws: `invalidLength` for costs that are no costs or need more than `memoryLimit`.
    public static func deriveKey(
        password: borrowing Secret, salt: [UInt8], n: UInt64, r: UInt32, p: UInt32, count: Int
    ) throws(CryptoError) -> Secret {
        guard n > 1, n & (n - 1) == 0, r > 0, p > 0, needsMemory(n: n, r: r, p: p) <= memoryLimit else {
            throw CryptoError(.invalidLength, "scrypt cost")
        }
        var parameters = ParameterList()
        parameters.add(OSSL_KDF_PARAM_PASSWORD, octets: password.bytes)
        parameters.add(OSSL_KDF_PARAM_SALT, octets: salt.span)
        parameters.add(OSSL_KDF_PARAM_SCRYPT_N, number: n)
        parameters.add(OSSL_KDF_PARAM_SCRYPT_R, number: UInt64(r))
        parameters.add(OSSL_KDF_PARAM_SCRYPT_P, number: UInt64(p))
        // OpenSSL's own limit is 32 MiB, below what RFC 7914 §2 recommends; it counts some blocks more than we do.
        parameters.add(OSSL_KDF_PARAM_SCRYPT_MAXMEM, number: memoryLimit + memoryLimit / 8)
        return try KeyDerivation.derive("SCRYPT", parameters, count: count)
    }

    /// 128·r·(n + p) bytes, or as much as can be written down.
    private static func needsMemory(n: UInt64, r: UInt32, p: UInt32) -> UInt64 {
        let (blocks, addition) = n.addingReportingOverflow(UInt64(p))
        let (bytes, multiplication) = blocks.multipliedReportingOverflow(by: 128 * UInt64(r))
        return addition || multiplication ? .max : bytes
    }
}
