public import SecureBytes
public import SystemCrypto

/// Attributes of an item of one kind, for a new item or as changes.
///
///     try host.add(.genericPassword(ItemAttributes().setting(.service, "mail"), secret: password))
public struct ItemAttributes<Kind: ItemKind>: Sendable {
    public private(set) var attributes: Attributes = [:]

    public init() {}

    /// These attributes with one more value.
    public func setting<Value>(_ attribute: ItemAttribute<Kind, Value>, _ value: Value) -> Self {
        var copy = self
        copy.attributes[attribute.attribute] = value.attributeValue
        return copy
    }
}

extension NewItem {
    /// A generic password. One without a secret is an item too.
    public static func genericPassword(
        _ attributes: ItemAttributes<GenericPasswords>, secret: consuming Secret?
    ) throws(KeychainError) -> NewItem {
        try genericPassword(attributes.attributes, secret: secret)
    }

    /// A password for a server. One without a secret is an item too.
    public static func internetPassword(
        _ attributes: ItemAttributes<InternetPasswords>, secret: consuming Secret?
    ) throws(KeychainError) -> NewItem {
        try internetPassword(attributes.attributes, secret: secret)
    }

    /// A certificate; attributes that are not given follow from it.
    public static func certificate(
        _ certificate: Certificate, _ attributes: ItemAttributes<Certificates>
    ) throws(KeychainError) -> NewItem {
        try self.certificate(certificate, attributes.attributes)
    }

    /// A private key; attributes that are not given follow from it.
    public static func privateKey(
        _ key: PrivateKey, _ attributes: ItemAttributes<Keys>
    ) throws(KeychainError) -> NewItem {
        try privateKey(key, attributes.attributes)
    }

    /// A public key; attributes that are not given follow from it.
    public static func publicKey(
        _ key: PublicKey, _ attributes: ItemAttributes<Keys>
    ) throws(KeychainError) -> NewItem {
        try publicKey(key, attributes.attributes)
    }
}
