package import SecureBytes
package import SystemCrypto

// Tokens do the bare RSA operation; what comes before and after it is done here, once for all drivers.

extension TokenOperation.SignatureAlgorithm {
    /// The block that the private key is applied to; the input itself where that is the block.
    ///
    /// - Throws: ``CryptoError`` `.invalidLength` for a digest or salt that does not fit.
    package func rsaBlock(of input: [UInt8], bits: Int) throws(CryptoError) -> [UInt8] {
        let keyBytes = (bits + 7) / 8
        switch self {
        case .rsaPKCS1(let digest):
            return try RSAPadding.pkcs1Signature(digest: input, algorithm: digest, keyBytes: keyBytes)
        case .rsaPKCS1Unprefixed:
            return try RSAPadding.pkcs1Raw(input, keyBytes: keyBytes)
        case .rsaPSS(let digest, let saltLength):
            guard (0..<keyBytes).contains(saltLength) else { throw CryptoError(.invalidLength, "PSS salt") }
            return try RSAPadding.pss(
                digest: input, algorithm: digest, mgf1: digest, salt: RandomBytes.make(count: saltLength), keyBits: bits
            )
        case .rsaRaw, .ecdsa, .ed25519: return input
        }
    }
}

extension TokenOperation.DecryptionAlgorithm {
    /// The plaintext in the block that the private key made of a ciphertext.
    ///
    /// - Throws: ``CryptoError`` `.decryptionFailed` where the padding is wrong, save that of PKCS#1 v1.5.
    package func plaintext(in block: consuming Secret, ciphertext: [UInt8]) throws(CryptoError) -> Secret {
        switch self {
        case .rsaRaw: return block
        case .rsaPKCS1: return try RSAPadding.removePKCS1Decryption(block, ciphertext: ciphertext)
        case .rsaOAEP(let digest): return try RSAPadding.removeOAEP(block, algorithm: digest, mgf1: digest)
        }
    }
}
