/// The one vocabulary of algorithms: how a key signs, encrypts, agrees on a secret or makes a code, and on which input.
///
/// PKCS#11 mechanisms, Apple's names and the command's options map to these values, each in one table.
public enum KeyAlgorithm: Sendable, Hashable {
    /// Diffie-Hellman on a curve. Both cases are the same on curves whose cofactor is 1, and with X25519, which clears it.
    public enum Agreement: String, Sendable, Hashable, CaseIterable {
        case standard = "ECDH"
        case cofactor = "ECDHC"
    }

    /// The source of AES-GCM's initialisation vector.
    public enum InitializationVector: String, Sendable, Hashable, CaseIterable {
        case zero = ""
        case derived = "-KDFIV"
    }

    /// A signature over the algorithm's input: a digest, a block, or with Ed25519 the message.
    case signature(SignatureAlgorithm)
    /// A signature over a message, which is hashed first by the algorithm's hash function.
    case messageSignature(SignatureAlgorithm)
    case encryption(RSAEncryption)
    /// A random AES key in OAEP with this hash function, then AES-GCM under it.
    case rsaHybrid(DigestAlgorithm)
    /// A shared secret, unchanged or after the X9.63 key derivation with this hash function.
    case keyExchange(Agreement, DigestAlgorithm?)
    /// AES-GCM under a key agreed with a key pair of the message: the AES key comes from the X9.63 derivation with this
    /// hash function.
    case ecies(Agreement, DigestAlgorithm, InitializationVector)
    /// AES-GCM with a symmetric key, SP 800-38D: the initialisation vector of 96 bits, which is random and new for each message,
    /// then the ciphertext, then the tag of 128 bits. One key may encrypt 2³² messages (§8.3).
    case aesGCM
    /// AES key wrap with a symmetric key, RFC 3394: encrypts keys whose length is a multiple of 8 bytes, and at least 16. The
    /// result is 8 bytes longer.
    case aesKeyWrap
    /// HMAC over the message with a symmetric key, FIPS 198-1; the code is as long as the digest.
    case hmac(DigestAlgorithm)
}

/// An operation of a key, by the numbers of Apple's `SecKeyOperationType`.
public enum KeyOperation: Int, Sendable, Hashable, CaseIterable {
    case sign = 0
    case verify, encrypt, decrypt, keyExchange
}

// MARK: - Keys of an algorithm

extension KeyAlgorithm {
    /// Whether a private or public key of this kind and size can use the algorithm.
    package func suits(_ kind: KeyKind) -> Bool {
        switch (self, kind) {
        case (.signature(let algorithm), _), (.messageSignature(let algorithm), _):
            algorithm.suits(kind) && algorithm.fits(kind)
        case (.encryption(let encryption), .rsa):
            if case .oaep(let digest, _, _) = encryption {
                kind.modulusLength >= 2 * digest.byteCount + 2
            } else {
                true
            }
        case (.rsaHybrid(let digest), .rsa): kind.modulusLength >= 2 * digest.byteCount + 2
        case (.ecies, _): kind.isEC
        case (.keyExchange, _): kind.agrees
        default: false
        }
    }
}

extension SignatureAlgorithm {
    /// Whether an RSA key is long enough for the padding.
    fileprivate func fits(_ kind: KeyKind) -> Bool {
        switch self {
        case .rsaPKCS1(let digest?):
            kind.modulusLength >= RSAPadding.digestInfoLength(digest) + RSAPadding.pkcs1Overhead
        case .rsaPSS(let digest, _, let saltLength):
            kind.modulusLength - digest.byteCount - 2 >= saltLength ?? 0
        case .rsaRaw, .rsaPKCS1(nil), .ecdsa, .ed25519: true
        }
    }
}

extension KeyKind {
    /// Whether keys of the kind can agree on a secret.
    package var agrees: Bool { isEC || self == .x25519 }

    /// Bytes of an RSA modulus; 0 for other kinds.
    var modulusLength: Int {
        guard case .rsa(let bits) = self else { return 0 }
        return (bits + 7) / 8
    }
}

// MARK: - Names in errors

extension KeyAlgorithm: CustomStringConvertible {
    /// The algorithm's name in errors, as in "RSA-PSS with SHA-256".
    public var description: String {
        switch self {
        case .signature(let algorithm): algorithm.description + (algorithm.takesDigest ? " over a digest" : "")
        case .messageSignature(let algorithm): algorithm.description
        case .encryption(.raw): "RSA without padding"
        case .encryption(.pkcs1): "RSA PKCS#1 v1.5"
        case .encryption(.oaep(let digest, _, _)): "RSA-OAEP\(with(digest))"
        case .rsaHybrid(let digest): "RSA-OAEP\(with(digest)) and AES-GCM"
        case .keyExchange(let agreement, let digest):
            "\(agreement)\(digest == nil ? "" : " and X9.63 key derivation")\(with(digest))"
        case .ecies(let agreement, let digest, let vector):
            "ECIES by \(agreement)\(with(digest))\(vector == .derived ? " and a derived vector" : "")"
        case .aesGCM: "AES-GCM"
        case .aesKeyWrap: "AES key wrap"
        case .hmac(let digest): "HMAC\(with(digest))"
        }
    }
}

extension SignatureAlgorithm: CustomStringConvertible {
    public var description: String {
        switch self {
        case .rsaRaw: "RSA without padding"
        case .rsaPKCS1(let digest): "RSA PKCS#1 v1.5\(with(digest))"
        case .rsaPSS(let digest, _, _): "RSA-PSS\(with(digest))"
        case .ecdsa(let digest, let form): "ECDSA\(form == .rfc4754 ? " in the form of RFC 4754" : "")\(with(digest))"
        case .ed25519: "Ed25519"
        }
    }

    fileprivate var takesDigest: Bool { self != .rsaRaw && self != .ed25519 }
}

extension KeyAlgorithm.Agreement: CustomStringConvertible {
    public var description: String { self == .standard ? "ECDH" : "cofactor ECDH" }
}

private func with(_ digest: DigestAlgorithm?) -> String { digest.map { " with SHA-\($0.rawValue.dropFirst(3))" } ?? "" }
