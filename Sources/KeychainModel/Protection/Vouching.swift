/// Whether the keychain's key vouches for the public part of an item: a certificate, a public key or the public half of
/// a private one, and its attributes.
public enum Vouching: Sendable {
    /// The row was stored with the keychain's key, and is unchanged.
    case sealed
    /// The row was stored without the keychain's key, or by another program.
    case unsealed
    /// The keychain is locked, or has not been unlocked since it got the layout in which certificates and public keys have seals.
    case unknown
}
