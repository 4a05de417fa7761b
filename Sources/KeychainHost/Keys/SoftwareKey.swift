internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// A private key in memory that is in no keychain.
struct SoftwareKey: KeychainKey {
    private let key: PrivateKey
    public let keychainName: String
    public let name: String

    init(_ key: PrivateKey, name: String = "key") {
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
        case .sign(let algorithm, let input): try perform(AlgorithmStep(.sign, .signature(algorithm)), input)
        case .decrypt(let encryption, let input): try perform(AlgorithmStep(.decrypt, .encryption(encryption)), input)
        case .agree(let peer): try perform(AlgorithmStep(.keyExchange, .keyExchange(.standard, nil)), peer)
        }
    }
}
