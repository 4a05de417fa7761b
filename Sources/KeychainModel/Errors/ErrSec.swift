/// A result code of the keychain, by its number in Apple's `SecBase.h`.
///
/// The code space is open: a number without a name here is carried and printed as it is.
public struct ErrSec: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32

    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    private init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    // MARK: Files, parameters, memory

    public static let success = ErrSec(0)
    public static let unimplemented = ErrSec(-4)
    public static let diskFull = ErrSec(-34)
    public static let io = ErrSec(-36)
    public static let alreadyOpenForWriting = ErrSec(-49)
    public static let param = ErrSec(-50)
    public static let writePermission = ErrSec(-61)
    public static let allocate = ErrSec(-108)
    public static let userCanceled = ErrSec(-128)
    public static let badRequest = ErrSec(-909)
    public static let internalComponent = ErrSec(-2070)
    public static let missingEntitlement = ErrSec(-34018)
    public static let restrictedAPI = ErrSec(-34020)

    // MARK: Access, trust, import

    public static let aclNotSimple = ErrSec(-25240)
    public static let policyNotFound = ErrSec(-25241)
    public static let invalidTrustSetting = ErrSec(-25242)
    public static let noAccessForItem = ErrSec(-25243)
    public static let invalidOwnerEdit = ErrSec(-25244)
    public static let trustNotAvailable = ErrSec(-25245)
    public static let unsupportedFormat = ErrSec(-25256)
    public static let unknownFormat = ErrSec(-25257)
    public static let keyIsSensitive = ErrSec(-25258)
    public static let multiplePrivateKeys = ErrSec(-25259)
    public static let passphraseRequired = ErrSec(-25260)
    public static let invalidPasswordReference = ErrSec(-25261)
    public static let invalidTrustSettings = ErrSec(-25262)
    public static let noTrustSettings = ErrSec(-25263)
    public static let pkcs12VerifyFailure = ErrSec(-25264)
    public static let notSigner = ErrSec(-26267)
    public static let decode = ErrSec(-26275)
    public static let `internal` = ErrSec(-26276)

    // MARK: Keychains and items

    public static let notAvailable = ErrSec(-25291)
    public static let readOnly = ErrSec(-25292)
    public static let authFailed = ErrSec(-25293)
    public static let noSuchKeychain = ErrSec(-25294)
    public static let invalidKeychain = ErrSec(-25295)
    public static let duplicateKeychain = ErrSec(-25296)
    public static let duplicateCallback = ErrSec(-25297)
    public static let invalidCallback = ErrSec(-25298)
    public static let duplicateItem = ErrSec(-25299)
    public static let itemNotFound = ErrSec(-25300)
    public static let bufferTooSmall = ErrSec(-25301)
    public static let dataTooLarge = ErrSec(-25302)
    public static let noSuchAttribute = ErrSec(-25303)
    public static let invalidItemReference = ErrSec(-25304)
    public static let invalidSearchReference = ErrSec(-25305)
    public static let noSuchClass = ErrSec(-25306)
    public static let noDefaultKeychain = ErrSec(-25307)
    public static let interactionNotAllowed = ErrSec(-25308)
    public static let readOnlyAttribute = ErrSec(-25309)
    public static let wrongSecVersion = ErrSec(-25310)
    public static let keySizeNotAllowed = ErrSec(-25311)
    public static let noStorageModule = ErrSec(-25312)
    public static let noCertificateModule = ErrSec(-25313)
    public static let noPolicyModule = ErrSec(-25314)
    public static let interactionRequired = ErrSec(-25315)
    public static let dataNotAvailable = ErrSec(-25316)
    public static let dataNotModifiable = ErrSec(-25317)
    public static let createChainFailed = ErrSec(-25318)
    public static let invalidPreferencesDomain = ErrSec(-25319)
    public static let inDarkWake = ErrSec(-25320)
    public static let authNeeded = ErrSec(-25330)

    // MARK: Keys, devices, certificates

    public static let serviceNotAvailable = ErrSec(-67585)
    public static let deviceReset = ErrSec(-67587)
    public static let deviceFailed = ErrSec(-67588)
    public static let hostNameMismatch = ErrSec(-67602)
    public static let internalError = ErrSec(-67671)
    public static let invalidSignature = ErrSec(-67688)
    public static let invalidValue = ErrSec(-67694)
    public static let deviceError = ErrSec(-67727)
    public static let notLoggedIn = ErrSec(-67729)
    public static let algorithmMismatch = ErrSec(-67730)
    public static let keyUsageIncorrect = ErrSec(-67731)
    public static let unsupportedKeySize = ErrSec(-67735)
    public static let invalidAlgorithm = ErrSec(-67747)
    public static let verifyFailed = ErrSec(-67808)
    public static let certificateExpired = ErrSec(-67818)
    public static let certificateNotValidYet = ErrSec(-67819)
    public static let certificateRevoked = ErrSec(-67820)
    public static let notTrusted = ErrSec(-67843)
}
