public import KeychainModel
public import SecureBytes
public import SystemCrypto

extension LocalKeychain {
    /// A private key that is to leave the keychain.
    ///
    /// - Parameter encrypted: whether the caller encrypts it; a sensitive key leaves only encrypted.
    /// - Throws: `errSecDataNotAvailable` for one that is not extractable, `errSecKeyIsSensitive`; and what
    ///   ``secret(of:use:authentication:)`` throws.
    public func exportKey(
        _ reference: PersistentReference, encrypted: Bool = true,
        authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> PrivateKey {
        guard let encoded = try secret(of: reference, use: "export a key", authentication: authentication) else {
            throw KeychainError(.dataNotAvailable, "the key was stored without its private half")
        }
        if !encrypted { try checkLeavesPlain(reference) }
        return try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: encoded) }
    }

    /// The bytes of a key as `SecKeyCopyExternalRepresentation` gives them: PKCS#1, X9.63, or those of a symmetric key.
    ///
    /// - Throws: as ``exportKey(_:encrypted:authentication:)`` does.
    public func externalRepresentation(
        of key: Item, authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> Secret {
        switch key[.keyClass]?.integer {
        case KeyClass.public.rawValue:
            let encoded = key.der ?? []
            let bytes = try KeychainError.mapping { () throws(CryptoError) -> [UInt8] in
                try PublicKey(spki: encoded).rawRepresentation
            }
            return Secret(copying: bytes.span)
        case KeyClass.private.rawValue:
            let exported = try exportKey(key.reference, encrypted: false, authentication: authentication)
            return try KeychainError.mapping { () throws(CryptoError) in try exported.externalRepresentation() }
        default:
            guard let bytes = try secret(of: key.reference, use: "export a key", authentication: authentication)
            else {
                throw KeychainError(.dataNotAvailable, "the key was stored without its bytes")
            }
            try checkLeavesPlain(key.reference)
            return bytes
        }
    }

    private func checkLeavesPlain(_ reference: PersistentReference) throws(KeychainError) {
        guard try items(matching: Query(reference)).found.first?[.isSensitive]?.isTrue == true else { return }
        throw KeychainError(
            .keyIsSensitive, "the key leaves the keychain only encrypted", remedy: "give a password for it")
    }
}
