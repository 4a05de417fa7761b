internal import PKCS11Mechanisms
internal import CCryptoki
internal import SystemCrypto

/// An authentication code: HMAC with a secret key. PKCS #11 §6.22 to §6.26.
struct CodeScheme: Sendable {
    let digest: DigestAlgorithm
    /// Bytes that a code has.
    let length: Int

    /// - Throws: `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`.
    init(_ request: MechanismRequest, key: CryptokiObject) throws(CryptokiError) {
        guard case .hmac(let digest, let isGeneral) = try request.use(for: CKF_SIGN) else {
            throw MechanismRequest.unknown
        }
        guard [CKK_GENERIC_SECRET, digest.numbers.hmacKey].contains(key.keyType) else {
            throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT)
        }
        self.digest = digest
        guard isGeneral else {
            try request.requireNoParameter()
            length = digest.byteCount
            return
        }
        guard case .codeLength(let count) = request.parameter, 1...CK_ULONG(digest.byteCount) ~= count else {
            throw CryptokiError(CKR_MECHANISM_PARAM_INVALID)
        }
        length = Int(count)
    }

    /// - Throws: `CKR_SIGNATURE_LEN_RANGE`, `CKR_SIGNATURE_INVALID`.
    func verify(_ code: [UInt8], against full: [UInt8]) throws(CryptokiError) {
        guard code.count == length else { throw CryptokiError(CKR_SIGNATURE_LEN_RANGE) }
        guard ConstantTime.isEqual(Array(full.prefix(length)), code) else { throw CryptokiError(CKR_SIGNATURE_INVALID) }
    }
}

/// A signature scheme of a key pair, or a code of a secret key.
enum SigningScheme: Sendable {
    case signature(SignatureScheme)
    case code(CodeScheme)

    /// The bytes of the signature or code.
    var length: Int {
        switch self {
        case .signature(let scheme): scheme.signatureLength
        case .code(let scheme): scheme.length
        }
    }

    /// - Parameter input: the signed data, its digest, or its code.
    /// - Throws: `CKR_SIGNATURE_LEN_RANGE`, `CKR_SIGNATURE_INVALID`, `CKR_DATA_LEN_RANGE`.
    func verify(_ signature: [UInt8], of input: [UInt8]) throws(CryptokiError) {
        switch self {
        case .signature(let scheme): try scheme.verify(signature, of: input)
        case .code(let scheme): try scheme.verify(signature, against: input)
        }
    }
}
