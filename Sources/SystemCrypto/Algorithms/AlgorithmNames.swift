// Apple's names of algorithms, `SecKeyAlgorithm`: the one table of them. Keychain semantics 4.5.
extension KeyAlgorithm {
    /// Every algorithm that has a name.
    public static let all: [KeyAlgorithm] =
        [.signature(.rsaRaw), .signature(.rsaPKCS1(nil)), .signature(.ed25519)]
        + [.encryption(.raw), .encryption(.pkcs1), .aesGCM, .aesKeyWrap]
        + SignatureAlgorithm.Form.allCases.map { .signature(.ecdsa(nil, $0)) }
        + Agreement.allCases.map { .keyExchange($0, nil) }
        + DigestAlgorithm.allCases.flatMap(all(with:))

    private static func all(with digest: DigestAlgorithm) -> [KeyAlgorithm] {
        let signatures: [SignatureAlgorithm] =
            [.rsaPKCS1(digest), .rsaPSS(digest)] + SignatureAlgorithm.Form.allCases.map { .ecdsa(digest, $0) }
        var algorithms: [KeyAlgorithm] = [.encryption(.oaep(digest)), .rsaHybrid(digest), .hmac(digest)]
        algorithms += signatures.flatMap { [.signature($0), .messageSignature($0)] }
        for agreement in Agreement.allCases {
            algorithms += [.keyExchange(agreement, digest), .ecies(agreement, digest, .zero)]
            // Apple has no name for SHA-1 here.
            if digest != .sha1 { algorithms.append(.ecies(agreement, digest, .derived)) }
        }
        return algorithms
    }

    /// The algorithm of one of the names; nil for any other.
    public init?(rawValue: String) {
        guard let algorithm = KeyAlgorithm.named[rawValue] else { return nil }
        self = algorithm
    }

    private static let named: [String: KeyAlgorithm] = {
        var named = Dictionary(uniqueKeysWithValues: all.map { ($0.rawValue, $0) })
        // The older value of `kSecKeyAlgorithmECDSASignatureRFC4754`, from before its names had hash functions.
        named["algid:sign:ECDSA:RFC4754"] = .signature(.ecdsa(nil, .rfc4754))
        return named
    }()

    /// Apple's name, `algid:sign:RSA:message-PKCS1v15:SHA256`, or a name of that form where Apple has none. Algorithms
    /// that differ only in parts that are not in the name, such as salt or label, share a name.
    public var rawValue: String {
        let parts: [String]
        switch self {
        case .signature(let algorithm): parts = algorithm.nameParts("digest")
        case .messageSignature(let algorithm): parts = algorithm.nameParts("message")
        case .encryption(.raw): parts = ["encrypt:RSA:raw"]
        case .encryption(.pkcs1): parts = ["encrypt:RSA:PKCS1"]
        case .encryption(.oaep(let digest, _, _)): parts = ["encrypt:RSA:OAEP", digest.name]
        case .rsaHybrid(let digest): parts = ["encrypt:RSA:OAEP", digest.name, "AESGCM"]
        case .keyExchange(let agreement, let digest):
            parts = ["keyexchange:\(agreement.rawValue)"] + (digest.map { ["KDFX963", $0.name] } ?? [])
        case .ecies(let agreement, let digest, let vector):
            parts = ["encrypt:ECIES:\(agreement.rawValue):KDFX963", digest.name, "AESGCM\(vector.rawValue)"]
        case .aesGCM: parts = ["encrypt:AES:GCM"]
        case .aesKeyWrap: parts = ["encrypt:AES:KW"]
        case .hmac(let digest): parts = ["sign:HMAC", digest.name]
        }
        return (["algid"] + parts).joined(separator: ":")
    }
}

extension SignatureAlgorithm {
    fileprivate func nameParts(_ input: String) -> [String] {
        switch self {
        case .rsaRaw: return ["sign:RSA:raw"]
        case .rsaPKCS1(let digest): return ["sign:RSA:\(input)-PKCS1v15"] + (digest.map { [$0.name] } ?? [])
        case .rsaPSS(let digest, _, _):
            // Apple's constants have 24 for SHA-224, although the salt has 28 bytes.
            let salt = digest == .sha224 ? 24 : digest.byteCount
            return ["sign:RSA:\(input)-PSS", digest.name, digest.name, "\(salt)"]
        case .ecdsa(let digest, let form):
            return ["sign:ECDSA:\(input)-\(form.rawValue)"] + (digest.map { [$0.name] } ?? [])
        case .ed25519: return ["sign:EdDSA:message-Curve25519:SHA512"]
        }
    }
}

extension DigestAlgorithm {
    fileprivate var name: String { rawValue.uppercased() }
}
