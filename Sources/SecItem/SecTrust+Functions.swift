internal import KeychainModel
public import Dispatch
public import Foundation
internal import HostAPI
internal import KeychainCalls
internal import Localization
internal import SystemCrypto

/// The result of an evaluation.
public enum SecTrustResultType: UInt32, Sendable {
    /// Nothing was evaluated yet.
    case invalid = 0
    case proceed = 1
    case deny = 3
    /// Trusted.
    case unspecified = 4
    /// Not trusted.
    case recoverableTrustFailure = 5
    case fatalTrustFailure = 6
    case otherError = 7
}

public typealias SecTrustCallback = (SecTrust, SecTrustResultType) -> Void
public typealias SecTrustWithErrorCallback = (SecTrust, Bool, CFError?) -> Void

/// A trust for a certificate, or for an array of certificates, of which the first is evaluated.
///
/// - Parameter policies: a policy or an array of them; the basic one if nil.
@discardableResult
public func SecTrustCreateWithCertificates(
    _ certificates: Any, _ policies: Any?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let given = try known(certificates)
        guard !given.isEmpty else { throw KeychainError(.param, "there is no certificate", key: "certificates") }
        unsafe trust.pointee = SecTrust(given, try SecPolicy.all(policies))
    }
}

/// - Throws: `errSecParam` for an object that is not a certificate.
private func known(_ certificates: Any) throws(KeychainError) -> [Certificate] {
    let given = certificates as? [Any] ?? [certificates]
    let known = given.compactMap { ($0 as? SecCertificate)?.certificate }
    guard known.count == given.count else {
        throw KeychainError(.param, "an element of the array is not a certificate", key: "certificates")
    }
    return known
}

// MARK: - Settings

@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: Any) -> OSStatus {
    status { () throws(KeychainError) in
        let policies = try SecPolicy.all(policies)
        trust.change { $0.policies = policies }
    }
}

@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    unsafe policies.pointee = trust.settings.policies
    return errSecSuccess
}

/// Sets the roots that are trusted, in place of the system's unless ``SecTrustSetAnchorCertificatesOnly(_:_:)`` says otherwise; nil for
/// the system's. They need not be self-signed.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    status { () throws(KeychainError) in
        let anchors = if let anchorCertificates { try known(anchorCertificates) } else { nil as [Certificate]? }
        trust.change { $0.anchors = anchors }
    }
}

/// Sets whether only the given roots are trusted, and not the system's.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.isAnchorsOnly = anchorCertificatesOnly }
    return errSecSuccess
}

@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe anchors.pointee = trust.settings.anchors?.map { SecCertificate($0) }
    return errSecSuccess
}

/// The system's roots.
@discardableResult
public func SecTrustCopyAnchorCertificates(_ anchors: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    status { () throws(KeychainError) in
        unsafe anchors.pointee = try Keychains.host.trustedRoots(RequestContext()).map { SecCertificate($0) }
    }
}

/// Sets the time at which the chain must be valid; by default it is the time of the evaluation.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    status { () throws(KeychainError) in
        guard let time = Int64(exactly: verifyDate.timeIntervalSince1970.rounded(.down)) else {
            throw KeychainError(.param, "the date is none", key: "verifyDate")
        }
        trust.change { $0.time = time }
    }
}

public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    let date = trust.settings.time.map { Date(timeIntervalSince1970: TimeInterval($0)) } ?? Date()
    return date.timeIntervalSinceReferenceDate
}

/// The setting is kept without effect: nothing is ever fetched.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus {
    trust.change { $0.allowsNetwork = allowFetch }
    return errSecSuccess
}

@discardableResult
public func SecTrustGetNetworkFetchAllowed(
    _ trust: SecTrust, _ allowFetch: UnsafeMutablePointer<DarwinBoolean>
) -> OSStatus {
    unsafe allowFetch.pointee = DarwinBoolean(trust.settings.allowsNetwork)
    return errSecSuccess
}

// MARK: - Evaluation

/// Whether the certificate leads to a root, and satisfies the policies.
///
/// - Parameter error: receives the reason if it does not.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    guard let failure = trust.evaluated().failure else { return true }
    RefusalLog.note("SecTrustEvaluateWithError", failure)
    unsafe error?.pointee = failure.foundation
    return false
}

/// The older form of ``SecTrustEvaluateWithError(_:_:)``.
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    _ = trust.evaluated()
    return unsafe SecTrustGetTrustResult(trust, result)
}

/// Evaluates on `queue`, and calls `result` there.
@discardableResult
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping @Sendable (SecTrust, Bool, CFError?) -> Void
) -> OSStatus {
    queue.async {
        var error: CFError?
        let isTrusted = unsafe SecTrustEvaluateWithError(trust, &error)
        result(trust, isTrusted, error)
    }
    return errSecSuccess
}

/// The older form of ``SecTrustEvaluateAsyncWithError(_:_:_:)``.
///
/// - Parameter queue: nil for a global one.
@discardableResult
public func SecTrustEvaluateAsync(
    _ trust: SecTrust, _ queue: DispatchQueue?, _ result: @escaping @Sendable (SecTrust, SecTrustResultType) -> Void
) -> OSStatus {
    (queue ?? .global()).async {
        var outcome = SecTrustResultType.invalid
        unsafe SecTrustEvaluate(trust, &outcome)
        result(trust, outcome)
    }
    return errSecSuccess
}

/// The result of the last evaluation.
@discardableResult
public func SecTrustGetTrustResult(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    let outcome: SecTrustResultType =
        switch trust.settings.evaluation {
        case nil: .invalid
        case let evaluation?: evaluation.failure == nil ? .unspecified : .recoverableTrustFailure
        }
    unsafe result.pointee = outcome
    return errSecSuccess
}

// MARK: - Chain

/// The chain, from the evaluated certificate: to a root if it is trusted, else as far as the certificates of the trust lead.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    trust.evaluated().chain.map { SecCertificate($0) }
}

public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { trust.evaluated().chain.count }

public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    let chain = trust.evaluated().chain
    return chain.indices.contains(ix) ? SecCertificate(chain[ix]) : nil
}

/// The public key of the evaluated certificate.
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? {
    trust.certificates.first.flatMap { SecCertificateCopyKey(SecCertificate($0)) }
}

/// The public key, by its older name.
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? { SecTrustCopyKey(trust) }
