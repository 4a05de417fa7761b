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
    /// Puts rules in the place of all decisions that allow programs an item, as a whole. What a program is denied stays denied: only
    /// ``reset(program:_:)`` forgets it. A person has to agree to each program that may do more than before, and to no other.
    case replace([AccessRule], PersistentReference)
}

/// The programs that may use an item without a question, and those that are refused without one.
public struct ItemAccess: Sendable, Hashable {
    /// The decisions that allow, the oldest first. All are ``AccessProgram/any`` or ``AccessProgram/decided(name:identity:)``.
    public let allowed: [AccessRule]
    public let denied: [AccessRule]

    public init(allowed: [AccessRule], denied: [AccessRule]) {
        (self.allowed, self.denied) = (allowed, denied)
    }
}

/// A program and its use of an item.
public struct AccessRule: Sendable, Hashable {
    public let program: AccessProgram
    /// Nil for all uses.
    public let use: AccessQuestion.Use?

    public init(_ program: AccessProgram, _ use: AccessQuestion.Use? = nil) {
        (self.program, self.use) = (program, use)
    }

    /// Rules that an item may be given at once.
    public static let maximumCount = 256
}

/// The program of a rule.
public enum AccessProgram: Sendable, Hashable {
    case any
    /// The program that sends the request.
    case asking
    /// The program in a file, by its path, as it is now.
    case path(String)
    /// The program of a decision, which stays the same where its file is changed.
    ///
    /// - Parameters:
    ///   - name: the path of the program's file when the decision was made, for people.
    ///   - identity: bytes that tell it from others, which only the host understands.
    case decided(name: String, identity: [UInt8])
}
