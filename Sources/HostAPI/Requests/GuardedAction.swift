public import KeychainModel

/// An action that may need a PIN or a password.
public enum GuardedAction: Sendable, Hashable {
    /// The use of a private key.
    case use(of: PersistentReference)
    /// An addition to a keychain, or the change of a secret in it.
    case change(of: KeychainIdentifier)
    /// The reading of secrets in a keychain.
    case reading(of: KeychainIdentifier)
}
