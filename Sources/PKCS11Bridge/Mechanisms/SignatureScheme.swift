internal import PKCS11Mechanisms
internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto

/// A mechanism that signs or verifies, with its parameter and key.
struct SignatureScheme: Sendable {
    private let algorithm: SignatureAlgorithm
    private let key: PublicKey

    /// The hash function that the mechanism applies; nil where it signs its input.
    let digest: DigestAlgorithm?

    /// - Throws: `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`,
    ///   `CKR_KEY_SIZE_RANGE` for a key too short for the padding.
    init(_ request: MechanismRequest, key: PublicKey) throws(CryptokiError) {
        let use = try request.use(for: CKF_SIGN)
        guard use.suits(key.kind) else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        self.key = key
        switch use {
        case .pss(let digest):
            self.digest = digest
            algorithm = try SignatureScheme.pss(request.parameter, digest: digest, key)
        case .messageSignature(let algorithm):
            try request.requireNoParameter()
            digest = algorithm.digestAlgorithm
            self.algorithm = algorithm
        case .signature(let algorithm):
            // The parameter of Ed25519 selects variants that no token here has; an empty one counts as none.
            if algorithm != .ed25519 { try request.requireNoParameter() }
            if case .bytes = request.parameter { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
            digest = nil
            self.algorithm = algorithm
        default: throw MechanismRequest.unknown
        }
    }

    private static func pss(
        _ parameter: MechanismRequest.Parameter, digest: DigestAlgorithm?, _ key: PublicKey
    ) throws(CryptokiError) -> SignatureAlgorithm {
        guard case .pss(let hash, let mgf, let saltLength) = parameter,
            let hash = DigestAlgorithm(hash, as: \.mechanism),
            let mgf1 = DigestAlgorithm(mgf, as: \.mgf), digest == nil || digest == hash,
            let saltLength = Int(exactly: saltLength), let bits = key.kind.bits
        else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
        guard saltLength <= bits / 8, (bits - 1 + 7) / 8 >= hash.byteCount + saltLength + 2 else {
            throw CryptokiError(CKR_MECHANISM_PARAM_INVALID, "the salt does not fit the key")
        }
        return .rsaPSS(hash, mgf1: mgf1, saltLength: saltLength)
    }

    /// The bytes of a signature.
    var signatureLength: Int {
        switch algorithm {
        case .rsaRaw, .rsaPKCS1, .rsaPSS: keyLength
        case .ecdsa: 2 * (key.kind.coordinateLength ?? 0)
        case .ed25519: 64
        }
    }

    private var keyLength: Int { ((key.kind.bits ?? 0) + 7) / 8 }

    /// The most bytes of input in parts: no limit where parts are digested as they come, else the bytes that are collected.
    var inputLimit: Int {
        switch algorithm {
        case .rsaRaw, .rsaPKCS1, .rsaPSS, .ecdsa: digest == nil ? max(keyLength, 1024) : .max
        case .ed25519: SignatureScheme.messageLimit
        }
    }

    /// Ed25519 signs the message itself. A card takes no more than an extended command holds.
    private static let messageLimit = 1 << 20

    // MARK: Signing

    /// The use of the private key to sign.
    ///
    /// - Parameter input: the data to sign, or its digest where ``digest`` is set.
    /// - Throws: `CKR_DATA_LEN_RANGE`.
    func use(for input: [UInt8]) throws(CryptokiError) -> KeyUse {
        switch algorithm {
        case .rsaRaw:
            guard !input.isEmpty, input.count <= keyLength else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
            return .sign(algorithm, padded(input))
        case .rsaPKCS1(nil), .rsaPSS:
            try CryptokiError.mapping { () throws(CryptoError) in
                try AlgorithmStep(.sign, .signature(algorithm)).check(input, for: key)
            }
        case .ecdsa:
            guard !input.isEmpty else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
        case .rsaPKCS1, .ed25519: break
        }
        return .sign(algorithm, input)
    }

    /// Pads the input of `CKM_RSA_X_509` with leading zeros to the length of the modulus. PKCS #11 §6.1.5.
    private func padded(_ input: [UInt8]) -> [UInt8] {
        [UInt8](repeating: 0, count: keyLength - input.count) + input
    }

    // MARK: Verifying

    /// - Throws: `CKR_SIGNATURE_LEN_RANGE`, `CKR_SIGNATURE_INVALID`, `CKR_DATA_LEN_RANGE`.
    func verify(_ signature: [UInt8], of input: [UInt8]) throws(CryptokiError) {
        guard signature.count == signatureLength else { throw CryptokiError(CKR_SIGNATURE_LEN_RANGE) }
        if algorithm == .rsaRaw, input.count > keyLength { throw CryptokiError(CKR_DATA_LEN_RANGE) }
        let isRight = try CryptokiError.mapping { () throws(CryptoError) in
            try key.verify(signature, of: algorithm == .rsaRaw ? padded(input) : input, using: algorithm)
        }
        guard isRight else { throw CryptokiError(CKR_SIGNATURE_INVALID) }
    }
}
