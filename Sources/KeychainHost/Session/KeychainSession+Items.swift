internal import KeychainModel
internal import SecureBytes

extension KeychainSession {
    /// The secret of an item: a password, a key's PKCS #8 or its bytes; nil for an item without one.
    ///
    /// - Parameter use: completes "password to …".
    /// - Throws: `errSecNoSuchKeychain` if its keychain is neither in the search list nor open,
    ///   `errSecDataNotAvailable` for an item on a token, `errSecInteractionNotAllowed` if a password is needed and no
    ///   person can be asked.
    func secret(of item: Item, use: String) throws(KeychainError) -> Secret? {
        try keychain(of: item).secret(of: item, use: use, authentication: authentication)
    }
}
