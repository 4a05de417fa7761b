internal import SystemCrypto
internal import TokenKit

// What keys are outside of a keychain: Apple's external representation, PKCS #1 or X9.63. Keychain semantics 1.6 and 4.5.
extension Item {
    /// The secret as it leaves the keychain.
    func externalForm(of secret: consuming Secret) throws(KeychainError) -> Secret {
        guard isPrivateKey, der != nil else { return secret }
        do throws(CryptoError) {
            return try PrivateKey(encoded: secret).externalRepresentation()
        } catch {
            throw KeychainError(error)
        }
    }
}

extension NewItem {
    /// A key by its bytes. What its class and type do not say is kept as it is: programs store keys of their own that way.
    ///
    /// - Throws: `errSecDecode` for bytes that are no key of the type.
    static func key(
        externalForm bytes: consuming Secret?, _ attributes: Attributes
    ) throws(KeychainError) -> NewItem {
        let stated = try ItemClass.key.checked(attributes, for: .add)
        let family = stated[.keyType]?.integer.flatMap { KeyFamily(KeyType(rawValue: $0)) }
        guard let bytes = consume bytes else {
            throw KeychainError(.param, "a key is its bytes or a reference", key: "v_Data")
        }
        switch (stated[.keyClass]?.integer, family) {
        case (KeyClass.private.rawValue, let family?): return try .privateKey(privateKey(bytes, family), attributes)
        case (KeyClass.public.rawValue, let family?): return try .publicKey(publicKey(bytes, family), attributes)
        case (KeyClass.symmetric.rawValue, _) where stated[.keyType]?.integer == KeyType.aes.rawValue:
            return try .symmetricKey(bytes, attributes)
        default: return try NewItem(.key, attributes, secret: bytes)
        }
    }

    private static func privateKey(_ bytes: borrowing Secret, _ family: KeyFamily) throws(KeychainError) -> PrivateKey {
        do throws(CryptoError) {
            return try PrivateKey(externalRepresentation: bytes, family: family)
        } catch {
            throw KeychainError(error)
        }
    }

    private static func publicKey(_ bytes: borrowing Secret, _ family: KeyFamily) throws(KeychainError) -> PublicKey {
        let span = bytes.bytes
        do throws(CryptoError) {
            return try PublicKey(externalRepresentation: span.indices.map { span[$0] }, family: family)
        } catch {
            throw KeychainError(error)
        }
    }
}

extension KeyFamily {
    /// The family of a key type; nil for one that has no external form here.
    init?(_ type: KeyType) {
        switch type {
        case .rsa: self = .rsa
        case .ecPrime: self = .ec
        case .ed25519: self = .ed25519
        case .x25519: self = .x25519
        default: return nil
        }
    }
}
