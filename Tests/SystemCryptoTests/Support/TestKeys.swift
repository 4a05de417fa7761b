import SystemCrypto
import Testing

/// Keys made once for all tests: an RSA key takes time.
enum TestKeys {
    static let kinds: [KeyKind] = [.rsa(bits: 2048), .ecP256, .ecP384, .ecP521, .ed25519, .x25519]
    static let signingKinds: [KeyKind] = kinds.filter { $0 != .x25519 }

    private static let all = Result {
        try Dictionary(uniqueKeysWithValues: kinds.map { ($0, try PrivateKey.generate($0)) })
    }

    /// A key of one of `kinds`.
    static func key(_ kind: KeyKind) throws -> PrivateKey {
        try #require(try all.get()[kind])
    }

    static func rsa() throws -> PrivateKey { try key(.rsa(bits: 2048)) }

    /// An algorithm that a kind of key signs with.
    static func algorithm(_ kind: KeyKind, _ digest: DigestAlgorithm = .sha256) -> SignatureAlgorithm {
        switch kind {
        case .rsa: .rsaPKCS1(digest)
        case .ed25519: .ed25519
        default: .ecdsa(digest)
        }
    }

    /// A self-signed certificate of a key, valid from 2020 to 2040.
    static func certificate(_ kind: KeyKind, commonName: String = "Test") throws -> Certificate {
        let key = try key(kind)
        return try CertificateBuilder(
            commonName: commonName, publicKey: key.publicKey, notBefore: 1_577_836_800, notAfter: 2_208_988_800
        ).selfSigned(by: key)
    }
}
