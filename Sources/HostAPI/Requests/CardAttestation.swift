public import SecureBytes

/// The content of a card's statement that it has made a key itself.
public struct CardAttestation: Sendable, Hashable {
    /// The key, a SubjectPublicKeyInfo in DER (RFC 5280 §4.1).
    public let publicKey: [UInt8]
    /// The slot of the key when the statement was made.
    public let slot: String
    /// Nil for the slot's own rule.
    public let pinPolicy: PINPolicy?
    public let touchPolicy: TouchPolicy
    /// The facts of the card, in reading order.
    public let facts: [CardFact]

    public init(
        publicKey: [UInt8], slot: String, pinPolicy: PINPolicy?, touchPolicy: TouchPolicy, facts: [CardFact]
    ) {
        self.publicKey = publicKey
        self.slot = slot
        self.pinPolicy = pinPolicy
        self.touchPolicy = touchPolicy
        self.facts = facts
    }
}
