public import SystemCrypto

/// What a key is to do, as a value: nothing happens until a token performs it.
public struct TokenOperation: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        case sign(SignatureAlgorithm, [UInt8])
        case decrypt(DecryptionAlgorithm, [UInt8])

        /// A Diffie-Hellman shared secret with the peer's public key: an uncompressed X9.62 point, or the 32 bytes of
        /// RFC 7748 for X25519.
        case agree([UInt8])
    }

    public let key: TokenObjectID
    public let action: Action

    /// The DER of the `SubjectPublicKeyInfo` of the key that is meant: another that took its place is not used. Nil for
    /// whichever is there.
    public let publicKey: [UInt8]?

    public init(key: TokenObjectID, action: Action, publicKey: [UInt8]? = nil) {
        self.key = key
        self.action = action
        self.publicKey = publicKey
    }
}

extension TokenOperation {
    /// How a signature is made, and of what.
    public enum SignatureAlgorithm: Hashable, Sendable {
        /// The RSA private-key primitive over a block as long as the modulus (RFC 8017 §5.2.1).
        case rsaRaw
        /// PKCS#1 v1.5 over a digest (RFC 8017 §8.2).
        case rsaPKCS1(DigestAlgorithm)
        /// PKCS#1 v1.5 padding around bytes as they are, which is PKCS#11's `CKM_RSA_PKCS`.
        case rsaPKCS1Unprefixed
        /// PSS over a digest, MGF1 with the same hash (RFC 8017 §8.1). The salt's length is in bytes.
        case rsaPSS(DigestAlgorithm, saltLength: Int)
        /// ECDSA over a digest, cut to the curve's size (FIPS 186-5 §6.4.1). The signature is a DER SEQUENCE of r and s.
        case ecdsa
        /// Ed25519 over the message itself (RFC 8032 §5.1).
        case ed25519
    }

    /// How a ciphertext is to be opened.
    public enum DecryptionAlgorithm: Hashable, Sendable {
        /// The RSA private-key primitive; the answer is as long as the modulus.
        case rsaRaw
        /// PKCS#1 v1.5 (RFC 8017 §7.2). A wrong padding is no error: it gives random bytes. The token of another module that
        /// has no raw RSA removes the padding itself, and may report a wrong one.
        case rsaPKCS1
        /// OAEP with MGF1 of the same hash and an empty label (RFC 8017 §7.1).
        case rsaOAEP(DigestAlgorithm)
    }
}
