/// The failure of a token, where PKCS #11 tells more than the result codes of keychains do.
public enum TokenFailure: UInt8, Sendable, CaseIterable {
    /// There is no token in the place.
    case noToken = 1
    /// The token was taken out, or another has come.
    case removed
    case unrecognized
    case cancelled
    /// The key is not there, or another one is in its place.
    case noKey
    /// The key is not for this use.
    case notPermitted
    case invalidInput
    case device
    /// A login has to come first.
    case loginRequired
    case alreadyLoggedIn
    /// The PIN is longer or shorter than the token's are.
    case pinFormat
    /// The PIN has characters that the token does not take.
    case pinCharacters
    case pinIncorrect
    /// No try of the PIN is left, or only the last one, which was not spent.
    case pinLocked
    /// The request has no PIN, and no person can be asked.
    case nobodyToAsk
    case rejected
    case noMemory
    /// Another client gave the PIN, and nobody has allowed this one to use the key.
    case permissionRequired
}
