public import KeychainModel
public import SecureBytes
internal import SystemCrypto

/// An AES or HMAC key: in a local keychain, or in memory.
///
/// It has no public half, so verifying a code and encrypting need the key itself, and the password or PIN that it asks for.
public struct SymmetricKey: Sendable {
    /// The attributes of its item; for a key in memory, those that its item would have.
    public let attributes: Attributes
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
    public init(
        _ key: consuming Secret, type: KeyType = .aes, _ attributes: Attributes = [:]
    ) throws(KeychainError) {
        self.attributes = try InferredAttributes.symmetricKey(type, bits: key.count * 8, attributes)
        place = .memory(SharedSecret(key))
    }

    init(_ item: Item, in keychain: LocalKeychain) {
        attributes = item.attributes
        place = .keychain(keychain, item.reference)
    }

    public var type: KeyType { KeyType(rawValue: attributes[.keyType]?.integer ?? 0) }
    private var label: String { attributes[.label]?.string ?? "" }

    /// The key's bytes, for operations only.
    package func material(use: String, authentication: AuthenticationContext) throws(KeychainError) -> Secret {
        switch place {
        case .memory(let shared): return shared.secret.clone()
        case .keychain(let keychain, let reference):
            guard
                let key = try keychain.keyMaterial(of: reference, use: use, authentication: authentication)
            else { throw KeychainError(.dataNotAvailable, "the key '\(label)' was stored without its bytes") }
            try type.checkSize(ofSymmetricKey: key.count * 8)
            return key
        }
    }

    /// The bytes of a key in memory, if its attributes let them be read out.
    ///
    /// - Throws: `errSecDataNotAvailable` for one that is not extractable, `errSecKeyIsSensitive`; `errSecParam` for
    ///   one in a keychain, for which there is ``LocalKeychain/externalRepresentation(of:authentication:)``.
    public func externalRepresentation() throws(KeychainError) -> Secret {
        if let refusal = ItemClass.key.refusalToLeave(attributes) { throw refusal }
        return try bytesInMemory()
    }

    func bytesInMemory() throws(KeychainError) -> Secret {
        guard case .memory(let shared) = place else { throw KeychainError(.param, "the key is in a keychain") }
        return shared.secret.clone()
    }
}

extension SymmetricKey: Hashable {
    /// Keys in memory are equal by their bytes; those in keychains by their items, since reading their bytes may need a
    /// question.
    public static func == (left: SymmetricKey, right: SymmetricKey) -> Bool {
        switch (left.place, right.place) {
        case (.memory(let own), .memory(let other)):
            left.type == right.type && own.secret.equals(other.secret)
        case (.keychain(_, let own), .keychain(_, let other)): own == other
        case (.memory, .keychain), (.keychain, .memory): false
        }
    }

    /// Nothing of the bytes goes into a hash, which may be kept or shown.
    public func hash(into hasher: inout Hasher) { hasher.combine(type) }
}
