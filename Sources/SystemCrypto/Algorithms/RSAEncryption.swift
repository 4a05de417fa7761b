package import SecureBytes

/// An RSA encryption scheme.
public enum RSAEncryption: Sendable, Hashable {
    /// No padding: the input is as long as the modulus, and smaller as a number.
    case raw
    /// RSAES-PKCS1-v1_5, RFC 8017 §7.2. Wrong padding decrypts to random bytes, not to an error; another PKCS#11 module
    /// that removes the padding itself may report it.
    case pkcs1
    /// RSAES-OAEP, RFC 8017 §7.1.
    case oaep(DigestAlgorithm, mgf1: DigestAlgorithm, label: [UInt8])

    /// OAEP with one hash function and no label.
    public static func oaep(_ digest: DigestAlgorithm) -> RSAEncryption {
        .oaep(digest, mgf1: digest, label: [])
    }

    /// The longest plaintext in bytes, RFC 8017 §7.
    package func maximumLength(modulusLength: Int) -> Int {
        switch self {
        case .raw: modulusLength
        case .pkcs1: modulusLength - RSAPadding.pkcs1Overhead
        case .oaep(let digest, _, _): modulusLength - 2 * digest.byteCount - 2
        }
    }

    /// The plaintext in the block that the bare private-key operation makes from a ciphertext.
    ///
    /// - Throws: `decryptionFailed` for a wrong padding, except that of PKCS#1 v1.5.
    package func plaintext(in block: consuming Secret, ciphertext: [UInt8]) throws(CryptoError) -> Secret {
        switch self {
        case .raw: return block
        case .pkcs1: return try RSAPadding.removePKCS1Decryption(block, ciphertext: ciphertext)
        case .oaep(let digest, let mgf1, let label):
            return try RSAPadding.removeOAEP(block, algorithm: digest, mgf1: mgf1, label: label)
        }
    }
}
