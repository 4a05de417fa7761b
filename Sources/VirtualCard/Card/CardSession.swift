/// The state that a virtual card loses with its power or by a reset.
struct CardSession: Sendable {
    enum Application: Sendable {
        case none, piv, oneTimePassword
    }

    /// A management-key authentication under way. SP 800-73-5 part 2 §3.2.4.
    enum ManagementExchange: Sendable {
        /// The card waits for this challenge, encrypted.
        case challenge([UInt8])
        /// The card waits for this witness, decrypted.
        case witness([UInt8])
    }

    var application = Application.none
    var verified: Set<PINReference> = []

    /// Whether the PIN was verified and not used since, as a key of policy "always" requires.
    var pinIsFresh = false
    var isManagementAuthenticated = false
    var managementExchange: ManagementExchange?

    /// When the card was last touched for a key of policy "cached".
    var cachedTouch: Duration?

    /// The number of challenges that the card has given.
    var challengeCount = 0

    /// Clears the state, with all authentications to the PIV application.
    mutating func deselect() {
        self = CardSession()
    }
}
