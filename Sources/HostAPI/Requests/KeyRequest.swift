public import KeychainModel
public import SecureBytes
public import SystemCrypto

/// An operation of a key.
public struct KeyRequest: Sendable, Equatable {
    public enum Key: Sendable, Equatable {
        /// A key's item, or an identity, for its key.
        case item(PersistentReference)
        case given(GivenKey)
    }

    public enum Operation: Sendable, Equatable {
        /// A signature over a message or a digest, as the algorithm says; with a symmetric key its authentication code.
        case sign([UInt8])
        /// Whether a signature or authentication code is the key's. The result is empty, and a wrong one an error.
        case verify([UInt8], of: [UInt8])
        /// The ciphertext of a plaintext.
        case encrypt(SharedSecret)
        /// The plaintext of a ciphertext.
        case decrypt([UInt8])
        /// The secret agreed with a peer's public key: `04‖X‖Y`, or the 32 bytes of X25519.
        case exchange(peer: [UInt8], KeyExchangeParameters)
    }

    public let key: Key
    public let algorithm: KeyAlgorithm
    public let operation: Operation
    /// Whether the client has logged in for this one use (``KeychainService/logIn(to:forOneUse:_:)``).
    public var isAuthorized = false
    /// Whether the plaintext is a key that is unwrapped: the key's permission for that counts then, and not the one to decrypt.
    public var isUnwrapping = false

    public init(_ operation: Operation, _ algorithm: KeyAlgorithm, with key: Key) {
        self.operation = operation
        self.algorithm = algorithm
        self.key = key
    }

    public init(_ operation: Operation, _ algorithm: KeyAlgorithm, with key: PersistentReference) {
        self.init(operation, algorithm, with: .item(key))
    }
}

/// A key that is in no keychain.
public struct GivenKey: Sendable, Equatable {
    public let attributes: Attributes
    /// The SubjectPublicKeyInfo of a public or private key, in DER.
    public let der: [UInt8]?
    /// The private key in PKCS #8, or the bytes of a symmetric key.
    public let secret: SharedSecret?

    /// - Parameter item: the item that the key would be in a keychain.
    public init(_ item: NewItem) { self.init(item.attributes, der: item.der, secret: item.secret) }

    init(_ attributes: Attributes, der: [UInt8]?, secret: SharedSecret?) {
        self.attributes = attributes
        self.der = der
        self.secret = secret
    }
}
