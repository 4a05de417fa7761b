public import KeychainModel

/// The client of a search: the access groups that are open to it, and the roots that it trusts.
public struct SearchClient: Sendable {
    /// The groups whose items can be found; nil for all.
    let accessGroups: AccessGroups?
    /// The roots that a chain of certificates must end in for ``Filter/trusted``.
    let trustAnchors: TrustAnchors

    public init(accessGroups: AccessGroups? = nil, trustAnchors: TrustAnchors = .system) {
        self.accessGroups = accessGroups
        self.trustAnchors = trustAnchors
    }
}
