import ItemDictionaries
import SecureBytes
import Synchronization
import SystemCrypto
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// A key that does only the RSA primitive, as the simplest cards do.
final class DoesRawRSAOnly: KeychainKey {
    private let key: PrivateKey
    private let log = Mutex<[String]>([])

    init(_ key: PrivateKey) {
        self.key = key
    }

    /// The `use` texts of the operations so far.
    var uses: [String] { log.withLock { $0 } }

    let keychainName = "plain"
    let name = "raw"
    var publicKey: [UInt8] { key.publicKey.spki }
    var certificate: [UInt8]? { nil }

    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        (operation == .sign && algorithm == .signature(.rsaRaw))
            || (operation == .decrypt && algorithm == .encryption(.raw))
    }

    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        log.withLock { $0.append(use) }
        do throws(CryptoError) {
            switch action {
            case .sign(.rsaRaw, let block), .decrypt(.raw, let block): return try key.rsaPrivateOperation(block)
            default: throw CryptoError(.unsupported, "anything else")
            }
        } catch {
            throw KeychainError(error)
        }
    }
}

extension KeychainKey {
    func signed(_ input: [UInt8], _ algorithm: KeyAlgorithm, _ context: AuthenticationContext = .owner) throws
        -> [UInt8]
    {
        try sign(input, using: algorithm, use: "sign it", authentication: context)
    }

    func decrypted(
        _ input: [UInt8], _ algorithm: KeyAlgorithm, sharedInfo: [UInt8] = [], _ context: AuthenticationContext = .owner
    ) throws -> [UInt8] {
        try decrypt(input, using: algorithm, sharedInfo: sharedInfo, use: "open it", authentication: context)
            .copiedBytes
    }

    func exchanged(
        _ peer: [UInt8], _ algorithm: KeyAlgorithm, _ parameters: KeyExchangeParameters = .init()
    ) throws -> [UInt8] {
        try keyExchange(with: peer, using: algorithm, parameters, use: "agree", authentication: .owner).copiedBytes
    }
}

extension LocalKeychain {
    /// The bytes of a key as SecItem gives them: PKCS#1, X9.63, or those of a symmetric key.
    func externalRepresentation(
        of key: Item, authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> Secret {
        let session = KeychainSession(searchList: SearchList(locals: [self]), authentication: authentication)
        let query: ItemDictionary = ["v_PersistentRef": .data(key.reference.encoded()), "r_Data": .bool(true)]
        switch try session.copyMatching(query).found {
        case .secret(let shared)?: return shared.secret.clone()
        case .data(let bytes)?: return Secret(copying: bytes.span)
        default: throw KeychainError(.internal)
        }
    }
}

extension TestKeychain {
    /// Stores a symmetric key, and returns it as a program finds it.
    func add(
        symmetric bytes: [UInt8], _ type: KeyType = .aes, _ attributes: Attributes = [:]
    ) throws -> SymmetricKey {
        let item = try keychain.add(.symmetricKey(Secret(copying: bytes.span), type: type, attributes))
        return SymmetricKey(item, in: keychain)
    }
}

extension SymmetricKey {
    /// A random key in memory.
    static func generate(
        _ type: KeyType = .aes, bits: Int = 256, _ attributes: Attributes = [:]
    ) throws -> SymmetricKey {
        try SymmetricKey(type.randomKey(bits: bits), type: type, attributes)
    }

    func encrypted(
        _ input: [UInt8], _ algorithm: KeyAlgorithm, _ associated: [UInt8] = [],
        context: AuthenticationContext = .owner
    ) throws -> [UInt8] {
        try encrypt(input.span, using: algorithm, authenticating: associated, use: "use it", authentication: context)
    }

    func decrypted(
        _ input: [UInt8], _ algorithm: KeyAlgorithm, _ associated: [UInt8] = [],
        context: AuthenticationContext = .owner
    ) throws -> [UInt8] {
        try decrypt(input, using: algorithm, authenticating: associated, use: "use it", authentication: context)
            .copiedBytes
    }

    func signed(
        _ input: [UInt8], _ digest: DigestAlgorithm, _ context: AuthenticationContext = .owner
    ) throws -> [UInt8] {
        try sign(input, using: .hmac(digest), use: "use it", authentication: context)
    }

    func verified(
        _ code: [UInt8], _ input: [UInt8], _ digest: DigestAlgorithm, _ context: AuthenticationContext = .owner
    ) throws -> Bool {
        try verify(code, of: input, using: .hmac(digest), use: "use it", authentication: context)
    }
}
