public import KeychainModel
public import SecureBytes

/// One step of a change of keychains. All steps of a change are carried out, or none.
public enum ChangeStep: Sendable, Equatable {
    case add(Addition)
    /// Adds an identity, of which one half may be there already, or on a card.
    case addIdentity(IdentityAddition)
    /// Adds a copy of a private key that a keychain has, with these attributes. The copy is at least as protected as the key.
    case copy(PersistentReference, Attributes, to: KeychainIdentifier?)
    /// Changes all items that the query finds: the named attributes, and the secret where there is one.
    case update(Query, Attributes, secret: SharedSecret? = nil)
    /// Deletes all items that the query finds. For an identity, deletes the certificate, and the key unless the key is
    /// on a token or belongs to another certificate as well.
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

/// A certificate and its private key, to be added.
public struct IdentityAddition: Sendable, Equatable {
    /// The private key of the certificate.
    public enum Key: Sendable, Equatable {
        /// A key in PKCS #8, to be added beside the certificate.
        case new(SharedSecret)
        /// The key of an item. It is copied, unless it is on a card or in the keychain that is added to.
        case existing(PersistentReference)
    }

    /// The certificate in DER.
    public let certificate: [UInt8]
    public let key: Key
    /// The attributes of the certificate, and those that only keys have; access group and protection are for both.
    public let attributes: Attributes
    /// The keychain that it goes to; nil for the default one.
    public let keychain: KeychainIdentifier?

    public init(
        certificate: [UInt8], key: Key, _ attributes: Attributes = [:], to keychain: KeychainIdentifier? = nil
    ) {
        self.certificate = certificate
        self.key = key
        self.attributes = attributes
        self.keychain = keychain
    }
}

/// The result of a change.
public struct ChangeResult: Sendable, Equatable {
    /// The added items, in the order of their steps.
    public var added: [Item] = []
    /// The added identities, in the order of their steps, each with the half that was there already.
    public var identities: [Identity] = []
    /// The number of changed items; an identity counts once.
    public var updatedCount = 0
    /// The number of deleted items; an identity counts once.
    public var deletedCount = 0

    public init() {}
}
