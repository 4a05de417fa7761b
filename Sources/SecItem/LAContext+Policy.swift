internal import KeychainModel
internal import HostAPI
internal import KeychainCalls

/// The way in which a person proves to be the owner. LAContext.h.
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
    /// Has a person prove to be the owner, on the calling thread.
    func evaluate(_ policy: LAPolicy, _ reason: String) throws(LAError) {
        let keychain = try keychain(for: policy)
        do throws(KeychainError) {
            var request = request
            request.purpose = reason.isEmpty ? nil : reason
            try Keychains.host.confirmPresence(for: keychain, request)
        } catch {
            RefusalLog.note("evaluatePolicy", error)
            throw LAError(error)
        }
    }

    /// The keychain whose password satisfies the policy.
    func keychain(for policy: LAPolicy) throws(LAError) -> KeychainIdentifier {
        guard !isInvalidated else { throw LAError(.invalidContext, "the context has been invalidated") }
        switch policy {
        case .deviceOwnerAuthentication: break
        case .deviceOwnerAuthenticationWithBiometrics, .deviceOwnerAuthenticationWithBiometricsOrCompanion:
            throw LAError(.biometryNotAvailable, "there are no biometrics here")
        case .deviceOwnerAuthenticationWithCompanion, .deviceOwnerAuthenticationWithWristDetection:
            throw LAError(.companionNotAvailable, "there are no companion devices here")
        }
        let (keychain, proof) = try KeychainError.mappedToLAError { () throws(KeychainError) in
            let keychain = try Keychains.caller.keychain(at: nil).keychain.identifier
            return (keychain, try Keychains.host.presenceProof(for: keychain, request))
        }
        switch proof {
        case .possible: return keychain
        case .noSecret: throw LAError(.passcodeNotSet, "the default keychain has no password")
        case .nobodyToAsk:
            throw LAError(.notInteractive, "nobody can be asked, and the context has no password")
        }
    }
}

extension KeychainError {
    fileprivate static func mappedToLAError<Result>(
        _ body: () throws(KeychainError) -> Result
    ) throws(LAError) -> Result {
        do { return try body() } catch { throw LAError(error) }
    }
}
