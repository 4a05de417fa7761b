/// The answer to a search, which may be incomplete: what was found, and what could not be looked at.
///
/// A member of the search list that fails hides no other member, and a damaged item hides no other item.
public struct Outcome<Element: Sendable>: Sendable {
    /// The elements that were found, in the order of the search list.
    public var found: [Element]
    /// The parts of the search list that the answer lacks, each once.
    public var missing: [Missing]

    public init(_ found: [Element] = [], missing: [Missing] = []) {
        self.found = found
        self.missing = missing
    }
}

/// A part of the search list that an answer lacks.
public struct Missing: Sendable, Hashable {
    /// The kind of the gap.
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// A damaged item that may match the query.
        case damagedItem = 1
        /// A damaged item that cannot match the query, judged by those of its attributes that are still readable.
        case unrelatedDamagedItem = 2
        /// A keychain whose own record is damaged.
        case damagedKeychain = 3
        /// A keychain or token that cannot be read.
        case keychain = 4
        /// A card that another program holds.
        case heldCard = 5
        /// All cards: there is no smart-card service, or the choice of drivers cannot be read.
        case allCards = 6
    }

    public let kind: Kind
    /// The name of the keychain: a file's name, a card's label, a reader's or a module's name.
    public let keychain: String
    /// The reason, and what to do.
    public let error: KeychainError

    public init(_ kind: Kind, of keychain: String, _ error: KeychainError) {
        self.kind = kind
        self.keychain = keychain
        self.error = error
    }

    /// Equal where both say the same: errors alone are equal as soon as their codes are.
    public static func == (left: Missing, right: Missing) -> Bool {
        left.kind == right.kind && left.keychain == right.keychain
            && left.error.description == right.error.description
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(keychain) }
}
