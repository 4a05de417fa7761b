/// The keychains that a query visits, in the order in which it does: tokens first, then local files.
///
/// A member that fails hides no other: what it failed with is part of the result.
public struct SearchList: Sendable {
    public let members: [any Keychain]

    /// - Parameters:
    ///   - tokens: cards, in the order of their readers.
    ///   - locals: files, in the order that the user gave them.
    public init(tokens: [any Keychain] = [], locals: [any Keychain] = []) {
        members = tokens + locals
    }

    /// Why a member of the list gave nothing.
    public struct Failure: Sendable {
        public let keychain: String
        public let error: KeychainError

        public init(keychain: String, error: KeychainError) {
            self.keychain = keychain
            self.error = error
        }
    }

    /// What all members together gave.
    public struct Result<Element: Sendable>: Sendable {
        public var found: [Element] = []
        public var failures: [Failure] = []

        public init() {}
    }

    /// The items a query finds, in the order of the list, at most as many as its limit.
    ///
    /// The limit counts what passed every filter. The same certificate on a card and in a file is two items.
    ///
    /// - Throws: where every member failed, what the first of them failed with.
    public func items(matching query: Query) throws(KeychainError) -> Result<Item> {
        var result = Result<Item>()
        try visit(&result) { (member, result) throws(KeychainError) in
            let part = try member.items(matching: query)
            result.found += part.items
            result.failures += part.damaged.map { Failure(keychain: member.name, error: $0) }
            return query.limit.count.map { result.found.count < $0 } ?? true
        }
        if let count = query.limit.count { result.found = Array(result.found.prefix(count)) }
        return result
    }

    /// The private keys that the selector names, in the order of the list.
    public func keys(_ selector: KeySelector) throws(KeychainError) -> Result<any KeychainKey> {
        var result = Result<any KeychainKey>()
        try visit(&result) { (member, result) throws(KeychainError) in
            result.found += try member.keys(selector)
            return true
        }
        return result
    }

    /// - Parameter body: returns whether the next member is to be visited.
    func visit<Element>(
        _ result: inout Result<Element>,
        _ body: (any Keychain, inout Result<Element>) throws(KeychainError) -> Bool
    ) throws(KeychainError) {
        var failed = 0
        var first: KeychainError?
        for member in members {
            do throws(KeychainError) {
                guard try body(member, &result) else { return }
            } catch {
                failed += 1
                first = first ?? error
                result.failures.append(Failure(keychain: member.name, error: error))
            }
        }
        if let first, failed == members.count { throw first }
    }
}
