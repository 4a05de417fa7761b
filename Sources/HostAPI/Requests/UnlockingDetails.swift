public import KeychainModel

/// The password and the cards that open a keychain in a file. A detail that cannot be read is nil, with its error in ``failures``.
public struct UnlockingDetails: Sendable, Equatable {
    /// Whether its password is not empty.
    public var hasPassword: Bool?
    /// The cost of one guess at its password.
    public var passwordCost: ScryptCost?
    /// The cards that open it beside the password, in the order in which they were bound.
    public var cards: [BoundCard] = []
    public var failures: [KeychainError] = []

    public init() {}
}

/// A card that opens a keychain in a file.
public struct BoundCard: Sendable, Hashable {
    public let token: KeychainIdentifier
    /// The card's label when it was bound.
    public let label: String
    /// The name of its key that decrypts the keychain's.
    public let key: String
    /// The name of the key that shows, before a PIN is asked for, that it is the same card; nil for a binding without one.
    public let proof: String?
    /// Whether that key signs a challenge. Otherwise its public half is compared, which a copy of the card has as well.
    public let isChallenged: Bool

    public init(_ token: KeychainIdentifier, label: String, key: String, proof: String?, isChallenged: Bool) {
        self.token = token
        self.label = label
        self.key = key
        self.proof = proof
        self.isChallenged = isChallenged
    }
}

/// The side effects of a change of a keychain's password or key.
public struct PasswordChange: Sendable, Equatable {
    /// The reason why a file beside the keychain's still has what the old password opens, and the remedy; nil where no file has it.
    public var leftover: KeychainError?
    /// The cards that open the keychain with its new key as well.
    public var renewed: [BoundCard] = []
    /// The cards that opened the keychain, but do not with its new key.
    public var dropped: [BoundCard] = []

    public init(leftover: KeychainError? = nil) {
        self.leftover = leftover
    }
}
