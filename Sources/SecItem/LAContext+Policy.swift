public import Foundation
internal import KeychainHost
internal import TokenKit

/// How a person is to show that they are the owner. LAContext.h.
public enum LAPolicy: Int, Sendable {
    case deviceOwnerAuthenticationWithBiometrics = 1
    /// Here: by the password of the default keychain, or the PIN of a card that is bound to it.
    case deviceOwnerAuthentication = 2
    case deviceOwnerAuthenticationWithCompanion = 3
    case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4
    case deviceOwnerAuthenticationWithWristDetection = 5

    public static let deviceOwnerAuthenticationWithWatch = LAPolicy.deviceOwnerAuthenticationWithCompanion
    public static let deviceOwnerAuthenticationWithBiometricsOrWatch =
        LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion
}

/// A kind of biometrics. LAContext.h.
public enum LABiometryType: Int, Sendable {
    case none = 0
    case touchID = 1
    case faceID = 2
    case opticID = 4
}

extension LAContext {
    /// None: there are no biometrics here.
    public var biometryType: LABiometryType { .none }

    /// Nil: there are no biometrics here that could have changed.
    public var evaluatedPolicyDomainState: Data? { nil }

    /// Whether the policy can be evaluated. Nobody is asked.
    ///
    /// - Parameter error: gets why not.
    public func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        do throws(LAError) {
            _ = try keychain(for: policy)
            return true
        } catch let refusal {
            unsafe error?.pointee = refusal as NSError
            return false
        }
    }

    /// Has a person show that they are the owner, with the credentials of the context or by asking.
    ///
    /// A context for which somebody has done so is not asked again while the keychain stays unlocked.
    ///
    /// - Parameters:
    ///   - localizedReason: what the prompt says that it is for: it completes "password to …".
    ///   - reply: called on a thread of its own.
    public func evaluatePolicy(
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
        if !isStarted { reply(false, LAError(.systemCancel, "there is no thread to ask on")) }
    }

    /// Has a person show that they are the owner, as ``evaluatePolicy(_:localizedReason:reply:)`` does.
    ///
    /// - Throws: ``LAError``.
    @discardableResult
    public func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluatePolicy(policy, localizedReason: localizedReason) { isSatisfied, error in
                continuation.resume(with: error.map { .failure($0) } ?? .success(isSatisfied))
            }
        }
    }

    private func evaluate(_ policy: LAPolicy, _ reason: String) throws(LAError) {
        let keychain = try keychain(for: policy)
        do throws(KeychainError) {
            try keychain.confirmPresence(
                use: reason.isEmpty ? "show that it is you" : reason, authentication: authentication)
        } catch {
            RefusalLog.note("evaluatePolicy", error)
            throw LAError(error)
        }
    }

    /// The keychain whose password satisfies the policy.
    private func keychain(for policy: LAPolicy) throws(LAError) -> LocalKeychain {
        guard !isInvalidated else { throw LAError(.invalidContext, "the context has been invalidated") }
        switch policy {
        case .deviceOwnerAuthentication: break
        case .deviceOwnerAuthenticationWithBiometrics, .deviceOwnerAuthenticationWithBiometricsOrCompanion:
            throw LAError(.biometryNotAvailable, "there are no biometrics here")
        case .deviceOwnerAuthenticationWithCompanion, .deviceOwnerAuthenticationWithWristDetection:
            throw LAError(.companionNotAvailable, "there are no companion devices here")
        }
        let (keychain, hasSecret) = try KeychainError.mappedToLAError { () throws(KeychainError) in
            let keychain = try Keychains.process.defaultKeychain()
            if try !keychain.cardBindings().isEmpty { return (keychain, true) }
            return (keychain, try keychain.hasPassword)
        }
        guard hasSecret else { throw LAError(.passcodeNotSet, "the default keychain has no password") }
        guard authentication.canConfirmPresence else {
            throw LAError(.notInteractive, "nobody can be asked, and the context has no password")
        }
        return keychain
    }
}

extension KeychainError {
    fileprivate static func mappedToLAError<Result>(
        _ body: () throws(KeychainError) -> Result
    ) throws(LAError) -> Result {
        do { return try body() } catch { throw LAError(error) }
    }
}
