public import SecureBytes
internal import SystemCrypto

/// An AES or HMAC key: in a local keychain, or in memory.
///
/// It has no public half, so checking a code and encrypting take the key itself, and whatever that asks for.
public struct SymmetricKey: Sendable {
    /// What its item has; of a key in memory, what its item would have.
    public let attributes: Attributes
    private let place: Place

    private enum Place: Sendable {
        case memory(SharedSecret)
        case keychain(LocalKeychain, PersistentReference)
    }

    /// A key in memory.
    ///
    /// - Parameter attributes: those that do not follow from the key, such as ``Attribute/canDecrypt``.
    /// - Throws: `errSecKeySizeNotAllowed` for a length that keys of the type do not have, `errSecParam` for another type
    ///   than ``KeyType/aes`` and ``KeyType/hmac``, and for attributes that are not the key's.
    public init(
        _ key: consuming Secret, type: KeyType = .aes, _ attributes: Attributes = [:]
    ) throws(KeychainError) {
        self.attributes = try InferredAttributes.symmetricKey(type, bits: key.count * 8, attributes)
        place = .memory(SharedSecret(key))
    }

    /// A random key in memory.
    ///
    /// - Throws: as for a key that is given.
    public static func generate(
        _ type: KeyType = .aes, bits: Int = 256, _ attributes: Attributes = [:]
    ) throws(KeychainError) -> SymmetricKey {
        try type.checkSize(ofGeneratedKey: bits)
        let key = try KeychainError.mapping { () throws(CryptoError) in try RandomBytes.makeSecret(count: bits / 8) }
        return try SymmetricKey(key, type: type, attributes)
    }

    init(_ item: Item, in keychain: LocalKeychain) {
        attributes = item.attributes
        place = .keychain(keychain, item.reference)
    }

    public var type: KeyType { KeyType(rawValue: attributes[.keyType]?.integer ?? 0) }
    private var label: String { attributes[.label]?.string ?? "" }

    /// Its bytes, for use and not to be given away.
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

    /// The bytes of a key in memory, as it lets them go.
    ///
    /// - Throws: `errSecDataNotAvailable` for one that is not extractable, `errSecKeyIsSensitive`; `errSecParam` for one in a
    ///   keychain, which ``LocalKeychain/externalRepresentation(of:authentication:)`` gives.
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
    /// Keys in memory are equal by their bytes, those in keychains, whose bytes may have to be asked for, by their items.
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

extension KeyType {
    /// AES; Apple's number for it is that of CDSA.
    public static let aes = KeyType(rawValue: 0x8000_0001)
    /// HMAC, whatever the hash function; Apple has no number for it, and CDSA has this one (`CSSM_ALGID_SHA1HMAC`).
    public static let hmac = KeyType(rawValue: 91)

    /// The fewest bits of an HMAC key, SP 800-131A §10.
    public static let minimumHMACBits = 112
    /// The most bits of one that is generated. More than a block of the hash function, 1024 bits at the most, makes no key
    /// stronger, FIPS 198-1 §3.
    public static let maximumGeneratedHMACBits = 65_536

    /// - Throws: as for a key that is given, and for one that is longer than it has any use.
    fileprivate func checkSize(ofGeneratedKey bits: Int) throws(KeychainError) {
        let isAllowed = Self.minimumHMACBits...Self.maximumGeneratedHMACBits ~= bits && bits.isMultiple(of: 8)
        guard self != .hmac || isAllowed else {
            throw KeychainError(
                .keySizeNotAllowed, "\(bits) bits are not a size of new HMAC keys",
                remedy: "use whole bytes, \(Self.minimumHMACBits) to \(Self.maximumGeneratedHMACBits) bits",
                key: Attribute.keySizeInBits.rawValue)
        }
        try checkSize(ofSymmetricKey: bits)
    }

    /// - Throws: `errSecKeySizeNotAllowed`; `errSecParam` for a type whose keys nothing is done with.
    func checkSize(ofSymmetricKey bits: Int) throws(KeychainError) {
        let size = Attribute.keySizeInBits.rawValue
        switch self {
        case .aes where [128, 192, 256].contains(bits): return
        case .aes:
            throw KeychainError(
                .keySizeNotAllowed, "AES has no keys of \(bits) bits", remedy: "use 128, 192 or 256", key: size)
        case .hmac where bits >= Self.minimumHMACBits && bits.isMultiple(of: 8): return
        case .hmac:
            throw KeychainError(
                .keySizeNotAllowed, "\(bits) bits are not a size of HMAC keys",
                remedy: "use whole bytes, at least \(Self.minimumHMACBits) bits", key: size)
        default:
            throw KeychainError(
                .param, "symmetric keys of type \(rawValue) are not supported", remedy: "AES and HMAC can be used",
                key: Attribute.keyType.rawValue)
        }
    }
}
