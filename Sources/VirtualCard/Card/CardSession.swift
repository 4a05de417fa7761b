/// What a virtual card forgets when it is reset or loses its power.
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

    /// Whether the PIN was verified and nothing has used it up yet: what a key of policy "always" asks for.
    var pinIsFresh = false
    var isManagementAuthenticated = false
    var managementExchange: ManagementExchange?

    /// When the card was last touched for a key of policy "cached".
    var cachedTouch: Duration?

    /// How many challenges the card has given.
    var challengeCount = 0

    /// Forgets what was proved to the PIV application.
    mutating func deselect() {
        self = CardSession()
    }
}
