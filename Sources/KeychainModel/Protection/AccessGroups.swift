/// The values of `agrp` that have a meaning of their own.
public enum AccessGroup {
    /// The group of items that name none.
    public static let standard = "local"
    /// The group of every item that is on a token.
    public static let token = "com.apple.token"
}

/// The access groups that are open to a client, keychain semantics 1.11.
///
/// They separate programs of one user that choose to be separated. They are no security boundary: each program can read the file.
public struct AccessGroups: Sendable, Hashable {
    /// The names, the one for new items first; `*` stands for every group.
    public let names: [String]

    public init(_ names: [String]) {
        self.names = names
    }

    /// Every group, with ``AccessGroup/standard`` for new items.
    public static let all = AccessGroups(["*"])

    /// The group of new items that name none; nil for a client that has no group.
    public var standard: String? {
        names.first { $0 != "*" } ?? (names.isEmpty ? nil : AccessGroup.standard)
    }

    /// Whether items of a group are open to the client.
    public func allow(_ group: String) -> Bool {
        names.contains(group) || names.contains("*")
    }

    /// Whether an item is open to the client, as all items on tokens are.
    package func allow(_ item: Item) -> Bool {
        item.isOnToken || item[.accessGroup]?.bytes.map { allow(String(decoding: $0, as: UTF8.self)) } ?? false
    }
}
