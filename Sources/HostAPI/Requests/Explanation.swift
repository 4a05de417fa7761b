public import KeychainModel

/// The way that a search would go and its reasons: the answer to "why was it not found?".
public struct Explanation: Sendable, Hashable {
    /// The result for one keychain of the search list.
    public enum Outcome: Sendable, Hashable {
        /// The keychain was searched; `matches` disregards the limit.
        case searched(matches: Int)
        /// Nothing that the keychain can have would match.
        case skipped(reason: String)
        /// The keychain could not be searched.
        case failed(reason: String)
    }

    /// One keychain, in the order of the search list.
    public struct Visit: Sendable, Hashable {
        public let keychain: String
        public let outcome: Outcome
        /// The defects of items that are damaged, and are not among the matches.
        public let damage: [String]
        /// The question that a reader of the wanted data would have to answer; nil for none.
        public let question: String?
        /// The store's query plan, in SQLite's words; empty for a card.
        public let plan: [String]

        public init(
            keychain: String, outcome: Outcome, damage: [String] = [], question: String? = nil, plan: [String] = []
        ) {
            self.keychain = keychain
            self.outcome = outcome
            self.damage = damage
            self.question = question
            self.plan = plan
        }
    }

    public let itemClass: ItemClass
    /// The attributes that must be equal, defaults included.
    public let columns: [Attribute]
    /// The keys of the filters that follow, in their order.
    public let filters: [String]
    /// The number of items that are wanted; nil for all.
    public let limit: Int?
    public let visits: [Visit]
    /// The number of items that would be returned.
    public let count: Int

    public init(
        itemClass: ItemClass, columns: [Attribute], filters: [String], limit: Int?, visits: [Visit], count: Int
    ) {
        self.itemClass = itemClass
        self.columns = columns
        self.filters = filters
        self.limit = limit
        self.visits = visits
        self.count = count
    }
}
