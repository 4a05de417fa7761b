public import KeychainModel

/// A decision on whether a program may use an item.
public struct AccessEntry: Sendable, Hashable {
    /// The name of the item and of its keychain or card, for people.
    public let item: String
    /// The item; nil where it is known by its name alone.
    public let reference: PersistentReference?
    /// The path of the program's file when the decision was made, for people; nil for any program.
    public let program: String?
    /// Nil for all uses.
    public let use: AccessQuestion.Use?
    public let isAllowed: Bool
    /// Whether the decision is kept in the item's keychain; else it ends with the host's process.
    public let isLasting: Bool

    public init(
        item: String, reference: PersistentReference?, program: String?, use: AccessQuestion.Use?, isAllowed: Bool,
        isLasting: Bool
    ) {
        (self.item, self.reference, self.program) = (item, reference, program)
        (self.use, self.isAllowed, self.isLasting) = (use, isAllowed, isLasting)
    }
}

/// A change of the decisions on whether programs may use items. A program is given by the path of its file.
public enum AccessChange: Sendable, Hashable {
    /// Has programs use items in each way without a question.
    ///
    /// - Parameter programs: nil for any program.
    case allow([String]?, [PersistentReference])
    /// Refuses programs each use of items without a question.
    case deny([String], [PersistentReference])
    /// Forgets decisions.
    ///
    /// - Parameters:
    ///   - program: nil for decisions about each one.
    ///   - items: nil for decisions about each one.
    case reset(program: String?, [PersistentReference]?)
}
