internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

// The data of items as dictionaries have them. Keychain semantics 1.6 and 4.5.
extension ItemContent where Self: ~Copyable {
    /// `v_Data`, if it is wanted: the DER of a certificate, the external form of a key, a password; nil without one.
    ///
    /// - Parameter secret: reads the secret; called only if it may leave the keychain.
    func data(
        _ returns: ParsedDictionary.Returns, secret: () throws(KeychainError) -> Secret?
    ) throws(KeychainError) -> ItemValue? {
        guard returns.contains(.data) else { return nil }
        if hasPublicData { return publicData.map { .data($0) } }
        if let refusal = itemClass.refusalToLeave(attributes) {
            guard returns.isDataAlone else { return nil }
            throw refusal
        }
        guard let secret = try secret() else { return nil }
        return .secret(SharedSecret(try externalForm(of: secret)))
    }
}

extension FoundItem {
    /// `v_Data`: as of any item, with the secret that the host has read.
    var data: ItemValue? { item.hasPublicData ? item.publicData.map { .data($0) } : secret.map { .secret($0) } }
}

extension NewItem {
    /// A key by its bytes. Bytes of an unknown class or type are stored unchanged, since programs store their own keys that way.
    ///
    /// - Throws: `errSecDecode` for bytes that are not a key of the type.
    static func key(
        externalForm bytes: consuming Secret?, _ attributes: Attributes
    ) throws(KeychainError) -> NewItem {
        let stated = try ItemClass.key.checked(attributes, for: .add)
        let type = KeyType(rawValue: stated[.keyType]?.integer ?? 0)
        let family = KeyFamily(type)
        guard let bytes = consume bytes else {
            throw KeychainError(.param, "a key is given as data or as a reference", key: "v_Data")
        }
        switch (stated[.keyClass]?.integer, family) {
        case (KeyClass.private.rawValue, let family?): return try .privateKey(privateKey(bytes, family), attributes)
        case (KeyClass.public.rawValue, let family?): return try .publicKey(publicKey(bytes, family), attributes)
        case (KeyClass.symmetric.rawValue, _) where [.aes, .hmac].contains(type):
            return try .symmetricKey(bytes, type: type, attributes)
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
            return try PublicKey(externalRepresentation: Array(copying: span), family: family)
        } catch {
            throw KeychainError(error)
        }
    }
}
