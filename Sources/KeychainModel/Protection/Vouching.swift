/// Whether the keychain's key vouches for the public part of an item: a certificate, a public key or the public half of
/// a private one, and its attributes.
public enum Vouching: UInt8, Sendable, CaseIterable {
    /// The row was stored with the keychain's key, and is unchanged.
    case sealed = 1
    /// The row was stored without the keychain's key, or by another program.
    case unsealed = 2
    /// The keychain is locked, or has not been unlocked since it got the layout in which certificates and public keys have seals.
    case unknown = 3
}
