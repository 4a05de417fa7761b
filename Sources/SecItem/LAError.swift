internal import KeychainModel
public import Foundation

/// The domain of ``LAError``.
public let LAErrorDomain = "com.apple.LocalAuthentication"

/// The reason that a policy was not satisfied, or cannot be. LAError.h.
///
/// `error as? LAError` takes an `NSError` of the domain as well, and `as NSError` gives one, as on Apple's platforms.
public struct LAError: CustomNSError, Hashable, Sendable {
    public enum Code: Int, Sendable, CaseIterable {
        case authenticationFailed = -1
        case userCancel = -2
        case userFallback = -3
        case systemCancel = -4
        case passcodeNotSet = -5
        case biometryNotAvailable = -6
        case biometryNotEnrolled = -7
        case biometryLockout = -8
        case appCancel = -9
        case invalidContext = -10
        case companionNotAvailable = -11
        case biometryNotPaired = -12
        case biometryDisconnected = -13
        case invalidDimensions = -14
        case notInteractive = -1004

        public static let touchIDNotAvailable = Code.biometryNotAvailable
        public static let touchIDNotEnrolled = Code.biometryNotEnrolled
        public static let touchIDLockout = Code.biometryLockout
        public static let watchNotAvailable = Code.companionNotAvailable

        /// Lets `catch LAError.userCancel` match.
        public static func ~= (code: Code, error: any Error) -> Bool { (error as? LAError)?.code == code }
    }

    public let code: Code
    public let _nsError: NSError

    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.code = code
        _nsError = NSError(domain: LAErrorDomain, code: code.rawValue, userInfo: userInfo)
    }

    /// An error of another domain, or with a code that is not known, is a failed authentication.
    public init(_nsError error: NSError) {
        code = LAError.code(of: error) ?? .authenticationFailed
        _nsError = error
    }

    public static var errorDomain: String { LAErrorDomain }
    public var errorCode: Int { code.rawValue }
    public var errorUserInfo: [String: Any] { _nsError.userInfo }
    public var userInfo: [String: Any] { _nsError.userInfo }
    public var localizedDescription: String { _nsError.localizedDescription }

    fileprivate static func code(of error: NSError) -> Code? {
        error.domain == LAErrorDomain ? Code(rawValue: error.code) : nil
    }
}

extension LAError {
    public static var authenticationFailed: Code { .authenticationFailed }
    public static var userCancel: Code { .userCancel }
    public static var userFallback: Code { .userFallback }
    public static var systemCancel: Code { .systemCancel }
    public static var passcodeNotSet: Code { .passcodeNotSet }
    public static var biometryNotAvailable: Code { .biometryNotAvailable }
    public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
    public static var biometryLockout: Code { .biometryLockout }
    public static var touchIDNotAvailable: Code { .touchIDNotAvailable }
    public static var touchIDNotEnrolled: Code { .touchIDNotEnrolled }
    public static var touchIDLockout: Code { .touchIDLockout }
    public static var appCancel: Code { .appCancel }
    public static var invalidContext: Code { .invalidContext }
    public static var companionNotAvailable: Code { .companionNotAvailable }
    public static var watchNotAvailable: Code { .watchNotAvailable }
    public static var biometryNotPaired: Code { .biometryNotPaired }
    public static var biometryDisconnected: Code { .biometryDisconnected }
    public static var invalidDimensions: Code { .invalidDimensions }
    public static var notInteractive: Code { .notInteractive }
}

extension LAError: _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSError

    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        result = LAError(_nsError: source)
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) -> Bool {
        guard code(of: source) != nil else { return false }
        result = LAError(_nsError: source)
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        source.map { LAError(_nsError: $0) } ?? LAError(.authenticationFailed)
    }
}

extension LAError {
    init(_ code: Code, _ reason: String) {
        self.init(code, userInfo: [NSLocalizedDescriptionKey: reason])
    }

    /// The error of a policy for a keychain's failure.
    init(_ error: KeychainError) {
        let code: Code =
            switch error.code {
            case .userCanceled: .userCancel
            case .interactionNotAllowed: .notInteractive
            case .noDefaultKeychain, .noSuchKeychain: .passcodeNotSet
            default: .authenticationFailed
            }
        let info: [String: Any] = [
            NSLocalizedDescriptionKey: error.description, NSUnderlyingErrorKey: error.foundation,
        ]
        self.init(code, userInfo: info)
    }
}
