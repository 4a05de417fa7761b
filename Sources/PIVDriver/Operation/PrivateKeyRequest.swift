internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The request to the card for a private key's operation, and the treatment of its answer.
///
/// The initialiser finds every fault of an operation before the card is asked.
struct PrivateKeyRequest: Sendable {
    let algorithm: PIVAlgorithm

    /// `81` for a signature or RSA, `85` for a key agreement. SP 800-73-5 part 2 table 7.
    let field: TLVTag
    let input: [UInt8]

    /// Bytes that the answer may have.
    let answerLength: Int

    /// Whether the answer is a secret.
    let isConfidential: Bool
    let completion: Completion

    /// The treatment of the card's answer.
    enum Completion: Sendable {
        /// A signature. It is checked with the public key: a faulty signature may reveal the private key, and another key's
        /// signature shows that the known facts of the slot are out of date.
        case rsaSignature(of: [UInt8], PublicKey)
        case ecdsaSignature(SignatureAlgorithm, of: [UInt8], PublicKey)
        case ed25519Signature(of: [UInt8], PublicKey)
        case decryption(RSAEncryption, of: [UInt8])
        case agreement

        var isSignature: Bool {
            switch self {
            case .rsaSignature, .ecdsaSignature, .ed25519Signature: true
            case .decryption, .agreement: false
            }
        }
    }

    /// - Throws: ``TokenError`` `.invalidArgument` or `.unsupported`.
    init(_ action: TokenOperation.Action, with key: TokenKey, quirks: PIVQuirks) throws(TokenError) {
        let publicKey = try PrivateKeyRequest.publicKey(of: key)
        switch action {
        case .sign(let signature, let input):
            try PrivateKeyRequest.require(.sign, "sign", of: key, publicKey.kind)
            self = try PrivateKeyRequest.sign(input, signature, key, publicKey, quirks)
        case .decrypt(let decryption, let ciphertext):
            try PrivateKeyRequest.require(.decrypt, "decrypt", of: key, publicKey.kind)
            self = try PrivateKeyRequest.decrypt(ciphertext, decryption, key, publicKey)
        case .agree(let peer):
            try PrivateKeyRequest.require(.agree, "be used for key agreement", of: key, publicKey.kind)
            self = try PrivateKeyRequest.agree(with: peer, key, publicKey)
        }
    }

    init(
        _ algorithm: PIVAlgorithm, _ field: TLVTag, _ input: [UInt8], answerLength: Int,
        isConfidential: Bool = false, _ completion: Completion
    ) {
        self.algorithm = algorithm
        self.field = field
        self.input = input
        self.answerLength = answerLength
        self.isConfidential = isConfidential
        self.completion = completion
    }

    private static func publicKey(of key: TokenKey) throws(TokenError) -> PublicKey {
        do { return try PublicKey(spki: key.publicKey) } catch {
            throw TokenError(.unsupported, "this version does not support the algorithm of the key")
        }
    }

    private static func require(_ usage: TokenKey.Usage, _ verb: String, of key: TokenKey, _ kind: KeyKind)
        throws(TokenError)
    {
        guard key.usage.contains(usage) else {
            throw TokenError(.unsupported, "this key, of kind \(kind), cannot \(verb)")
        }
    }
}

extension TokenError {
    /// The error of the host's part of an operation.
    init(_ error: CryptoError, _ what: LocalizedText) {
        let code: Code =
            switch error.code {
            case .unsupported: .unsupported
            case .library: .malformed
            default: .invalidArgument
            }
        self.init(code, "cannot \(what): \(error)")
    }
}
