/// How a signature is made.
public enum SignatureAlgorithm: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5, RFC 8017 §8.2. Without a digest algorithm the input itself is padded, as TLS 1.1 does.
    case rsaPKCS1(DigestAlgorithm?)
    /// RSASSA-PSS, RFC 8017 §8.1; the salt's length is in bytes. Nil stands for the length that a signature has, and so
    /// serves to verify only.
    case rsaPSS(DigestAlgorithm, mgf1: DigestAlgorithm, saltLength: Int?)
    /// ECDSA, FIPS 186-5 §6; the signature is the DER of an `ECDSA-Sig-Value`. The digest algorithm serves to sign a
    /// message; a digest may come from any.
    case ecdsa(DigestAlgorithm?)
    /// Ed25519, RFC 8032 §5.1. It signs messages only.
    case ed25519

    /// PSS as everybody uses it: one hash function, and a salt as long as its digest.
    public static func rsaPSS(_ digest: DigestAlgorithm) -> SignatureAlgorithm {
        .rsaPSS(digest, mgf1: digest, saltLength: digest.byteCount)
    }

    /// The hash function that a message goes through first.
    public var digestAlgorithm: DigestAlgorithm? {
        switch self {
        case .rsaPKCS1(let digest), .ecdsa(let digest): digest
        case .rsaPSS(let digest, _, _): digest
        case .ed25519: nil
        }
    }
}

/// How RSA encrypts.
public enum RSAEncryption: Sendable, Hashable {
    /// No padding: the input is as long as the modulus, and smaller as a number.
    case raw
    /// RSAES-PKCS1-v1_5, RFC 8017 §7.2.
    case pkcs1
    /// RSAES-OAEP, RFC 8017 §7.1.
    case oaep(DigestAlgorithm, mgf1: DigestAlgorithm, label: [UInt8])

    /// OAEP with one hash function and no label.
    public static func oaep(_ digest: DigestAlgorithm) -> RSAEncryption {
        .oaep(digest, mgf1: digest, label: [])
    }
}
