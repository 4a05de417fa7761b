public import Foundation
internal import HostAPI
internal import KeychainCalls
internal import KeychainModel
internal import Platform
internal import SecureBytes
internal import Synchronization

/// The answers that a program gives in advance, as ``kSecUseAuthenticationContext``, for any number of calls. It is the
/// part of Apple's LocalAuthentication that keychains need.
open class LAContext: NSObject, @unchecked Sendable {
    private struct Settings {
        var interactionNotAllowed = false
        var isInvalidated = false
        var localizedReason = ""
        var localizedFallbackTitle: String?
        var localizedCancelTitle: String?
        var touchIDAuthenticationAllowableReuseDuration: TimeInterval = 0
        var credentials: [CredentialKind: SharedSecret] = [:]
    }

    private let settings = Mutex(Settings())
    /// The number under which the host records proofs of presence and refused credentials.
    private let number = AuthenticationNumber.next()

    public override init() {}

    deinit { forget() }

    private func forget() { try? Keychains.host.endAuthentication(number, RequestContext()) }

    /// Whether questions are forbidden.
    open var interactionNotAllowed: Bool {
        get { settings.withLock { $0.interactionNotAllowed } }
        set { settings.withLock { $0.interactionNotAllowed = newValue } }
    }

    /// The text of a question for people.
    open var localizedReason: String {
        get { settings.withLock { $0.localizedReason } }
        set { settings.withLock { $0.localizedReason = newValue } }
    }

    /// The title is kept, and not shown: prompts have buttons of their own.
    open var localizedFallbackTitle: String? {
        get { settings.withLock { $0.localizedFallbackTitle } }
        set { settings.withLock { $0.localizedFallbackTitle = newValue } }
    }

    /// The title is kept, and not shown: prompts have buttons of their own.
    open var localizedCancelTitle: String? {
        get { settings.withLock { $0.localizedCancelTitle } }
        set { settings.withLock { $0.localizedCancelTitle = newValue } }
    }

    /// The value is kept without effect: there are no biometrics to reuse.
    open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
        get { settings.withLock { $0.touchIDAuthenticationAllowableReuseDuration } }
        set { settings.withLock { $0.touchIDAuthenticationAllowableReuseDuration = newValue } }
    }

    /// Sets the PIN or password for the calls, or removes it if nil.
    ///
    /// - Returns: whether credentials of the kind can be given.
    @discardableResult
    open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
        guard let kind = type.kind else { return false }
        let secret = credential.map { SharedSecret(Secret(copying: $0)) }
        settings.withLock { $0.credentials[kind] = secret }
        return true
    }

    /// Whether a credential of the kind is set and has not been refused.
    open func isCredentialSet(_ type: LACredentialType) -> Bool {
        guard let kind = type.kind else { return false }
        return (try? Keychains.host.usableCredentials(request))?.contains(kind) ?? false
    }

    /// Forgets the credentials, and that a person has proved to be present. No policy is evaluated afterwards.
    open func invalidate() {
        settings.withLock { settings in
            settings.isInvalidated = true
            settings.credentials = [:]
        }
        forget()
    }

    // MARK: Policies

    /// None: there are no biometrics here.
    open var biometryType: LABiometryType { .none }

    /// Nil: there are no biometrics here that could have changed.
    open var evaluatedPolicyDomainState: Data? { nil }

    /// Whether the policy can be evaluated. Asks no person.
    ///
    /// - Parameter error: receives the reason if it cannot.
    open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        do throws(LAError) {
            _ = try keychain(for: policy)
            return true
        } catch let refusal {
            unsafe error?.pointee = refusal as NSError
            return false
        }
    }

    /// Has a person prove to be the owner, with the credentials of the context or by asking.
    ///
    /// After a proof, the same context needs no other one while the keychain stays unlocked.
    ///
    /// - Parameters:
    ///   - localizedReason: the purpose that the prompt names: it completes "password to …".
    ///   - reply: called on a thread of its own.
    open func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        let isStarted = BlockingThread.start { [self] in
            do throws(LAError) {
                try evaluate(policy, localizedReason)
                reply(true, nil)
            } catch {
                reply(false, error)
            }
        }
        if !isStarted { reply(false, LAError(.systemCancel, "no thread could be started to ask on")) }
    }

    /// Has a person prove to be the owner, as ``evaluatePolicy(_:localizedReason:reply:)`` does.
    ///
    /// - Throws: ``LAError``.
    @discardableResult
    open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluatePolicy(policy, localizedReason: localizedReason) { isSatisfied, error in
                continuation.resume(with: error.map { .failure($0) } ?? .success(isSatisfied))
            }
        }
    }

    var isInvalidated: Bool { settings.withLock { $0.isInvalidated } }

    /// The circumstances of a call with this context.
    var request: RequestContext {
        let (reason, isSilent, credentials) = settings.withLock {
            ($0.localizedReason, $0.interactionNotAllowed, $0.credentials)
        }
        return RequestContext(
            purpose: reason.isEmpty ? nil : reason,
            questions: isSilent || !Keychains.interaction.isAllowed ? .never : .byHost,
            credentials: credentials.map { RequestContext.Credential($0, $1.secret.clone()) }, authentication: number)
    }
}

/// The kinds of credentials.
public struct LACredentialType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The password of an item, beside its keychain's.
    public static let applicationPassword = LACredentialType(rawValue: 0)
    /// A card's PIN.
    public static let smartCardPIN = LACredentialType(rawValue: -3)
    /// The password of a keychain.
    public static let keychainPassword = LACredentialType(rawValue: -1001)

    fileprivate var kind: CredentialKind? {
        switch self {
        case .applicationPassword: .applicationPassword
        case .smartCardPIN: .pin
        case .keychainPassword: .password
        default: nil
        }
    }
}
