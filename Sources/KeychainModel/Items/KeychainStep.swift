/// A step of a change of one keychain, complete: carrying it out asks no question.
public enum KeychainStep: Sendable {
    case add(NewItem)
    /// Adds an item, unless the keychain has one with the same ``ItemClass/uniqueAttributes``, which stays unchanged.
    case addIfAbsent(NewItem)
    /// Changes every item that any of the queries finds.
    case update([ResolvedQuery], ItemChanges, SealedSecrets)
    /// Deletes every item that any of the queries finds.
    case delete([ResolvedQuery])

    /// The result of a step.
    public enum Result: Sendable {
        case added(Item)
        /// The item that kept another one from being added.
        case present(Item)
        /// The number of items that were changed or deleted; 0 is no error.
        case count(Int)

        package var added: Item? { if case .added(let item) = self { item } else { nil } }

        package var count: Int { if case .count(let count) = self { count } else { 1 } }
    }

    /// Whether the step only deletes, which needs neither a key nor sound indexes.
    package var isDeletion: Bool { if case .delete = self { true } else { false } }
}
