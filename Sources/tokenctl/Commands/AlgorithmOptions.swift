public import ArgumentParser
internal import KeychainModel
internal import Localization
public import SystemCrypto

// The only place that names algorithms for the command line.

extension DigestAlgorithm: ExpressibleByArgument {}

/// The padding of an RSA signature.
enum SignaturePadding: String, CaseIterable, ExpressibleByArgument {
    case pkcs1, pss
}

/// The padding of an RSA message.
enum EncryptionPadding: String, CaseIterable, ExpressibleByArgument {
    case pkcs1, oaep
}

extension SignatureAlgorithm {
    /// The algorithm by which a kind of key signs.
    ///
    /// - Throws: `errSecInvalidAlgorithm` for a kind that cannot sign.
    fileprivate init(
        _ kind: KeyKind, _ digest: DigestAlgorithm, _ padding: SignaturePadding
    ) throws(KeychainError) {
        switch (kind, padding) {
        case (.rsa, .pkcs1): self = .rsaPKCS1(digest)
        case (.rsa, .pss): self = .rsaPSS(digest)
        case (.ecP256, _), (.ecP384, _), (.ecP521, _): self = .ecdsa(digest)
        case (.ed25519, _): self = .ed25519
        default: throw KeychainError(.invalidAlgorithm, "keys of kind \(kind) cannot sign")
        }
    }

    /// The algorithm that checks a signature. It accepts any length of the salt in PSS, since programs choose different ones.
    var withAnySalt: SignatureAlgorithm {
        guard case .rsaPSS(let digest, let mgf1, _) = self else { return self }
        return .rsaPSS(digest, mgf1: mgf1, saltLength: nil)
    }
}

/// The options of a signature that both sides must agree on.
struct SignatureOptions: ParsableArguments {
    @Option(name: .customLong("digest"), help: "The hash function; with Ed25519 there is no choice. (default: sha256)")
    var givenDigest: DigestAlgorithm?

    @Option(name: .customLong("padding"), help: "The padding of an RSA signature. (default: pkcs1)")
    var givenPadding: SignaturePadding?

    var digest: DigestAlgorithm { givenDigest ?? .sha256 }

    private var padding: SignaturePadding { givenPadding ?? .pkcs1 }

    /// - Throws: for an option that means nothing to a key of the kind, and for a kind that cannot sign.
    func algorithm(for kind: KeyKind) throws -> SignatureAlgorithm {
        let algorithm = try SignatureAlgorithm(kind, digest, padding)
        if algorithm == .ed25519, givenDigest != nil { throw KeyOptions.isUseless("--digest", kind.description) }
        if !kind.isRSA, givenPadding != nil { throw KeyOptions.isUseless("--padding", kind.description) }
        return algorithm
    }

    /// The algorithm of a symmetric key.
    ///
    /// - Throws: for an option that means nothing to it.
    func code(for key: Item) throws -> KeyAlgorithm {
        guard givenPadding == nil else { throw KeyOptions.isUseless("--padding", key.keyType.symmetricName) }
        return .hmac(digest)
    }

    /// The facts of a signature, for programs.
    func facts(of algorithm: SignatureAlgorithm, _ kind: KeyKind) -> [String: String] {
        var facts = ["algorithm": kind.description]
        facts["digest"] = algorithm.digestAlgorithm?.rawValue
        if kind.isRSA { facts["padding"] = padding.rawValue }
        return facts
    }
}

/// The options of an RSA message that both sides must agree on.
struct EncryptionOptions: ParsableArguments {
    @Option(help: "The padding of an RSA message. (default: oaep)")
    var padding: EncryptionPadding?

    @Option(help: "The hash function of the padding oaep. (default: sha1)")
    var digest: DigestAlgorithm?

    func validate() throws {
        guard padding != .pkcs1 || digest == nil else {
            throw ValidationError(localized: "the padding pkcs1 has no hash function (--digest)")
        }
    }

    var algorithm: RSAEncryption { padding == .pkcs1 ? .pkcs1 : .oaep(digest ?? .sha1) }

    /// - Parameter kind: the name of the key's kind.
    /// - Throws: for options that mean nothing to a key that is not one of RSA.
    func check(for kind: String, isRSA: Bool) throws {
        guard !isRSA else { return }
        if padding != nil { throw KeyOptions.isUseless("--padding", kind) }
        if digest != nil { throw KeyOptions.isUseless("--digest", kind) }
    }
}
