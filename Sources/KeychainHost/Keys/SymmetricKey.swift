package import HostAPI
package import KeychainModel
internal import Localization
package import SecureBytes
internal import SystemCrypto

/// An AES or HMAC key: in a local keychain, or in memory.
///
/// It has no public half, so verifying a code and encrypting need the key itself, and the password or PIN that it asks for.
public struct SymmetricKey: Sendable {
    /// The attributes of its item; for a key in memory, those that its item would have.
    let attributes: Attributes
    private let place: Place

    private enum Place: Sendable {
        case memory(SharedSecret)
        case keychain(LocalKeychain, PersistentReference)
    }

    /// A key in memory.
    ///
    /// - Parameter attributes: attributes that do not follow from the key, such as ``Attribute/canDecrypt``.
    /// - Throws: `errSecKeySizeNotAllowed` for a length that keys of the type do not have, `errSecParam` for another type
    ///   than ``KeyType/aes`` and ``KeyType/hmac``, and for attributes that are not the key's.
    init(
        _ key: consuming Secret, type: KeyType = .aes, _ attributes: Attributes = [:]
    ) throws(KeychainError) {
        self.attributes = try InferredAttributes.symmetricKey(type, bits: key.count * 8, attributes)
        place = .memory(SharedSecret(key))
    }

    init(_ item: Item, in keychain: LocalKeychain) {
        attributes = item.attributes
        place = .keychain(keychain, item.reference)
    }

    var type: KeyType { KeyType(rawValue: attributes[.keyType]?.integer ?? 0) }
    var label: String { attributes[.label]?.string ?? "" }

    /// The name of the keychain it is in; nil for a key in memory.
    var keychainName: String? {
        switch place {
        case .memory: nil
        case .keychain(let keychain, _): keychain.name
        }
    }

    /// The key's bytes, for operations only.
    package func material(
        for access: AccessQuestion.Use = .decrypt, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        switch place {
        case .memory(let shared): return shared.secret.clone()
        case .keychain(let keychain, let reference):
            guard
                let key = try keychain.secret(
                    of: reference, for: access, use: use, authentication: authentication)
            else { throw KeychainError(.dataNotAvailable, "the key '\(label)' was stored without its bytes") }
            try type.checkSize(ofSymmetricKey: key.count * 8)
            return key
        }
    }
}
