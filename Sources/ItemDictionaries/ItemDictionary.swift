public import KeychainModel
public import SecureBytes
public import SystemCrypto

/// A query, an item or a result of `SecItem`: values by the strings behind Apple's `kSec…` constants.
public typealias ItemDictionary = [String: ItemValue]

/// A value in an ``ItemDictionary``.
public enum ItemValue: Sendable {
    case string(String)
    case data([UInt8])
    case number(Int64)
    case bool(Bool)
    /// Whole seconds since the start of 1970, UTC.
    case date(Int64)
    case array([ItemValue])
    case dictionary(ItemDictionary)
    /// Boxed: a reference is twenty times as large as any other value, and dictionaries have room for values that they do not have.
    indirect case reference(ItemReference)
    /// A password or private key.
    case secret(SharedSecret)
    case null
}

/// An object that a dictionary refers to.
public enum ItemReference: Sendable {
    /// An item in a keychain.
    case item(Item)
    /// A certificate and a key in keychains.
    case identity(Identity)
    case certificate(Certificate)
    case publicKey(PublicKey)
    case privateKey(PrivateKey)
    /// A symmetric key in memory, as an item to be added.
    case symmetricKey(NewItem)
    /// A certificate with its private key, neither of which has to be in a keychain.
    case keyPair(Certificate, PrivateKey)
    /// A certificate, which need not be in a keychain, with its private key, which is in one.
    case certified(Certificate, Item)
    case keychain(KeychainIdentifier)
    case policy(CertificatePolicy)
}

extension ItemValue {
    /// The value of an attribute.
    public init(_ value: AttributeValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .data(let bytes): self = .data(bytes)
        case .number(let number): self = .number(number)
        case .bool(let flag): self = .bool(flag)
        case .date(let seconds): self = .date(seconds)
        }
    }

    /// The value of an attribute; nil for a value that no attribute can have.
    package var attributeValue: AttributeValue? {
        switch self {
        case .string(let text): .string(text)
        case .data(let bytes): .data(bytes)
        case .number(let number): .number(number)
        case .bool(let flag): .bool(flag)
        case .date(let seconds): .date(seconds)
        case .array, .dictionary, .reference, .secret, .null: nil
        }
    }
}
