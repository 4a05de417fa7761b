public import KeychainModel
public import SecureBytes
public import SystemCrypto
public import TokenKit

/// A private key in a file or on a card, whose operations are done where it is.
public protocol KeychainKey: Sendable {
    /// The name of the keychain it is in, ``Keychain/name``.
    var keychainName: String { get }

    /// The name of its object on the card, or its label.
    var name: String { get }

    /// The public half as a DER SubjectPublicKeyInfo.
    var publicKey: [UInt8] { get }

    /// The certificate that is kept with it, in DER.
    var certificate: [UInt8]? { get }

    /// The item of the key; nil for one that is in no keychain.
    var item: Item? { get }

    /// The slot of the token that it is on; nil for one in a file, or on a card that is in no reader.
    var tokenSlot: (any TokenBackend)? { get }

    /// Whether the key does the algorithm itself. Asks no person and no card.
    ///
    /// An algorithm that it does not do may reduce to one that it does: ``isSupported(_:for:)`` tells that.
    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool

    /// Checks the purpose that a token's standard gives the key. Asks no person and no card.
    ///
    /// - Throws: `errSecKeyUsageIncorrect` for an operation that the key could do, and is not meant for.
    func checkPurpose(_ operation: KeyOperation) throws(KeychainError)

    /// Asks for the password or PIN that a use of the key needs, ahead of long work before that use. A PIN is kept in
    /// the context, and presented with the use.
    ///
    /// - Parameter use: as for ``perform(_:use:authentication:)``.
    func askAhead(use: String, authentication: AuthenticationContext) throws(KeychainError)

    /// Signs, decrypts or agrees.
    ///
    /// - Parameters:
    ///   - use: the purpose, in words that complete "PIN to …".
    ///   - authentication: the context that is asked if a PIN or password is needed.
    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret
}

extension KeychainKey {
    public var item: Item? { nil }
    public var tokenSlot: (any TokenBackend)? { nil }
    public func checkPurpose(_ operation: KeyOperation) throws(KeychainError) {}
    public func askAhead(use: String, authentication: AuthenticationContext) throws(KeychainError) {}
}
