internal import HostAPI
internal import KeychainModel
internal import SystemCrypto

/// A single operation of a private key, which a mechanism consists of.
struct KeyUse: Hashable, Sendable {
    let step: AlgorithmStep
    let input: [UInt8]
    /// Whether the plaintext is a key that is unwrapped.
    var isUnwrapping = false

    private init(_ operation: KeyOperation, _ algorithm: KeyAlgorithm, _ input: [UInt8]) {
        step = AlgorithmStep(operation, algorithm)
        self.input = input
    }

    /// A signature over the input that the algorithm takes.
    static func sign(_ algorithm: SignatureAlgorithm, _ input: [UInt8]) -> KeyUse {
        KeyUse(.sign, .signature(algorithm), input)
    }

    static func decrypt(_ encryption: RSAEncryption, _ ciphertext: [UInt8]) -> KeyUse {
        KeyUse(.decrypt, .encryption(encryption), ciphertext)
    }

    /// The secret that is shared with the holder of another key.
    static func agree(_ peer: [UInt8]) -> KeyUse { KeyUse(.keyExchange, .keyExchange(.standard, nil), peer) }

    var algorithm: KeyAlgorithm { step.algorithm }

    var operation: KeyRequest.Operation {
        switch step.operation {
        case .decrypt: .decrypt(input)
        case .keyExchange: .exchange(peer: input, KeyExchangeParameters())
        default: .sign(input)
        }
    }

    /// The verb for people, in words that complete "PIN to …".
    var verb: String {
        switch step.operation {
        case .decrypt: "decrypt"
        case .keyExchange: "agree on a key"
        default: "sign"
        }
    }
}
