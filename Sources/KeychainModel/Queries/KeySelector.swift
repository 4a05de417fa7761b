/// A name of a private key.
public enum KeySelector: Hashable, Sendable {
    /// Every private key.
    case any
    /// By its object on a card (`9A`), or its label in a local keychain.
    case name(String)
    /// By its name, for a signature. A key on a card may be taken from what is remembered of the card; the signature
    /// fails if the key is gone.
    case signer(String)
    /// By its label alone, for which a whole card is read.
    case label(String)
    /// By the SHA-1 of its public key, which its certificates carry as well.
    case publicKeyHash([UInt8])
    /// By its `CKA_ID` on a token.
    case cryptokiID([UInt8])
    /// By the reference of its item. A search list takes the reference of an identity or a certificate as well.
    case reference(PersistentReference)
}
