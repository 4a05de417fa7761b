internal import Localization
public import SecureBytes
public import SystemCrypto

/// An item to be added to a keychain.
public struct NewItem: Sendable {
    public let itemClass: ItemClass
    /// The attributes, checked and of the types the class gives them.
    public private(set) var attributes: Attributes
    /// The public part in DER, as ``Item/der`` has it.
    public let der: [UInt8]?
    /// The part that only an unlocked keychain gives back: a password, or a private key in PKCS #8.
    public let secret: SharedSecret?
    /// Whether the secret is under an application password already.
    let isApplicationSealed: Bool

    package init(
        _ itemClass: ItemClass, _ attributes: Attributes, der: [UInt8]? = nil, secret: consuming Secret? = nil,
        isApplicationSealed: Bool = false
    ) throws(KeychainError) {
        let checked = try itemClass.checkedForStorage(attributes, for: .add)
        let secret = SharedSecret(ifAny: secret)
        try Limits.check(secret)
        if let der, der.count > Limits.der {
            throw KeychainError(.dataTooLarge, "an item may have \(Limits.der) bytes, and this one has \(der.count)")
        }
        self.itemClass = itemClass
        self.attributes = checked
        self.der = der
        self.secret = secret
        self.isApplicationSealed = isApplicationSealed
    }

    /// The type of a key.
    package var keyType: KeyType { KeyType(rawValue: attributes[.keyType]?.integer ?? 0) }

    /// Whether the keychain's key is needed to store it. The others get a seal where the keychain is unlocked.
    package var isSealed: Bool { secret != nil || itemClass.holdsSecret(attributes) }

    /// The item with this access group, unless it names one.
    package func defaulting(to accessGroup: String?) -> NewItem {
        guard let accessGroup, attributes[.accessGroup] == nil else { return self }
        var item = self
        item.attributes[.accessGroup] = .string(accessGroup)
        return item
    }

    /// A generic password. One without a secret is an item too.
    public static func genericPassword(
        _ attributes: Attributes, secret: consuming Secret?
    ) throws(KeychainError) -> NewItem {
        try NewItem(.genericPassword, attributes, secret: secret)
    }

    /// A password for a server. One without a secret is an item too.
    public static func internetPassword(
        _ attributes: Attributes, secret: consuming Secret?
    ) throws(KeychainError) -> NewItem {
        try NewItem(.internetPassword, attributes, secret: secret)
    }

    /// A certificate; attributes that are not given follow from it.
    public static func certificate(
        _ certificate: Certificate, _ attributes: Attributes = [:]
    ) throws(KeychainError) -> NewItem {
        let inferred = InferredAttributes.certificate(certificate)
        try check(attributes, of: .certificate, against: inferred)
        return try NewItem(.certificate, inferred.merging(attributes) { $1 }, der: certificate.der)
    }

    /// A public key; attributes that are not given follow from it.
    public static func publicKey(
        _ key: PublicKey, _ attributes: Attributes = [:]
    ) throws(KeychainError) -> NewItem {
        try NewItem(.key, try inferred(from: key, as: .public, attributes), der: key.spki)
    }

    /// A private key; attributes that are not given follow from it. It can be read back as PKCS #8.
    public static func privateKey(
        _ key: PrivateKey, _ attributes: Attributes = [:]
    ) throws(KeychainError) -> NewItem {
        let secret = try KeychainError.mapping { () throws(CryptoError) in try key.pkcs8() }
        let attributes = try inferred(from: key.publicKey, as: .private, attributes)
        return try NewItem(.key, attributes, der: key.publicKey.spki, secret: secret)
    }

    /// A symmetric key by its bytes; attributes that are not given follow from it.
    ///
    /// Its application label is the caller's to choose; one that is not given is random, since a hash would confirm a guess of the key.
    ///
    /// - Throws: `errSecKeySizeNotAllowed` for a length that keys of the type do not have, `errSecParam` for another type
    ///   than ``KeyType/aes`` and ``KeyType/hmac``, and for attributes that are not the key's.
    public static func symmetricKey(
        _ key: consuming Secret, type: KeyType = .aes, _ attributes: Attributes = [:]
    ) throws(KeychainError) -> NewItem {
        let all = try InferredAttributes.symmetricKey(type, bits: key.count * 8, attributes)
        return try NewItem(.key, all, secret: key)
    }

    /// Refuses a kind of key that has no supported operation.
    ///
    /// - Throws: `errSecUnsupportedFormat`, naming the algorithm.
    public static func checkUsable(_ kind: KeyKind) throws(KeychainError) {
        guard case .other = kind else { return }
        throw KeychainError(
            .unsupportedFormat, "keys of kind \(kind) are not supported",
            remedy: "RSA, P-256, P-384, P-521, Ed25519 and X25519 can be used")
    }

    /// Refuses attributes that contradict the data: a search by the data would not find the item.
    private static func check(
        _ given: Attributes, of itemClass: ItemClass, against inferred: Attributes
    ) throws(KeychainError) {
        try itemClass.checkAgreement(itemClass.checked(given, for: .add), with: inferred)
    }

    private static func inferred(
        from key: PublicKey, as keyClass: KeyClass, _ given: Attributes
    ) throws(KeychainError) -> Attributes {
        try checkUsable(key.kind)
        let inferred = InferredAttributes.key(key, keyClass)
        try check(given, of: .key, against: inferred)
        var attributes = inferred.merging(given) { $1 }
        // `canUnwrap` follows a given `canDecrypt` unless it is given as well.
        if let decrypts = given[.canDecrypt] { attributes[.canUnwrap] = given[.canUnwrap] ?? decrypts }
        return attributes
    }
}

/// A change of all items that a query finds.
public struct ItemChanges: Sendable {
    /// The attributes that get another value; those not named keep theirs.
    public let attributes: Attributes
    /// The new secret; nil keeps the old one.
    public let secret: SharedSecret?
    /// Whether each half of an identity takes only the attributes that concern its class.
    private let isForHalves: Bool

    public init(_ attributes: Attributes = [:], secret: consuming Secret? = nil) {
        self.init(attributes, shared: SharedSecret(ifAny: secret))
    }

    package init(_ attributes: Attributes, shared secret: SharedSecret?) {
        self.attributes = attributes
        self.secret = secret
        isForHalves = false
    }

    /// Changes to identities; the certificate and the key each take the attributes that concern their class.
    package init(ofIdentities attributes: Attributes) {
        self.attributes = attributes
        secret = nil
        isForHalves = true
    }

    /// The attributes as items of the class hold them.
    ///
    /// - Throws: `errSecParam` if there is nothing to change, or for an attribute that stays as it was added.
    package func checked(for itemClass: ItemClass) throws(KeychainError) -> Attributes {
        guard secret != nil || !attributes.isEmpty else { throw KeychainError(.param, "there is nothing to change") }
        guard secret == nil || itemClass.isPassword else {
            throw KeychainError(
                .dataNotModifiable, "the data of \(itemClass.anyNoun) cannot be changed",
                remedy: "delete it and add another")
        }
        try Limits.check(secret)
        return try itemClass.checkedForStorage(
            isForHalves ? attributes.concerning(itemClass) : attributes, for: .change)
    }
}

/// The most an item of a local keychain holds, in bytes.
public enum Limits {
    /// The secret: a password or a private key.
    public static let secret = 1 << 20
    /// The public part in DER.
    public static let der = 1 << 20
    /// The text or data of one attribute.
    public static let attribute = 1 << 16

    static func check(_ secret: SharedSecret?) throws(KeychainError) {
        let count = secret?.secret.count ?? 0
        guard count <= self.secret else {
            throw KeychainError(.dataTooLarge, "a secret may have \(self.secret) bytes, and this one has \(count)")
        }
    }
}

extension ItemClass {
    /// The attributes that name an item and come from its data.
    var namesOfData: [Attribute] {
        switch self {
        case .certificate: [.issuer, .serialNumber, .publicKeyHash]
        case .key: [.keyClass, .keyType, .keySizeInBits, .applicationLabel]
        default: []
        }
    }

    /// - Throws: `errSecParam`, naming the attribute, for one that contradicts the data.
    package func checkAgreement(_ given: Attributes, with inferred: Attributes) throws(KeychainError) {
        for name in namesOfData {
            guard let given = given[name], inferred[name]?.matches(given) != true else { continue }
            throw KeychainError(
                .param, "the value of \(name) does not fit the data", remedy: "leave it out", key: name.rawValue)
        }
    }

    /// The attributes as a local keychain stores them.
    ///
    /// - Throws: beyond ``checked(_:for:)``, `errSecDataTooLarge`, `errSecReadOnly` for a token's id,
    ///   `errSecMissingEntitlement` for the tokens' access group, `errSecParam` for a wrong accessibility.
    package func checkedForStorage(
        _ attributes: Attributes, for use: AttributeDefinition.Uses
    ) throws(KeychainError) -> Attributes {
        var checked = try checked(attributes, for: use)
        for (attribute, value) in checked {
            guard let count = value.bytes?.count, count > Limits.attribute else { continue }
            throw KeychainError(
                .dataTooLarge, "an attribute may have \(Limits.attribute) bytes, and \(attribute) has \(count)",
                key: attribute.rawValue)
        }
        if let token = checked.removeValue(forKey: .tokenID), !token.isDefault {
            throw KeychainError(.readOnly, "items cannot be added to a token", key: Attribute.tokenID.rawValue)
        }
        if checked[.accessGroup]?.matches(.string(AccessGroup.token)) == true {
            throw KeychainError(
                .missingEntitlement, "the access group \(AccessGroup.token) is for the items of tokens",
                key: Attribute.accessGroup.rawValue)
        }
        if let accessible = checked[.accessible], !Accessibility.all.contains(where: accessible.matches) {
            throw KeychainError(.param, "there is no such accessibility", key: Attribute.accessible.rawValue)
        }
        guard use == .add else { return checked }
        let settled = try AccessControl.applyingAccessControl(checked)
        try checkSynchronizable(settled)
        return settled
    }
}

/// Refuses synchronizable items whose accessibility keeps them on this device.
///
/// - Throws: `errSecParam` for such an item, and for a value other than 0 and 1.
private func checkSynchronizable(_ attributes: Attributes) throws(KeychainError) {
    guard let value = attributes[.synchronizable], !value.isDefault else { return }
    let key = Attribute.synchronizable.rawValue
    guard value.matches(true) else { throw KeychainError(.param, "the value of \(key) has to be 1 or 0", key: key) }
    guard let accessible = attributes[.accessible], Accessibility.thisDeviceOnly.contains(where: accessible.matches)
    else { return }
    throw KeychainError(
        .param, "an item that synchronizes cannot be one that stays on this device",
        remedy: "leave out \(key), or choose another accessibility", key: key)
}

/// The values of `pdmn`, keychain semantics 1.2.
public enum Accessibility {
    public static let whenUnlocked: AttributeValue = "ak"
    public static let always: AttributeValue = "dk"
    /// Only in a keychain with a password; items are deleted when the password is removed.
    public static let whenPasscodeSet: AttributeValue = "akpu"
    /// The protection classes of items that can be used only while the login session is unlocked.
    package static let whileUnlocked: [AttributeValue] = [whenUnlocked, "aku", whenPasscodeSet]
    /// The protection classes of items that never leave the device.
    package static let thisDeviceOnly: [AttributeValue] = ["aku", "cku", "dku", whenPasscodeSet]
    static let all: [AttributeValue] = ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"]
}

extension NewItem {
    /// A password of the class.
    ///
    /// - Throws: `errSecNoSuchClass` for a class whose items are not passwords.
    package static func password(
        _ itemClass: ItemClass, _ attributes: Attributes, secret: consuming Secret?
    ) throws(KeychainError) -> NewItem {
        switch itemClass {
        case .genericPassword: try genericPassword(attributes, secret: secret)
        case .internetPassword: try internetPassword(attributes, secret: secret)
        default: throw KeychainError(.noSuchClass, "only passwords are items of these functions")
        }
    }
}
