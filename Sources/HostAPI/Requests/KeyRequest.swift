public import KeychainModel
public import SystemCrypto

/// An operation of a key that a keychain has.
public struct KeyRequest: Sendable, Hashable {
    public enum Operation: Sendable, Hashable {
        /// A signature over a message or a digest, as the algorithm says; with a symmetric key its authentication code.
        case sign([UInt8])
        /// The plaintext.
        case decrypt([UInt8])
        /// The secret agreed with a peer's public key: `04‖X‖Y`, or the 32 bytes of X25519.
        case exchange(peer: [UInt8], KeyExchangeParameters)
    }

    /// The key's item, or an identity, for its key.
    public let key: PersistentReference
    public let algorithm: KeyAlgorithm
    public let operation: Operation

    public init(_ operation: Operation, _ algorithm: KeyAlgorithm, with key: PersistentReference) {
        self.operation = operation
        self.algorithm = algorithm
        self.key = key
    }
}
