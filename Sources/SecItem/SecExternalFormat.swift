internal import HostAPI
internal import KeychainModel
public import Foundation
internal import Localization
internal import SecureBytes
internal import SystemCrypto

// The types of SecImportExport.h.

/// The format of a file.
public enum SecExternalFormat: UInt32, Sendable {
    case formatUnknown = 0
    /// Keys: public ones as `SubjectPublicKeyInfo`, private ones as PKCS #1, SEC 1 or, of other kinds, PKCS #8.
    case formatOpenSSL = 1
    case formatSSH = 2
    case formatBSAFE = 3
    case formatRawKey = 4
    /// A private key in PKCS #8 under a passphrase.
    case formatWrappedPKCS8 = 5
    case formatWrappedOpenSSL = 6
    case formatWrappedSSH = 7
    case formatWrappedLSH = 8
    /// Certificates in DER, or one after the other in PEM.
    case formatX509Cert = 9
    /// Certificates and keys, one after the other in PEM.
    case formatPEMSequence = 10
    /// Certificates in a message of PKCS #7 that has no signature.
    case formatPKCS7 = 11
    /// Identities under a passphrase.
    case formatPKCS12 = 12
    case formatNetscapeCertSequence = 13
    /// Keys as OpenSSH has them.
    case formatSSHv2 = 14
}

/// The kind of a file's items.
public enum SecExternalItemType: UInt32, Sendable {
    case itemTypeUnknown = 0
    case itemTypePrivateKey = 1
    case itemTypePublicKey = 2
    case itemTypeSessionKey = 3
    case itemTypeCertificate = 4
    /// Objects of several kinds, or several of one kind.
    case itemTypeAggregate = 5
}

public struct SecItemImportExportFlags: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Text between BEGIN and END lines instead of DER.
    public static let pemArmour = SecItemImportExportFlags(rawValue: 1)
}

public struct SecKeyImportExportFlags: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// A file with more than one private key is refused.
    public static let importOnlyOne = SecKeyImportExportFlags(rawValue: 1)
    /// A person is asked for the passphrase where the parameters have none.
    public static let securePassphrase = SecKeyImportExportFlags(rawValue: 2)
    /// Without effect: keychains have no access lists.
    public static let noAccessControl = SecKeyImportExportFlags(rawValue: 4)
}

public let SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION: UInt32 = 0

/// The parameters of importing and exporting keys.
@unsafe public struct SecItemImportExportKeyParameters {
    /// ``SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION``.
    public var version: UInt32
    public var flags: SecKeyImportExportFlags
    /// Text, or its bytes as data.
    public var passphrase: Unmanaged<CFTypeRef>?
    /// Without effect: a prompt names the purpose of the passphrase.
    public var alertTitle: Unmanaged<NSString>?
    /// The file's name for people, in a prompt.
    public var alertPrompt: Unmanaged<NSString>?
    /// Has to be nil: keychains have no access lists.
    public var accessRef: Unmanaged<CFTypeRef>?
    /// The uses of imported private keys, by names such as ``kSecAttrCanSign``; any use if nil.
    public var keyUsage: Unmanaged<NSArray>?
    /// The attributes ``kSecAttrIsExtractable``, ``kSecAttrIsSensitive`` and ``kSecAttrIsPermanent`` of private keys in
    /// the keychain that they are imported into. If nil they are extractable.
    public var keyAttributes: Unmanaged<NSArray>?

    public init(
        version: UInt32 = SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION, flags: SecKeyImportExportFlags = [],
        passphrase: Unmanaged<CFTypeRef>? = nil, alertTitle: Unmanaged<NSString>? = nil,
        alertPrompt: Unmanaged<NSString>? = nil, accessRef: Unmanaged<CFTypeRef>? = nil,
        keyUsage: Unmanaged<NSArray>? = nil, keyAttributes: Unmanaged<NSArray>? = nil
    ) {
        unsafe (self.version, self.flags) = (version, flags)
        unsafe (self.passphrase, self.alertTitle, self.alertPrompt) = (passphrase, alertTitle, alertPrompt)
        unsafe (self.accessRef, self.keyUsage, self.keyAttributes) = (accessRef, keyUsage, keyAttributes)
    }
}

/// The parameters of an import or export, checked.
struct KeyFileParameters {
    let flags: SecKeyImportExportFlags
    let passphrase: SharedSecret?
    let prompt: String?
    /// The attributes of private keys.
    let attributes: Attributes

    /// - Throws: `errSecParam` for another version or a value of a wrong kind; `errSecUnimplemented` for an access.
    init(_ parameters: UnsafePointer<SecItemImportExportKeyParameters>?) throws(KeychainError) {
        guard let given = unsafe parameters?.pointee else {
            (flags, passphrase, prompt, attributes) = ([], nil, nil, [:])
            return
        }
        guard unsafe given.version == SEC_KEY_IMPORT_EXPORT_PARAMS_VERSION else {
            throw KeychainError(.param, "the version of the parameters is not known", remedy: "set it to 0")
        }
        guard unsafe given.accessRef == nil else {
            throw KeychainError(
                .unimplemented, "imported items are open to the program that imports them", remedy: "leave it nil",
                key: "accessRef")
        }
        flags = unsafe given.flags
        passphrase = try unsafe (given.passphrase?.takeUnretainedValue()).map { value throws(KeychainError) in
            try SharedSecret(Secret(passphrase: value))
        }
        prompt = unsafe (given.alertPrompt?.takeUnretainedValue()).map { "\($0)" }
        var attributes: Attributes = [:]
        if let uses = unsafe given.keyUsage?.takeUnretainedValue() {
            let allowed = try Self.attributes(uses, among: Self.uses)
            for use in Self.uses { attributes[use] = .bool(allowed.contains(use)) }
        }
        if let names = unsafe given.keyAttributes?.takeUnretainedValue() {
            let named = try Self.attributes(names, among: [.isExtractable, .isSensitive, .isPermanent])
            attributes[.isExtractable] = .bool(named.contains(.isExtractable))
            attributes[.isSensitive] = .bool(named.contains(.isSensitive))
        }
        self.attributes = attributes
    }

    private static let uses: [Attribute] = [
        .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify, .canWrap, .canUnwrap,
    ]

    private static func attributes(_ names: NSArray, among known: [Attribute]) throws(KeychainError) -> Set<Attribute> {
        var found: Set<Attribute> = []
        for name in names {
            guard let attribute = known.first(where: { $0.rawValue == name as? String }) else {
                throw KeychainError(.param, "an imported key cannot have \(name)", key: "\(name)")
            }
            found.insert(attribute)
        }
        return found
    }
}

extension KeyFileParameters {
    /// The source of the passphrase.
    var source: PassphraseSource {
        if let passphrase { return .given(passphrase) }
        return flags.contains(.securePassphrase) ? .asked : .none
    }
}

extension KeychainError {
    static func unsupported(_ format: SecExternalFormat) -> KeychainError {
        KeychainError(
            .unsupportedFormat, "\(format) is neither read nor written",
            remedy: "use PEM, X.509, PKCS #7, PKCS #8, PKCS #12, OpenSSL's or OpenSSH's")
    }
}

extension Secret {
    /// The passphrase of a file, as a program gives it.
    ///
    /// - Throws: `errSecParam` for a value that is neither text nor data.
    init(passphrase value: Any) throws(KeychainError) {
        switch value {
        case let text as String:
            var bytes = Array(text.utf8)
            self.init(consuming: &bytes)
        case let data as Data: self.init(copying: data)
        default: throw KeychainError(.param, "the passphrase is neither text nor data", key: kSecImportExportPassphrase)
        }
    }
}
