/// The use of a credential that a program gives in place of a person's answer.
public enum CredentialKind: UInt8, Sendable, CaseIterable {
    /// The PIN of a card.
    case pin = 1
    /// The password of a keychain.
    case password = 2
    /// The password that an item has beside its keychain's.
    case applicationPassword = 3
}
