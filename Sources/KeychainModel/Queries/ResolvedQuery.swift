package import SystemCrypto

/// A query with what is needed to answer it: the open access groups, issuer names, and trusted roots.
public struct ResolvedQuery: Sendable, Hashable {
    /// The question.
    public var query: Query
    /// The access groups that are open to the client; nil for all.
    let accessGroups: AccessGroups?
    /// Normalised names of issuers whose certificates lead to a name of ``Filter/issuers(_:)``.
    package var issuerNames: Set<[UInt8]> = []
    /// The roots and intermediates that ``Filter/trusted`` is decided by; nil where nothing is trusted.
    package var trust: ChainTrust?

    /// - Parameter accessGroups: those that are open to the client; nil for all.
    public init(_ query: Query, accessGroups: AccessGroups? = nil) {
        self.query = query
        self.accessGroups = accessGroups
    }

    /// The query without its limit.
    package var withoutLimit: ResolvedQuery {
        var resolved = self
        resolved.query = query.withoutLimit
        return resolved
    }
}

/// The roots that decide whether a certificate is trusted, the certificates that may lead to them, and the time.
package struct ChainTrust: Sendable, Hashable {
    let roots: [Certificate]
    /// Certificates for chains; they are not trusted.
    let intermediates: [Certificate]
    /// When the chain must be valid, in seconds since 1970.
    let time: Int64

    package init(roots: [Certificate], intermediates: [Certificate], time: Int64) {
        self.roots = roots
        self.intermediates = intermediates
        self.time = time
    }

    /// Whether a chain leads from the certificate to one of the roots.
    func accepts(_ certificate: Certificate) -> Bool {
        let outcome = try? CertificateChain.verify(
            certificate, intermediates: intermediates, roots: roots, at: time)
        return if case .trusted? = outcome { true } else { false }
    }
}
