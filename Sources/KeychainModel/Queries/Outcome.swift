package import Localization

/// The answer to a request, which may be incomplete: the findings, and the parts of the search list that it lacks.
///
/// A member of the search list that fails hides no other member, and a damaged item hides no other item.
public struct Outcome<Found: Sendable>: Sendable {
    /// The findings: of a search, elements in the order of the search list; of a change, the number of items it was made to.
    public var found: Found
    /// The parts of the search list that the answer lacks.
    public var missing: [Missing]

    public init(_ found: Found, missing: [Missing] = []) {
        self.found = found
        self.missing = missing
    }

    /// Adds gaps that are not in the list yet: two searches may meet the same one.
    package mutating func add(missing gaps: [Missing]) {
        missing += gaps.filter { !missing.contains($0) }
    }
}

extension Outcome where Found: RangeReplaceableCollection {
    public init() { self.init(Found()) }
}

extension Outcome {
    /// The findings, if no part of the search list is missing except the known ones.
    ///
    /// - Throws: the error of the first other gap that may hide a part of the answer.
    package func complete(besides known: [Missing]) throws(KeychainError) -> Found {
        if let gap = missing.first(where: { $0.kind != .unrelatedDamagedItem && !known.contains($0) }) {
            throw gap.error
        }
        return found
    }

    /// The error of the first damaged item of a keychain file that may match the query.
    package var damage: KeychainError? {
        missing.first { $0.kind == .damagedItem && $0.place == .file }?.error
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
        /// A keychain whose file, or whose own record in it, is damaged.
        case damagedKeychain = 3
        /// A keychain of the search list that does not exist.
        case absentKeychain = 4
        /// A keychain that cannot be read, or only in part.
        case unreadableKeychain = 5
        /// A card that another program holds.
        case heldCard = 6
    }

    /// The sort of keychain that has the gap.
    public enum Place: UInt8, Sendable, CaseIterable {
        case file = 1
        case card = 2
        /// All cards: there is no smart-card service, or the choice of drivers cannot be read.
        case allCards = 3
        /// The tokens of a PKCS#11 module of another maker.
        case module = 4
    }

    public let kind: Kind
    public let place: Place
    /// The name of the keychain: a file's name, or its path where it cannot be opened; a reader's or a module's name.
    public let keychain: String
    /// The reason, and what to do.
    public let error: KeychainError

    public init(_ kind: Kind, in place: Place, of keychain: String, _ error: KeychainError) {
        self.kind = kind
        self.place = place
        self.keychain = keychain
        self.error = error
    }

    /// Compares the errors by their descriptions, since errors themselves are equal if their codes are.
    public static func == (left: Missing, right: Missing) -> Bool {
        left.kind == right.kind && left.place == right.place && left.keychain == right.keychain
            && left.error.description == right.error.description
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(keychain) }
}

extension Missing {
    /// The gap that all cards leave.
    package static func allCards(_ error: KeychainError) -> Missing {
        Missing(.unreadableKeychain, in: .allCards, of: String(localized: "smart cards"), error)
    }

    /// The gap that an error in an open keychain file leaves.
    package init(inFile keychain: String, _ error: KeychainError) {
        let kind: Kind =
            switch error.code {
            case .decode: .damagedItem
            case .invalidKeychain: .damagedKeychain
            default: .unreadableKeychain
            }
        self.init(kind, in: .file, of: keychain, error)
    }
}

extension [Missing] {
    /// The error of a card that could not be read, or of the card service, without which none can be. Where something is not found on a
    /// card, it may be on this one, and a card that is not found may be this one.
    package var unreadCard: KeychainError? {
        first { gap in
            gap.place == .allCards || gap.place == .card && [.heldCard, .unreadableKeychain].contains(gap.kind)
        }?.error
    }
}

extension KeychainError {
    /// The error of a search without a result, with the gaps that may have hidden one.
    ///
    /// - Parameter text: the statement that nothing matches.
    package static func notFound(_ text: LocalizedText, besides missing: [Missing]) -> KeychainError {
        let reason = missing.reduce(text) { text, gap in
            gap.kind == .unrelatedDamagedItem
                ? "\(text); '\(gap.keychain)': \(gap.error.reasonText)"
                : "\(text); '\(gap.keychain)' could not be searched: \(gap.error.reasonText)"
        }
        return KeychainError(.itemNotFound, reason)
    }
}

extension Outcome: Equatable where Found: Equatable {}
extension Outcome: Hashable where Found: Hashable {}
