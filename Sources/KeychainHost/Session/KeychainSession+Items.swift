internal import KeychainModel
internal import SecureBytes

extension KeychainSession {
    /// The secret of an item: a password, a key's PKCS #8 or its bytes; nil where it has none.
    ///
    /// - Parameter use: completes "password to …".
    /// - Throws: `errSecItemNotFound` if its keychain is not in the search list, `errSecDataNotAvailable` for what is on a
    ///   token, `errSecInteractionNotAllowed` if a password is needed and nobody can be asked.
    func secret(of item: Item, use: String) throws(KeychainError) -> Secret? {
        guard let keychain = searchList.members.first(where: { $0.isIdentified(by: item.keychain) }) else {
            throw KeychainError(.itemNotFound, "the keychain of the item is not in the search list")
        }
        return try keychain.secret(of: item, use: use, authentication: authentication)
    }
}
