internal import COpenSSL
public import SecureBytes

/// A key from a password, at a cost of memory and time for each guess of an attacker. RFC 7914.
public enum Scrypt {
    /// The most memory a derivation may take, in bytes. Costs that need more come from a damaged or hostile file.
    public static let memoryLimit: UInt64 = 1 << 30

    /// Derives `count` bytes.
    ///
    /// - Parameters:
    ///   - n: the cost, a power of two above 1.
    ///   - r: the block size, in units of 128 bytes.
    ///   - p: the number of repetitions of the mixing.
    /// - Throws: `invalidLength` for invalid costs, or costs that need more than `memoryLimit`.
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
        // OpenSSL's own limit of 32 MiB is below the recommendation of RFC 7914 §2. It counts some blocks more than
        // `needsMemory`.
        parameters.add(OSSL_KDF_PARAM_SCRYPT_MAXMEM, number: memoryLimit + memoryLimit / 8)
        return try KeyDerivation.derive("SCRYPT", parameters, count: count)
    }

    /// The memory of the costs, 128·r·(n + p) bytes; the greatest number where that overflows.
    private static func needsMemory(n: UInt64, r: UInt32, p: UInt32) -> UInt64 {
        let (blocks, addition) = n.addingReportingOverflow(UInt64(p))
        let (bytes, multiplication) = blocks.multipliedReportingOverflow(by: 128 * UInt64(r))
        return addition || multiplication ? .max : bytes
    }
}
