internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// A private key whose bytes are in a local keychain.
struct LocalKeychainKey: KeychainKey {
    let keychain: LocalKeychain
    let found: Item
    let publicKey: [UInt8]
    /// Whether the permission to unwrap keys counts, and not the one to decrypt.
    var isUnwrapping = false

    var item: Item? { found }
    var keychainName: String { keychain.name }
    var name: String { found.label ?? "key" }

    /// Certificates have rows of their own; they are paired by the public-key hash.
    var certificate: [UInt8]? { nil }

    /// Whether the key offers an algorithm: its type has it, and the item allows it.
    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        guard let kind = try? PublicKey(spki: publicKey).kind, let permission = operation.permission else {
            return false
        }
        let allows = isUnwrapping ? found[.canUnwrap] ?? found[permission] : found[permission]
        return allows?.isTrue != false && kind.offers(algorithm, for: operation)
    }

    /// A key that asks for each use asks with the use, not ahead.
    func askAhead(use: String, authentication: AuthenticationContext) throws(KeychainError) {
        guard try found.accessControl?.wantsPasscode != true else { return }
        try keychain.unlock(use: use, authentication: authentication)
    }

    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        guard
            let encoded = try keychain.secret(
                of: found.reference, for: action.use, use: use, authentication: authentication)
        else {
            throw KeychainError(.dataNotAvailable, "the key '\(name)' was stored without its private half")
        }
        do throws(CryptoError) {
            return try PrivateKey(encoded: encoded).perform(action)
        } catch {
            throw KeychainError(error)
        }
    }
}

extension KeyOperation {
    /// The attribute that allows a private key the operation; nil for an operation of the public half.
    var permission: Attribute? {
        switch self {
        case .sign: .canSign
        case .decrypt: .canDecrypt
        case .keyExchange: .canDerive
        case .verify, .encrypt: nil
        }
    }
}
