/// The result of searching one keychain.
public struct SearchResult: Sendable {
    /// The items, in the order they were added.
    public package(set) var items: [Item] = []
    /// One error for each item that is damaged beyond reading; it hides no other.
    public package(set) var damaged: [KeychainError] = []
    /// Damaged items that cannot match the query, judged by the attributes that are still readable.
    public package(set) var damagedOthers: [KeychainError] = []

    package init() {}
}
