public import SystemCrypto

/// A key's operation as a value, for a token to perform.
public struct TokenOperation: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        /// A signature over a digest, or over the input that the algorithm takes.
        case sign(SignatureAlgorithm, [UInt8])
        case decrypt(RSAEncryption, [UInt8])

        /// A Diffie-Hellman shared secret with the peer's public key: an uncompressed X9.62 point, or the 32 bytes of
        /// RFC 7748 for X25519.
        case agree([UInt8])
    }

    public let key: TokenObjectID
    public let action: Action

    /// The DER of the `SubjectPublicKeyInfo` of the intended key, so that another key in its place is not used; nil for any key.
    public let publicKey: [UInt8]?

    /// Whether a person has allowed it with a PIN that another client gave.
    public var isPermitted = false

    public init(key: TokenObjectID, action: Action, publicKey: [UInt8]? = nil) {
        self.key = key
        self.action = action
        self.publicKey = publicKey
    }
}

extension TokenOperation.Action {
    /// The action of a key that performs the step itself; nil for a step that consists of simpler ones.
    package init?(_ step: AlgorithmStep, _ input: [UInt8]) {
        switch (step.operation, step.algorithm) {
        case (.sign, .signature(let algorithm)): self = .sign(algorithm, input)
        case (.decrypt, .encryption(let encryption)): self = .decrypt(encryption, input)
        case (.keyExchange, .keyExchange(.standard, nil)): self = .agree(input)
        default: return nil
        }
    }
}
