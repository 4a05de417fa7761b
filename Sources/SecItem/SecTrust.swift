internal import HostAPI
internal import KeychainModel
internal import Foundation
internal import Localization
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// The evaluation of a certificate: the certificate, others for its chain, policies, and trusted roots. SecTrust.h.
///
/// Nothing is fetched from the network, and no revocation is looked up. The chain is built as `tokenctl verify-cert` does, through the
/// certificates of the trust and those in local keychains, to the system's roots unless others are set.
public final class SecTrust: Sendable {
    struct State {
        var policies: [SecPolicy]
        /// The roots that a program set.
        var anchors: [Certificate]?
        var isAnchorsOnly: Bool?
        /// The time of the evaluation in seconds since 1970; nil for the present time.
        var time: Int64?
        var allowsNetwork = false
        var evaluation: Evaluation?
    }

    /// The result of an evaluation.
    struct Evaluation: Sendable {
        let chain: [Certificate]
        let failure: KeychainError?
    }

    let certificates: [Certificate]
    private let state: Mutex<State>

    /// - Parameter certificates: the certificate to be evaluated, followed by others for its chain.
    init(_ certificates: [Certificate], _ policies: [SecPolicy]) {
        self.certificates = certificates
        state = Mutex(State(policies: policies))
    }

    var settings: State { state.withLock { $0 } }

    /// Changes the state, and discards the last evaluation.
    func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.evaluation = nil
        }
    }

    /// The evaluation under the present settings, done once.
    func evaluated() -> Evaluation {
        let settings = settings
        if let evaluation = settings.evaluation { return evaluation }
        let evaluation = evaluate(settings)
        state.withLock { $0.evaluation = evaluation }
        return evaluation
    }

    private func evaluate(_ settings: State) -> Evaluation {
        guard let leaf = certificates.first else { return Evaluation(chain: [], failure: KeychainError(.param)) }
        do throws(KeychainError) {
            let chain = try chain(of: leaf, settings)
            for policy in settings.policies { try policy.check(leaf) }
            return Evaluation(chain: chain, failure: nil)
        } catch {
            return Evaluation(chain: leaf.chain(through: certificates), failure: error)
        }
    }

    /// The chain to a root.
    ///
    /// - Throws: `errSecCertificateExpired`, `errSecCertificateNotValidYet`, `errSecNotTrusted`; `errSecTrustNotAvailable`.
    private func chain(of leaf: Certificate, _ settings: State) throws(KeychainError) -> [Certificate] {
        let time = settings.time ?? Int64(Date().timeIntervalSince1970)
        guard time <= leaf.notAfter else {
            throw KeychainError(.certificateExpired, "the certificate expired on \(leaf.notAfterText)")
        }
        guard time >= leaf.notBefore else {
            throw KeychainError(.certificateNotValidYet, "the certificate is valid from \(leaf.notBeforeText)")
        }
        let isForTLS = settings.policies.contains { [.tlsServer, .tlsClient].contains($0.policy) }
        var request = ChainRequest(leaf, helpers: Array(certificates.dropFirst()))
        request.anchors = settings.anchors ?? []
        request.trustsSystem = !(settings.isAnchorsOnly ?? (settings.anchors != nil))
        request.endsAtAnyAnchor = settings.anchors != nil
        request.time = time
        request.securityLevel = isForTLS ? 2 : nil
        switch try Keychains.host.judge(request, RequestContext(questions: .never)).found {
        case .trusted(let chain): return chain
        case .untrusted(let reason, let depth):
            let place = depth == 0 ? "" : ", of number \(depth) above it"
            throw KeychainError(.notTrusted, "the certificate is not trusted: \(reason)\(place)")
        }
    }
}

extension SecPolicy {
    /// - Throws: `errSecHostNameMismatch`; `errSecNotTrusted` for a certificate with another purpose.
    fileprivate func check(_ certificate: Certificate) throws(KeychainError) {
        guard policy.accepts(certificate) else {
            throw KeychainError(.notTrusted, "the certificate is not for \(policy.rawValue)")
        }
        if let host, !certificate.isFor(host: host) {
            throw KeychainError(.hostNameMismatch, "the certificate is not for '\(DisplayText.line(host))'")
        }
    }

    /// A caller's policies, one or several; the basic one by default.
    ///
    /// - Throws: `errSecParam` for an object that is not a policy.
    static func all(_ policies: Any?) throws(KeychainError) -> [SecPolicy] {
        guard let policies else { return [SecPolicyCreateBasicX509()] }
        let given = policies as? [Any] ?? [policies]
        let known = given.compactMap { $0 as? SecPolicy }
        guard known.count == given.count else {
            throw KeychainError(.param, "an element of the array is not a policy", key: "policies")
        }
        return known.isEmpty ? [SecPolicyCreateBasicX509()] : known
    }
}
