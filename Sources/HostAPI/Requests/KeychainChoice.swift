/// The keychains that settings choose, by their paths. The files need not exist.
public struct KeychainChoice: Sendable, Hashable {
    /// The files that a search visits, in its order. Cards come before them all.
    public let searchList: [String]
    /// The keychain that gets new items; nil for none.
    public let defaultKeychain: String?
    /// The keychain that is the default where no other is set; nil outside the user's domain.
    public let loginKeychain: String?

    public init(searchList: [String], defaultKeychain: String?, loginKeychain: String? = nil) {
        self.searchList = searchList
        self.defaultKeychain = defaultKeychain
        self.loginKeychain = loginKeychain
    }

    /// A change of one setting. Names are taken as ``KeychainService/path(ofKeychain:_:)`` takes them.
    public enum Change: Sendable, Hashable {
        case searchList([String])
        /// Nil clears the setting.
        case defaultKeychain(String?)
        /// Nil clears the setting.
        case loginKeychain(String?)
    }
}

/// Whether a person can prove presence, by a keychain's password or its card's PIN.
public enum PresenceProof: UInt8, Sendable, CaseIterable {
    case possible = 1
    /// The keychain has neither a password nor a card.
    case noSecret = 2
    /// The request allows no question and has no credential.
    case nobodyToAsk = 3
}
