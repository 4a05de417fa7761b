// Changes to everything that a query finds, wherever it is. Keychain semantics 4.3.
extension SearchList {
    /// Changes all items a query finds.
    ///
    /// Nothing at all is changed where one of them is in a keychain that is only read. Local files are changed one after
    /// the other: what fails in one leaves it, and those behind it, as they were.
    ///
    /// - Returns: how many there were; 0 is no error here.
    /// - Throws: `errSecReadOnly` as said; what a member that cannot be searched fails with, since nobody knows then what
    ///   it holds; and whatever ``LocalKeychain/update(matching:to:)`` does.
    @discardableResult
    public func update(matching query: Query, to changes: borrowing ItemChanges) throws(KeychainError) -> Int {
        var count = 0
        for member in try writableMembers(query) { count += try member.update(matching: query, to: changes) }
        return count
    }

    /// Deletes all items a query finds, or none where one of them is in a keychain that is only read.
    ///
    /// - Returns: how many there were; 0 is no error here.
    /// - Throws: as ``update(matching:to:)`` does.
    @discardableResult
    public func delete(matching query: Query) throws(KeychainError) -> Int {
        var count = 0
        for member in try writableMembers(query) { count += try member.delete(matching: query) }
        return count
    }

    private func writableMembers(_ query: Query) throws(KeychainError) -> [any Keychain] {
        for member in members where member.isReadOnly {
            guard let item = try member.items(matching: query).items.first else { continue }
            throw KeychainError(
                .readOnly,
                "the \(item.itemClass.noun) '\(item.label ?? "")' is in '\(member.name)', which is only read",
                remedy: "name the keychain that is meant")
        }
        return members.filter { !$0.isReadOnly }
    }
}
