public import KeychainModel
public import SecureBytes

/// One step of a change of keychains. All steps of a change are carried out, or none.
public enum ChangeStep: Sendable, Equatable {
    case add(Addition)
    /// Changes all items that the query finds: the named attributes, and the secret where there is one.
    case update(Query, Attributes, secret: SharedSecret? = nil)
    /// Deletes all items that the query finds. Of an identity the certificate is deleted, and the key unless it is on a token or
    /// another certificate has it.
    case delete(Query)
}

/// An item to be added. The host checks it again, and infers the attributes that follow from its data.
public struct Addition: Sendable, Equatable {
    public let itemClass: ItemClass
    public let attributes: Attributes
    /// The certificate, or the SubjectPublicKeyInfo of a public or private key, in DER.
    public let der: [UInt8]?
    /// The password, the private key in PKCS #8, or the bytes of a symmetric key.
    public let secret: SharedSecret?
    /// The keychain that it goes to; nil for the default one.
    public let keychain: KeychainIdentifier?

    public init(_ item: NewItem, to keychain: KeychainIdentifier? = nil) {
        self.init(item.itemClass, item.attributes, der: item.der, secret: item.secret, to: keychain)
    }

    init(
        _ itemClass: ItemClass, _ attributes: Attributes, der: [UInt8]?, secret: SharedSecret?,
        to keychain: KeychainIdentifier?
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.der = der
        self.secret = secret
        self.keychain = keychain
    }
}

/// The result of a change.
public struct ChangeResult: Sendable, Equatable {
    /// The added items, in the order of their steps.
    public var added: [Item] = []
    /// The number of changed items; an identity counts once.
    public var updatedCount = 0
    /// The number of deleted items; an identity counts once.
    public var deletedCount = 0

    public init() {}
}
