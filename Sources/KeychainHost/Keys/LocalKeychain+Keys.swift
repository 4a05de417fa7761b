internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension LocalKeychain {
    /// A private key that is to leave the keychain.
    ///
    /// - Parameter encrypted: whether the caller encrypts it; a sensitive key leaves only encrypted.
    /// - Throws: `errSecDataNotAvailable` for one that is not extractable, `errSecKeyIsSensitive`; and what
    ///   ``secret(of:use:authentication:)`` throws.
    func exportKey(
        _ reference: PersistentReference, encrypted: Bool = true,
        authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> PrivateKey {
        guard
            let encoded = try secret(
                of: reference, use: String(localized: "export a key"), authentication: authentication)
        else {
            throw KeychainError(.dataNotAvailable, "the key was stored without its private half")
        }
        if !encrypted { try checkLeavesPlain(reference) }
        return try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: encoded) }
    }

    private func checkLeavesPlain(_ reference: PersistentReference) throws(KeychainError) {
        guard try items(matching: Query(reference)).found.first?[.isSensitive]?.isTrue == true else { return }
        throw KeychainError(
            .keyIsSensitive, "the key leaves the keychain only encrypted", remedy: "give a password for it")
    }
}
