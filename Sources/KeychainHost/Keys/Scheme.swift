internal import SystemCrypto
internal import TokenKit

/// What a ``KeyAlgorithm`` does. The table of all there are, of their names, and of how each is brought back to a simpler
/// one, is in this file.
enum Scheme: Sendable, Hashable {
    /// What is signed: a message that is hashed first, or its digest.
    enum Input: String, Sendable, Hashable, CaseIterable {
        case message, digest
    }

    /// The form of an ECDSA signature: a DER SEQUENCE of r and s (ANSI X9.62), or r‖s (RFC 4754).
    enum SignatureForm: String, Sendable, Hashable, CaseIterable {
        case x962 = "X962"
        case rfc4754 = "RFC4754"
    }

    /// Both are the same on curves whose cofactor is 1, and with X25519, which clears it.
    enum Agreement: String, Sendable, Hashable, CaseIterable {
        case standard = "ECDH"
        case cofactor = "ECDHC"
    }

    /// Where AES-GCM has its initialisation vector from.
    enum InitializationVector: String, Sendable, Hashable, CaseIterable {
        case zero = ""
        case derived = "-KDFIV"
    }

    case rsaSignatureRaw
    /// Without a hash function bytes are padded as they are.
    case rsaSignaturePKCS1(Input, DigestAlgorithm?)
    case rsaSignaturePSS(Input, DigestAlgorithm)
    /// Without a hash function the digest may have any length.
    case ecdsa(Input, DigestAlgorithm?, SignatureForm)
    case ed25519
    case rsaEncryption(RSAEncryption)
    /// A random AES key in OAEP with this hash function, then AES-GCM.
    case rsaHybrid(DigestAlgorithm)
    /// Without a hash function the secret is given as it is, else put through the X9.63 key derivation.
    case keyExchange(Agreement, DigestAlgorithm?)
    case ecies(Agreement, DigestAlgorithm, InitializationVector)
    case aesGCM
    case aesKeyWrap
    case hmac(DigestAlgorithm)
}

// MARK: - All there are

extension Scheme {
    static let all: [Scheme] =
        [.rsaSignatureRaw, .rsaSignaturePKCS1(.digest, nil), .ed25519]
        + [.rsaEncryption(.raw), .rsaEncryption(.pkcs1), .aesGCM, .aesKeyWrap]
        + SignatureForm.allCases.map { .ecdsa(.digest, nil, $0) }
        + Agreement.allCases.map { .keyExchange($0, nil) }
        + DigestAlgorithm.allCases.flatMap(all(with:))

    private static func all(with digest: DigestAlgorithm) -> [Scheme] {
        var schemes: [Scheme] = [.rsaEncryption(.oaep(digest)), .rsaHybrid(digest), .hmac(digest)]
        for input in Input.allCases {
            schemes += [.rsaSignaturePKCS1(input, digest), .rsaSignaturePSS(input, digest)]
            schemes += SignatureForm.allCases.map { .ecdsa(input, digest, $0) }
        }
        for agreement in Agreement.allCases {
            schemes += [.keyExchange(agreement, digest), .ecies(agreement, digest, .zero)]
            // Apple has no name for SHA-1 here.
            if digest != .sha1 { schemes.append(.ecies(agreement, digest, .derived)) }
        }
        return schemes
    }

    /// Apple's name; one in the manner of those where Apple has none.
    var name: String {
        let parts: [String]
        switch self {
        case .rsaSignatureRaw: parts = ["sign:RSA:raw"]
        case .rsaSignaturePKCS1(let input, let digest): parts = ["sign:RSA:\(input)-PKCS1v15", digest?.name ?? ""]
        case .rsaSignaturePSS(let input, let digest):
            // Apple's constants say 24 of SHA-224; the salt has 28 bytes all the same.
            let salt = digest == .sha224 ? 24 : digest.byteCount
            parts = ["sign:RSA:\(input)-PSS", digest.name, digest.name, "\(salt)"]
        case .ecdsa(let input, let digest, let form):
            parts = ["sign:ECDSA:\(input)-\(form.rawValue)", digest?.name ?? ""]
        case .ed25519: parts = ["sign:EdDSA:message-Curve25519:SHA512"]
        case .rsaEncryption(.raw): parts = ["encrypt:RSA:raw"]
        case .rsaEncryption(.pkcs1): parts = ["encrypt:RSA:PKCS1"]
        case .rsaEncryption(.oaep(let digest, _, _)): parts = ["encrypt:RSA:OAEP", digest.name]
        case .rsaHybrid(let digest): parts = ["encrypt:RSA:OAEP", digest.name, "AESGCM"]
        case .keyExchange(let agreement, let digest):
            parts = ["keyexchange:\(agreement.rawValue)"] + (digest.map { ["KDFX963", $0.name] } ?? [])
        case .ecies(let agreement, let digest, let vector):
            parts = ["encrypt:ECIES:\(agreement.rawValue):KDFX963", digest.name, "AESGCM\(vector.rawValue)"]
        case .aesGCM: parts = ["encrypt:AES:GCM"]
        case .aesKeyWrap: parts = ["encrypt:AES:KW"]
        case .hmac(let digest): parts = ["sign:HMAC", digest.name]
        }
        return (["algid"] + parts.filter { !$0.isEmpty }).joined(separator: ":")
    }
}

// MARK: - Names in errors

extension Scheme {
    /// The algorithm's name in errors, as in "RSA-PSS with SHA-256".
    var title: String {
        switch self {
        case .rsaSignatureRaw, .rsaEncryption(.raw): "RSA without padding"
        case .rsaSignaturePKCS1(let input, let digest): "RSA PKCS#1 v1.5\(Scheme.with(digest, input))"
        case .rsaSignaturePSS(let input, let digest): "RSA-PSS\(Scheme.with(digest, input))"
        case .ecdsa(let input, let digest, let form):
            "ECDSA\(form == .rfc4754 ? " in the form of RFC 4754" : "")\(Scheme.with(digest, input))"
        case .ed25519: "Ed25519"
        case .rsaEncryption(.pkcs1): "RSA PKCS#1 v1.5"
        case .rsaEncryption(.oaep(let digest, _, _)): "RSA-OAEP\(Scheme.with(digest))"
        case .rsaHybrid(let digest): "RSA-OAEP\(Scheme.with(digest)) and AES-GCM"
        case .keyExchange(let agreement, let digest):
            "\(agreement.title)\(digest == nil ? "" : " and X9.63 key derivation")\(Scheme.with(digest))"
        case .ecies(let agreement, let digest, let vector):
            "ECIES by \(agreement.title)\(Scheme.with(digest))\(vector == .derived ? " and a derived vector" : "")"
        case .aesGCM: "AES-GCM"
        case .aesKeyWrap: "AES key wrap"
        case .hmac(let digest): "HMAC\(Scheme.with(digest))"
        }
    }

    private static func with(_ digest: DigestAlgorithm?, _ input: Input = .message) -> String {
        (digest.map { " with \($0.title)" } ?? "") + (input == .digest ? " over a digest" : "")
    }
}

extension Scheme.Agreement {
    fileprivate var title: String { self == .standard ? "ECDH" : "cofactor ECDH" }
}

extension DigestAlgorithm {
    fileprivate var name: String { rawValue.uppercased() }
    fileprivate var title: String { "SHA-\(rawValue.dropFirst(3))" }
}

// MARK: - Which keys they are for

extension Scheme {
    /// Whether a private or public key of this kind and size can do it at all.
    func suits(_ kind: KeyKind) -> Bool {
        switch (self, kind) {
        case (.rsaSignatureRaw, .rsa), (.rsaSignaturePKCS1(_, nil), .rsa), (.rsaEncryption(.raw), .rsa),
            (.rsaEncryption(.pkcs1), .rsa):
            true
        case (.rsaSignaturePKCS1(_, let digest?), .rsa(let bits)):
            (bits + 7) / 8 >= RSAPadding.digestInfoLength(digest) + RSAPadding.pkcs1Overhead
        case (.rsaSignaturePSS(_, let digest), .rsa(let bits)), (.rsaHybrid(let digest), .rsa(let bits)),
            (.rsaEncryption(.oaep(let digest, _, _)), .rsa(let bits)):
            (bits + 7) / 8 >= 2 * digest.byteCount + 2
        case (.ecdsa, _), (.ecies, _): kind.isEC
        case (.keyExchange, _): kind.isEC || kind == .x25519
        case (.ed25519, _): kind == .ed25519
        default: false
        }
    }
}

// MARK: - What they come down to

/// An operation of a private key by an algorithm.
struct AlgorithmStep: Sendable, Hashable {
    let scheme: Scheme
    let operation: KeyOperation

    /// The next simpler step: message → digest → padded block → the bare operation.
    ///
    /// Nil for a bare operation, and where the algorithm does not do the operation at all.
    var simpler: AlgorithmStep? {
        switch (operation, scheme) {
        case (.sign, .rsaSignaturePKCS1(.message, let digest)): sign(.rsaSignaturePKCS1(.digest, digest))
        case (.sign, .rsaSignaturePKCS1(.digest, .some)): sign(.rsaSignaturePKCS1(.digest, nil))
        case (.sign, .rsaSignaturePKCS1(.digest, nil)): sign(.rsaSignatureRaw)
        case (.sign, .rsaSignaturePSS(.message, let digest)): sign(.rsaSignaturePSS(.digest, digest))
        case (.sign, .rsaSignaturePSS(.digest, _)): sign(.rsaSignatureRaw)
        case (.sign, .ecdsa(.message, let digest, let form)): sign(.ecdsa(.digest, digest, form))
        case (.sign, .ecdsa(.digest, let digest, .rfc4754)): sign(.ecdsa(.digest, digest, .x962))
        case (.sign, .ecdsa(.digest, .some, .x962)): sign(.ecdsa(.digest, nil, .x962))
        case (.decrypt, .rsaHybrid(let digest)): decrypt(.rsaEncryption(.oaep(digest)))
        case (.decrypt, .rsaEncryption(.pkcs1)), (.decrypt, .rsaEncryption(.oaep)): decrypt(.rsaEncryption(.raw))
        case (.decrypt, .ecies(let agreement, let digest, _)): exchange(.keyExchange(agreement, digest))
        case (.keyExchange, .keyExchange(.cofactor, let digest)): exchange(.keyExchange(.standard, digest))
        case (.keyExchange, .keyExchange(.standard, .some)): exchange(.keyExchange(.standard, nil))
        default: nil
        }
    }

    /// What a key is told that does the step itself; nil where there is no way to tell it.
    func action(_ input: [UInt8]) -> TokenOperation.Action? {
        switch (operation, scheme) {
        case (.sign, .rsaSignatureRaw): .sign(.rsaRaw, input)
        case (.sign, .rsaSignaturePKCS1(.digest, let digest?)): .sign(.rsaPKCS1(digest), input)
        case (.sign, .rsaSignaturePKCS1(.digest, nil)): .sign(.rsaPKCS1(nil), input)
        case (.sign, .rsaSignaturePSS(.digest, let digest)):
            .sign(.rsaPSS(digest), input)
        case (.sign, .ecdsa(.digest, nil, .x962)): .sign(.ecdsa(nil), input)
        case (.sign, .ed25519): .sign(.ed25519, input)
        case (.decrypt, .rsaEncryption(.raw)): .decrypt(.raw, input)
        case (.decrypt, .rsaEncryption(.pkcs1)): .decrypt(.pkcs1, input)
        case (.decrypt, .rsaEncryption(.oaep(let digest, _, _))): .decrypt(.oaep(digest), input)
        case (.keyExchange, .keyExchange(.standard, nil)): .agree(input)
        default: nil
        }
    }

    private func sign(_ scheme: Scheme) -> AlgorithmStep { AlgorithmStep(scheme: scheme, operation: .sign) }
    private func decrypt(_ scheme: Scheme) -> AlgorithmStep { AlgorithmStep(scheme: scheme, operation: .decrypt) }
    private func exchange(_ scheme: Scheme) -> AlgorithmStep {
        AlgorithmStep(scheme: scheme, operation: .keyExchange)
    }
}
