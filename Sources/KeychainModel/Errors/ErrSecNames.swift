package import Localization

extension ErrSec: CustomStringConvertible {
    /// The name in Apple's headers, `errSecDuplicateItem`; nil for a number without one.
    public var name: String? { Self.named[self].map { "errSec" + $0.name } }

    /// The code's meaning, in lower case; the number of a code without a name.
    public var message: String { String(localized: text) }

    package var text: LocalizedText { Self.named[self].map { LocalizedText(key: $0.message) } ?? "error \(rawValue)" }

    /// Name and number, `errSecDuplicateItem -25299`; the number alone where there is no name.
    public var description: String { name.map { "\($0) \(rawValue)" } ?? "\(rawValue)" }

    /// Every code that has a name, the successful one included.
    public static var allNamed: [ErrSec] { named.keys.sorted { $0.rawValue > $1.rawValue } }

    private static let named: [ErrSec: (name: String, message: LocalizedKey)] = [
        .success: ("Success", "no error"),
        .unimplemented: ("Unimplemented", "this system has no such function"),
        .diskFull: ("DiskFull", "the disk is full"),
        .io: ("IO", "reading or writing failed"),
        .alreadyOpenForWriting: ("OpWr", "the file is already open for writing"),
        .param: ("Param", "a parameter is not valid"),
        .writePermission: ("WrPerm", "writing is not permitted"),
        .allocate: ("Allocate", "out of memory"),
        .userCanceled: ("UserCanceled", "cancelled by the user"),
        .badRequest: ("BadReq", "the request is not valid in this state"),
        .internalComponent: ("InternalComponent", "an internal component failed"),
        .missingEntitlement: ("MissingEntitlement", "the access group is not open to this program"),
        .restrictedAPI: ("RestrictedAPI", "this is not open to this program"),
        .aclNotSimple: ("ACLNotSimple", "the access control list is not a simple one"),
        .policyNotFound: ("PolicyNotFound", "there is no such policy"),
        .invalidTrustSetting: ("InvalidTrustSetting", "a trust setting is not valid"),
        .noAccessForItem: ("NoAccessForItem", "the item has no access control"),
        .invalidOwnerEdit: ("InvalidOwnerEdit", "only the owner may change this"),
        .trustNotAvailable: ("TrustNotAvailable", "no trust result is available"),
        .unsupportedFormat: ("UnsupportedFormat", "the format is not supported"),
        .unknownFormat: ("UnknownFormat", "the format is not known"),
        .keyIsSensitive: ("KeyIsSensitive", "the key must be wrapped to be exported"),
        .multiplePrivateKeys: ("MultiplePrivKeys", "there is more than one private key"),
        .passphraseRequired: ("PassphraseRequired", "a passphrase is required"),
        .invalidPasswordReference: ("InvalidPasswordRef", "the password reference is not valid"),
        .invalidTrustSettings: ("InvalidTrustSettings", "the trust settings are damaged"),
        .noTrustSettings: ("NoTrustSettings", "there are no trust settings"),
        .pkcs12VerifyFailure: ("Pkcs12VerifyFailure", "wrong passphrase, or the PKCS #12 file is damaged"),
        .notSigner: ("NotSigner", "the certificate did not sign this"),
        .decode: ("Decode", "the data cannot be decoded"),
        .internal: ("Internal", "an internal error occurred"),
        .notAvailable: ("NotAvailable", "the keychain is not available"),
        .readOnly: ("ReadOnly", "the keychain is read-only"),
        .authFailed: ("AuthFailed", "the password or PIN is wrong"),
        .noSuchKeychain: ("NoSuchKeychain", "there is no such keychain"),
        .invalidKeychain: ("InvalidKeychain", "this is not a valid keychain"),
        .duplicateKeychain: ("DuplicateKeychain", "a keychain of that name already exists"),
        .duplicateCallback: ("DuplicateCallback", "the callback is already registered"),
        .invalidCallback: ("InvalidCallback", "the callback is not registered"),
        .duplicateItem: ("DuplicateItem", "the item already exists"),
        .itemNotFound: ("ItemNotFound", "no item matches"),
        .bufferTooSmall: ("BufferTooSmall", "the buffer is too small"),
        .dataTooLarge: ("DataTooLarge", "the data is too large"),
        .noSuchAttribute: ("NoSuchAttr", "the class has no such attribute"),
        .invalidItemReference: ("InvalidItemRef", "the item reference is not valid"),
        .invalidSearchReference: ("InvalidSearchRef", "the search reference is not valid"),
        .noSuchClass: ("NoSuchClass", "there is no such item class"),
        .noDefaultKeychain: ("NoDefaultKeychain", "there is no default keychain"),
        .interactionNotAllowed: ("InteractionNotAllowed", "this needs a password or PIN, and asking is not allowed"),
        .readOnlyAttribute: ("ReadOnlyAttr", "the attribute cannot be changed"),
        .wrongSecVersion: ("WrongSecVersion", "the keychain has another version"),
        .keySizeNotAllowed: ("KeySizeNotAllowed", "the key size is not allowed"),
        .noStorageModule: ("NoStorageModule", "there is no storage module"),
        .noCertificateModule: ("NoCertificateModule", "there is no certificate module"),
        .noPolicyModule: ("NoPolicyModule", "there is no policy module"),
        .interactionRequired: ("InteractionRequired", "this needs an action of the user"),
        .dataNotAvailable: ("DataNotAvailable", "the data cannot be read out"),
        .dataNotModifiable: ("DataNotModifiable", "the data cannot be changed"),
        .createChainFailed: ("CreateChainFailed", "no certificate chain could be built"),
        .invalidPreferencesDomain: ("InvalidPrefsDomain", "the preference domain is not valid for this"),
        .inDarkWake: ("InDarkWake", "the screen is off, and nobody can be asked"),
        .authNeeded: ("AuthNeeded", "authentication is needed"),
        .serviceNotAvailable: ("ServiceNotAvailable", "the service is not available"),
        .deviceReset: ("DeviceReset", "the card was removed or reset"),
        .deviceFailed: ("DeviceFailed", "the reader or card failed"),
        .internalError: ("InternalError", "an internal error of the cryptographic module occurred"),
        .invalidSignature: ("InvalidSignature", "the signature is not valid"),
        .invalidValue: ("InvalidValue", "a value is not valid"),
        .deviceError: ("DeviceError", "the card reported an error"),
        .notLoggedIn: ("NotLoggedIn", "the PIN has not been verified"),
        .algorithmMismatch: ("AlgorithmMismatch", "the algorithm does not fit the key"),
        .keyUsageIncorrect: ("KeyUsageIncorrect", "the key may not be used for this"),
        .unsupportedKeySize: ("UnsupportedKeySize", "the key size is not supported"),
        .invalidAlgorithm: ("InvalidAlgorithm", "the algorithm is not known"),
        .verifyFailed: ("VerifyFailed", "verification failed"),
        .certificateExpired: ("CertificateExpired", "the certificate has expired"),
        .certificateNotValidYet: ("CertificateNotValidYet", "the certificate is not valid yet"),
        .certificateRevoked: ("CertificateRevoked", "the certificate was revoked"),
        .hostNameMismatch: ("HostNameMismatch", "the certificate is not for this host"),
        .notTrusted: ("NotTrusted", "the certificate is not trusted"),
    ]
}
