internal import SecureBytes

/// An algorithm that makes a signature from a digest, or with Ed25519 from the message itself.
public enum SignatureAlgorithm: Sendable, Hashable {
    /// The form of an ECDSA signature.
    public enum Form: String, Sendable, Hashable, CaseIterable {
        /// The DER of an `ECDSA-Sig-Value`, a SEQUENCE of r and s (ANSI X9.62, RFC 3279 §2.2.3).
        case x962 = "X962"
        /// r‖s, each as long as a coordinate (RFC 4754, PKCS #11 §6.3.1).
        case rfc4754 = "RFC4754"
    }

    /// The RSA private-key primitive over a block as long as the modulus, RFC 8017 §5.2.1.
    case rsaRaw
    /// RSASSA-PKCS1-v1_5, RFC 8017 §8.2. Without a digest algorithm the input itself is padded, as TLS 1.1 does.
    case rsaPKCS1(DigestAlgorithm?)
    /// RSASSA-PSS, RFC 8017 §8.1; the salt's length is in bytes. Nil stands for any length that a signature has, and is for
    /// verification only.
    case rsaPSS(DigestAlgorithm, mgf1: DigestAlgorithm, saltLength: Int?)
    /// ECDSA, FIPS 186-5 §6. Without a digest algorithm the digest may have any length, and is cut to the curve's size
    /// (§6.4.1).
    case ecdsa(DigestAlgorithm?, Form = .x962)
    /// Ed25519, RFC 8032 §5.1. It signs messages only.
    case ed25519

    /// PSS with MGF1 of the same hash function.
    public static func rsaPSS(_ digest: DigestAlgorithm, saltLength: Int) -> SignatureAlgorithm {
        .rsaPSS(digest, mgf1: digest, saltLength: saltLength)
    }

    /// PSS in its usual form: one hash function, and a salt as long as its digest.
    public static func rsaPSS(_ digest: DigestAlgorithm) -> SignatureAlgorithm {
        .rsaPSS(digest, saltLength: digest.byteCount)
    }

    /// The hash function that is applied to a message first; nil for none.
    public var digestAlgorithm: DigestAlgorithm? {
        switch self {
        case .rsaPKCS1(let digest), .ecdsa(let digest, _): digest
        case .rsaPSS(let digest, _, _): digest
        case .rsaRaw, .ed25519: nil
        }
    }

    /// Whether keys of the kind sign by the algorithm, apart from limits of their size.
    package func suits(_ kind: KeyKind) -> Bool {
        switch self {
        case .rsaRaw, .rsaPKCS1, .rsaPSS: kind.isRSA
        case .ecdsa: kind.isEC
        case .ed25519: kind == .ed25519
        }
    }
}

// MARK: - Steps

extension SignatureAlgorithm {
    /// The next simpler algorithm: digest → padded block → the bare operation. Nil for a bare operation.
    var simpler: SignatureAlgorithm? {
        switch self {
        case .rsaPKCS1(.some): .rsaPKCS1(nil)
        case .rsaPKCS1(nil), .rsaPSS: .rsaRaw
        case .ecdsa(let digest, .rfc4754): .ecdsa(digest)
        case .ecdsa(.some, .x962): .ecdsa(nil)
        case .rsaRaw, .ecdsa(nil, .x962), .ed25519: nil
        }
    }

    /// The input of the next simpler algorithm.
    ///
    /// - Throws: `invalidLength` for a digest, salt or input that does not fit the algorithm and the key.
    func prepare(_ input: [UInt8], for kind: KeyKind) throws(CryptoError) -> [UInt8] {
        switch self {
        case .rsaPKCS1(let digest?): return try RSAPadding.digestInfo(input, algorithm: digest)
        case .rsaPKCS1(nil): return try RSAPadding.pkcs1Raw(input, keyBytes: kind.modulusLength)
        case .rsaPSS(let digest, let mgf1, let saltLength):
            guard let saltLength, 0..<max(kind.modulusLength, 1) ~= saltLength else {
                throw CryptoError(.invalidLength, "PSS salt")
            }
            return try RSAPadding.pss(
                digest: input, algorithm: digest, mgf1: mgf1, salt: RandomBytes.make(count: saltLength),
                keyBits: kind.bits ?? 0)
        case .ecdsa(let digest?, _):
            guard input.count == digest.byteCount else {
                throw CryptoError(.invalidLength, "digest of \(input.count) bytes")
            }
            return input
        case .rsaRaw, .ecdsa(nil, _), .ed25519: return input
        }
    }

    /// The input of the bare operation, for keys that have no other: the padded block of RSA, the digest of ECDSA, the message of
    /// Ed25519.
    ///
    /// - Throws: `invalidLength` for a digest, salt or input that does not fit the algorithm and the key.
    package func bareInput(of input: [UInt8], for kind: KeyKind) throws(CryptoError) -> [UInt8] {
        var (algorithm, input) = (self, input)
        while let simpler = algorithm.simpler {
            input = try algorithm.prepare(input, for: kind)
            algorithm = simpler
        }
        return input
    }

    /// The signature in the algorithm's form, from the bare operation's result, which is DER for ECDSA.
    ///
    /// - Throws: `malformed` for anything but an `ECDSA-Sig-Value` of the key's curve.
    package func signature(fromBare signature: [UInt8], of kind: KeyKind) throws(CryptoError) -> [UInt8] {
        guard case .ecdsa(_, .rfc4754) = self else { return signature }
        return try ECDSASignature.fixedWidth(fromDER: signature, coordinateLength: kind.coordinateLength ?? 0)
    }

    /// An ECDSA signature in the algorithm's form, from r‖s.
    ///
    /// - Throws: `invalidLength` for no bytes or an odd number of them.
    package func signature(fromFixedWidth signature: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard case .ecdsa(_, .x962) = self else { return signature }
        return try ECDSASignature.der(fromFixedWidth: signature)
    }
}
