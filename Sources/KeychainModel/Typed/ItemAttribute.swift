/// An attribute that items of a kind have, with values of a type. An attribute that the kind lacks does not compile.
public struct ItemAttribute<Kind: ItemKind, Value: AttributeConvertible>: Sendable {
    public let attribute: Attribute

    init(_ attribute: Attribute) {
        self.attribute = attribute
    }
}

// MARK: Every kind

extension ItemAttribute where Value == String {
    public static var label: Self { Self(.label) }
    public static var accessGroup: Self { Self(.accessGroup) }
    public static var tokenID: Self { Self(.tokenID) }
}

extension ItemAttribute where Value == AttributeValue {
    /// One of ``Accessibility``.
    public static var accessible: Self { Self(.accessible) }
}

extension ItemAttribute where Value == ItemDate {
    public static var creationDate: Self { Self(.creationDate) }
    public static var modificationDate: Self { Self(.modificationDate) }
}

extension ItemAttribute where Value == Bool {
    public static var synchronizable: Self { Self(.synchronizable) }
}

// MARK: Passwords

extension ItemAttribute where Kind: PasswordKind, Value == String {
    public static var account: Self { Self(.account) }
    public static var itemDescription: Self { Self(.itemDescription) }
    public static var comment: Self { Self(.comment) }
}

extension ItemAttribute where Kind: PasswordKind, Value == Int {
    public static var creator: Self { Self(.creator) }
    public static var type: Self { Self(.type) }
}

extension ItemAttribute where Kind: PasswordKind, Value == Bool {
    public static var isInvisible: Self { Self(.isInvisible) }
    public static var isNegative: Self { Self(.isNegative) }
}

extension ItemAttribute where Kind == GenericPasswords, Value == String {
    public static var service: Self { Self(.service) }
}

extension ItemAttribute where Kind == GenericPasswords, Value == [UInt8] {
    public static var generic: Self { Self(.generic) }
}

extension ItemAttribute where Kind == InternetPasswords, Value == String {
    public static var server: Self { Self(.server) }
    public static var securityDomain: Self { Self(.securityDomain) }
    public static var path: Self { Self(.path) }
}

extension ItemAttribute where Kind == InternetPasswords, Value == Int {
    public static var port: Self { Self(.port) }
}

extension ItemAttribute where Kind == InternetPasswords, Value == InternetProtocol {
    public static var `protocol`: Self { Self(.protocol) }
}

extension ItemAttribute where Kind == InternetPasswords, Value == InternetAuthentication {
    public static var authenticationType: Self { Self(.authenticationType) }
}

// MARK: Certificates, and identities by their certificate

extension ItemAttribute where Kind: CertificateKind, Value == [UInt8] {
    public static var subject: Self { Self(.subject) }
    public static var issuer: Self { Self(.issuer) }
    public static var serialNumber: Self { Self(.serialNumber) }
    public static var subjectKeyID: Self { Self(.subjectKeyID) }
    public static var publicKeyHash: Self { Self(.publicKeyHash) }
}

extension ItemAttribute where Kind: CertificateKind, Value == Int {
    public static var certificateType: Self { Self(.certificateType) }
    public static var certificateEncoding: Self { Self(.certificateEncoding) }
}

// MARK: Keys, and identities by their key

extension ItemAttribute where Kind: KeyItemKind, Value == [UInt8] {
    public static var applicationLabel: Self { Self(.applicationLabel) }
    public static var applicationTag: Self { Self(.applicationTag) }
}

extension ItemAttribute where Kind: KeyItemKind, Value == KeyClass {
    public static var keyClass: Self { Self(.keyClass) }
}

extension ItemAttribute where Kind: KeyItemKind, Value == KeyType {
    public static var keyType: Self { Self(.keyType) }
}

extension ItemAttribute where Kind: KeyItemKind, Value == Int {
    public static var keySizeInBits: Self { Self(.keySizeInBits) }
    public static var effectiveKeySize: Self { Self(.effectiveKeySize) }
}

extension ItemAttribute where Kind: KeyItemKind, Value == ItemDate {
    public static var startDate: Self { Self(.startDate) }
    public static var endDate: Self { Self(.endDate) }
}

extension ItemAttribute where Kind: KeyItemKind, Value == Bool {
    public static var isPermanent: Self { Self(.isPermanent) }
    public static var isSensitive: Self { Self(.isSensitive) }
    public static var isExtractable: Self { Self(.isExtractable) }
    public static var canEncrypt: Self { Self(.canEncrypt) }
    public static var canDecrypt: Self { Self(.canDecrypt) }
    public static var canDerive: Self { Self(.canDerive) }
    public static var canSign: Self { Self(.canSign) }
    public static var canVerify: Self { Self(.canVerify) }
    public static var canWrap: Self { Self(.canWrap) }
    public static var canUnwrap: Self { Self(.canUnwrap) }
}
