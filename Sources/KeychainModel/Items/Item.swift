public import SystemCrypto

/// The public part of a keychain item: everything except its secret.
public struct Item: Sendable, Hashable {
    /// The class; never ``ItemClass/identity``, which is made of two items.
    public let itemClass: ItemClass
    /// The attributes, each of the type its class gives it.
    public let attributes: Attributes
    /// The keychain or token the item was found in.
    public let keychain: KeychainIdentifier
    /// The item's name across updates and restarts.
    public let reference: PersistentReference
    /// The public part in DER: a certificate, or the SubjectPublicKeyInfo of a public or private key.
    public let der: [UInt8]?
    private let parsed: ParsedCertificate?

    /// Facts of an item on a token for PKCS #11; nil for local items.
    package var tokenTraits: TokenTraits?

    public init(
        _ itemClass: ItemClass, attributes: Attributes, keychain: KeychainIdentifier, reference: PersistentReference,
        der: [UInt8]? = nil
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.keychain = keychain
        self.reference = reference
        self.der = der
        parsed = itemClass == .certificate ? der.map { ParsedCertificate(der: $0) } : nil
    }

    /// An item of a certificate that has been parsed.
    package init(
        _ certificate: Certificate, attributes: Attributes, keychain: KeychainIdentifier,
        reference: PersistentReference
    ) {
        itemClass = .certificate
        self.attributes = attributes
        self.keychain = keychain
        self.reference = reference
        der = certificate.der
        parsed = ParsedCertificate(certificate)
    }

    /// The certificate; nil for an item of another class, and for one that cannot be read.
    ///
    /// It is parsed on first use, once for the item and all its copies.
    public var certificate: Certificate? { parsed?.certificate }

    /// The value of an attribute.
    public subscript(_ attribute: Attribute) -> AttributeValue? { attributes[attribute] }

    /// Whether the item is on a token, and so can be neither changed nor read out.
    public var isOnToken: Bool { reference.tokenID != nil }

    /// The label; nil where there is none, or it is not text.
    public var label: String? { attributes[.label]?.string }

    /// The hash of the public key that pairs certificates with private keys: `pkhh` of the one, `klbl` of the other.
    public var publicKeyHash: [UInt8]? {
        switch itemClass {
        case .certificate: attributes[.publicKeyHash]?.bytes
        case .key: attributes[.applicationLabel]?.bytes
        case .genericPassword, .internetPassword, .identity: nil
        }
    }

    /// The common name of a certificate's subject, for which the rest of the certificate is not parsed.
    public var commonName: String? {
        guard itemClass == .certificate, let der else { return nil }
        return try? Certificate.commonName(inDER: der)
    }

    public static func == (left: Item, right: Item) -> Bool {
        left.reference == right.reference && left.itemClass == right.itemClass && left.keychain == right.keychain
            && left.attributes == right.attributes && left.der == right.der
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(reference) }

    /// Whether this is a private key.
    public var isPrivateKey: Bool {
        itemClass == .key && attributes[.keyClass]?.integer == KeyClass.private.rawValue
    }

    /// Whether this is a symmetric key.
    public var isSymmetricKey: Bool {
        itemClass == .key && attributes[.keyClass]?.integer == KeyClass.symmetric.rawValue
    }

    /// Whether the item has a secret, which programs use by permission.
    package var needsPermission: Bool { itemClass.isPassword || isPrivateKey || isSymmetricKey }
}
