public import KeychainModel
public import SecureBytes
public import SystemCrypto
public import TokenKit

/// A private key, in a file or on a card, where its operations are done.
public protocol KeychainKey: Sendable {
    /// The name of the keychain it is in, ``Keychain/name``.
    var keychainName: String { get }

    /// Its object on the card, or its label.
    var name: String { get }

    /// The public half as a DER SubjectPublicKeyInfo.
    var publicKey: [UInt8] { get }

    /// The certificate that is kept with it, in DER.
    var certificate: [UInt8]? { get }

    /// The slot of the token that it is on; nil for one in a file, or on a card that is in no reader.
    var tokenSlot: (any TokenBackend)? { get }

    /// Whether the key does the algorithm itself. Asks no person and no card.
    ///
    /// What it does not do may still come down to something it does: ``isSupported(_:for:)`` tells that.
    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool

    /// Has the password or PIN asked for that a use of the key needs, where long work comes before that. A PIN is kept in the
    /// context, and presented with the use.
    ///
    /// - Parameter use: as for ``perform(_:use:authentication:)``.
    func askAhead(use: String, authentication: AuthenticationContext) throws(KeychainError)

    /// Signs, decrypts or agrees.
    ///
    /// - Parameters:
    ///   - use: what for, in words that complete "PIN to …".
    ///   - authentication: who is asked where a PIN or password is needed.
    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret
}

extension KeychainKey {
    public var tokenSlot: (any TokenBackend)? { nil }
    public func askAhead(use: String, authentication: AuthenticationContext) throws(KeychainError) {}
}
