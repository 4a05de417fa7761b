public import KeychainModel
public import SecureBytes
public import SystemCrypto
public import TokenKit

/// A private key in memory that is in no keychain.
public struct SoftwareKey: KeychainKey {
    private let key: PrivateKey
    public let keychainName: String
    public let name: String

    public init(_ key: PrivateKey, name: String = "key") {
        self.key = key
        self.name = name
        keychainName = "memory"
    }

    public var publicKey: [UInt8] { key.publicKey.spki }
    public var certificate: [UInt8]? { nil }

    public func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        key.kind.offers(algorithm, for: operation)
    }

    public func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        do throws(CryptoError) {
            return try key.perform(action)
        } catch {
            throw KeychainError(error)
        }
    }
}

extension KeyKind {
    /// Whether OpenSSL does the operation with a private key of this kind in one step.
    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        TokenOperation.Action(AlgorithmStep(operation, algorithm), []) != nil && algorithm.suits(self)
    }
}

extension PrivateKey {
    /// Performs in software the operations that a card performs on the card.
    func perform(_ action: TokenOperation.Action) throws(CryptoError) -> Secret {
        switch action {
        case .sign(.rsaRaw, let block), .decrypt(.raw, let block): return try rsaPrivateOperation(block)
        case .sign(let algorithm, let input):
            var signature = try sign(input, using: algorithm)
            return Secret(consuming: &signature)
        case .decrypt(let encryption, let ciphertext): return try decrypt(ciphertext, using: encryption)
        case .agree(let peer):
            let key = kind.isEC ? try PublicKey(ecPoint: peer, curve: kind) : try PublicKey(raw: peer, kind: kind)
            return try sharedSecret(with: key)
        }
    }
}
