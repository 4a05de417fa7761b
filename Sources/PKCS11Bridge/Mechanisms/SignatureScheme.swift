internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// How a signature is made or checked: a mechanism with its parameter, for one key.
struct SignatureScheme: Sendable {
    private enum Form: Sendable {
        case rsaRaw
        case rsaPKCS1
        case rsaPSS(hash: DigestAlgorithm, mgf1: DigestAlgorithm, saltLength: Int)
        case ecdsa
        case ed25519
    }

    private let form: Form
    private let key: PublicKey

    /// The hash function that the mechanism applies; nil where it signs what it is given.
    let digest: DigestAlgorithm?

    /// - Throws: `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`,
    ///   `CKR_KEY_SIZE_RANGE` for a key too short for the padding.
    init(_ request: MechanismRequest, key: PublicKey) throws(CryptokiError) {
        guard let row = MechanismTable.signatures.first(where: { $0.type == request.type }) else {
            throw MechanismRequest.unknown
        }
        guard row.form.suits(key.kind) else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        if row.form != .rsaPSS, row.form != .ed25519 { try request.requireNoParameter() }
        self.key = key
        digest = row.digest
        switch row.form {
        case .rsaRaw: form = .rsaRaw
        case .rsaPKCS1: form = .rsaPKCS1
        case .rsaPSS: form = try SignatureScheme.pss(request.parameter, digest: row.digest, key)
        case .ecdsa: form = .ecdsa
        // Its parameter is for variants of Ed25519 that no token here has; an empty one is none.
        case .ed25519:
            if case .bytes = request.parameter { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
            form = .ed25519
        }
    }

    private static func pss(
        _ parameter: MechanismRequest.Parameter, digest: DigestAlgorithm?, _ key: PublicKey
    ) throws(CryptokiError) -> Form {
        guard case .pss(let hash, let mgf, let saltLength) = parameter, let hash = DigestAlgorithm(mechanism: hash),
            let mgf1 = DigestAlgorithm(mgf: mgf), digest == nil || digest == hash,
            let saltLength = Int(exactly: saltLength), let bits = key.kind.bits
        else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
        guard saltLength <= bits / 8, (bits - 1 + 7) / 8 >= hash.byteCount + saltLength + 2 else {
            throw CryptokiError(CKR_MECHANISM_PARAM_INVALID, "the salt does not fit the key")
        }
        return .rsaPSS(hash: hash, mgf1: mgf1, saltLength: saltLength)
    }

    /// Bytes that a signature has.
    var signatureLength: Int {
        switch form {
        case .rsaRaw, .rsaPKCS1, .rsaPSS: keyLength
        case .ecdsa: 2 * (key.kind.coordinateLength ?? 0)
        case .ed25519: 64
        }
    }

    private var keyLength: Int { ((key.kind.bits ?? 0) + 7) / 8 }

    /// Whether the input can come in parts: a digest takes them as they come, others are collected.
    var inputLimit: Int {
        switch form {
        case .rsaRaw, .rsaPKCS1, .rsaPSS, .ecdsa: digest == nil ? max(keyLength, 1024) : .max
        case .ed25519: SignatureScheme.messageLimit
        }
    }

    /// Ed25519 takes the message as it is; a card takes no more than an extended command holds.
    private static let messageLimit = 1 << 20

    // MARK: Signing

    /// What a private key is asked to do for it.
    ///
    /// - Parameter input: what is signed, or its digest where ``digest`` says so.
    /// - Throws: `CKR_DATA_LEN_RANGE`.
    func action(for input: [UInt8]) throws(CryptokiError) -> TokenOperation.Action {
        switch form {
        case .rsaRaw:
            guard !input.isEmpty, input.count <= keyLength else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
            return .sign(.rsaRaw, [UInt8](repeating: 0, count: keyLength - input.count) + input)
        case .rsaPKCS1:
            if let digest { return .sign(.rsaPKCS1(digest), input) }
            guard input.count + RSAPadding.pkcs1Overhead <= keyLength else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
            return .sign(.rsaPKCS1Unprefixed, input)
        case .rsaPSS(let hash, let mgf1, let saltLength):
            guard input.count == hash.byteCount else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
            let bits = key.kind.bits ?? 0
            let block = try CryptokiError.mapping { () throws(CryptoError) in
                try RSAPadding.pss(
                    digest: input, algorithm: hash, mgf1: mgf1, salt: RandomBytes.make(count: saltLength), keyBits: bits
                )
            }
            return .sign(.rsaRaw, block)
        case .ecdsa:
            guard !input.isEmpty else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
            return .sign(.ecdsa, input)
        case .ed25519: return .sign(.ed25519, input)
        }
    }

    /// The signature as the standard has it: ECDSA as r‖s (PKCS #11 §6.3.1).
    func signature(from result: borrowing Secret) throws(CryptokiError) -> [UInt8] {
        let bytes = result.bytes
        let signature = bytes.indices.map { bytes[$0] }
        guard case .ecdsa = form, let length = key.kind.coordinateLength else { return signature }
        return try CryptokiError.mapping(invalid: CKR_DEVICE_ERROR) { () throws(CryptoError) in
            try ECDSASignature.fixedWidth(fromDER: signature, coordinateLength: length)
        }
    }

    // MARK: Verifying

    /// - Throws: `CKR_SIGNATURE_LEN_RANGE`, `CKR_SIGNATURE_INVALID`, `CKR_DATA_LEN_RANGE`.
    func verify(_ signature: [UInt8], of input: [UInt8]) throws(CryptokiError) {
        guard signature.count == signatureLength else { throw CryptokiError(CKR_SIGNATURE_LEN_RANGE) }
        let isRight = try CryptokiError.mapping { () throws(CryptoError) in try isValid(signature, of: input) }
        guard isRight else { throw CryptokiError(CKR_SIGNATURE_INVALID) }
    }

    private func isValid(_ signature: [UInt8], of input: [UInt8]) throws(CryptoError) -> Bool {
        switch form {
        case .rsaRaw:
            guard input.count <= keyLength else { throw CryptoError(.invalidLength, "RSA block") }
            // The public operation is what encrypts without a padding; it fails for a number that is not below the modulus.
            guard let opened = try? key.encrypt(signature, using: .raw) else { return false }
            return opened.drop { $0 == 0 }.elementsEqual(input.drop { $0 == 0 })
        case .rsaPKCS1: return try key.verify(signature, digest: input, using: .rsaPKCS1(digest))
        case .rsaPSS(let hash, let mgf1, let saltLength):
            return try key.verify(signature, digest: input, using: .rsaPSS(hash, mgf1: mgf1, saltLength: saltLength))
        case .ecdsa:
            return try key.verify(ECDSASignature.der(fromFixedWidth: signature), digest: input, using: .ecdsa(nil))
        case .ed25519: return try key.verify(signature, message: input, using: .ed25519)
        }
    }
}
