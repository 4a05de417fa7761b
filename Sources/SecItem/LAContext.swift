public import Foundation
internal import KeychainHost
internal import Synchronization
internal import TokenKit

/// What a program knows that a person would be asked for: given as ``kSecUseAuthenticationContext``, for any number of
/// calls. The part of Apple's LocalAuthentication that keychains need.
public final class LAContext: Sendable {
    private struct Settings {
        var interactionNotAllowed = false
        var localizedReason = ""
    }

    private let settings = Mutex(Settings())
    private let base = Keychains.authentication

    public init() {}

    /// Whether nobody is to be asked.
    public var interactionNotAllowed: Bool {
        get { settings.withLock { $0.interactionNotAllowed } }
        set { settings.withLock { $0.interactionNotAllowed = newValue } }
    }

    /// What a person who is asked is told.
    public var localizedReason: String {
        get { settings.withLock { $0.localizedReason } }
        set { settings.withLock { $0.localizedReason = newValue } }
    }

    /// Gives the PIN or password, or takes it back.
    ///
    /// - Returns: whether credentials of the kind can be given.
    @discardableResult
    public func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
        guard let kind = type.kind else { return false }
        guard let credential else {
            base.removeCredential(kind)
            return true
        }
        var bytes = [UInt8](credential)
        base.setCredential(Secret(consuming: &bytes), kind)
        return true
    }

    /// Whether a credential of the kind was given.
    public func isCredentialSet(_ type: LACredentialType) -> Bool {
        type.kind.map { base.hasCredential($0) } ?? false
    }

    /// Forgets what was given, and that somebody has shown to be there.
    public func invalidate() {
        for kind in [AuthenticationContext.CredentialKind.pin, .password, .applicationPassword] {
            base.removeCredential(kind)
        }
        base.forgetPresence()
    }

    var authentication: AuthenticationContext { interactionNotAllowed ? base.restricted(to: .fail) : base }
}

/// The kinds of credentials.
public struct LACredentialType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// What an item asks for on top of its keychain's password.
    public static let applicationPassword = LACredentialType(rawValue: 0)
    /// A card's PIN.
    public static let smartCardPIN = LACredentialType(rawValue: -3)
    /// The password of a keychain.
    public static let keychainPassword = LACredentialType(rawValue: -1001)

    fileprivate var kind: AuthenticationContext.CredentialKind? {
        switch self {
        case .applicationPassword: .applicationPassword
        case .smartCardPIN: .pin
        case .keychainPassword: .password
        default: nil
        }
    }
}
