public import SecureBytes

/// The content of a token's statement that it has made a key itself.
public struct TokenAttestation: Hashable, Sendable {
    /// The key, a SubjectPublicKeyInfo in DER (RFC 5280 §4.1).
    public let publicKey: [UInt8]
    /// The place of the key when the statement was made.
    public let place: TokenObjectID
    /// Nil for the rule of the place.
    public let pinPolicy: PINPolicy?
    public let touchPolicy: TouchPolicy
    /// The facts of the token, in reading order.
    public let facts: [TokenFact]

    public init(
        publicKey: [UInt8], place: TokenObjectID, pinPolicy: PINPolicy?, touchPolicy: TouchPolicy, facts: [TokenFact]
    ) {
        self.publicKey = publicKey
        self.place = place
        self.pinPolicy = pinPolicy
        self.touchPolicy = touchPolicy
        self.facts = facts
    }
}
