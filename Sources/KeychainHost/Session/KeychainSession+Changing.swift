internal import KeychainModel
internal import TokenKit

// Keychain semantics 1.8, "update" and "delete", and 4.3.
extension KeychainSession {
    @discardableResult
    func update(matching request: SearchRequest, to changes: borrowing ItemChanges) throws(KeychainError) -> Int {
        try checkEntitled(changes.attributes)
        let count: Int
        do throws(KeychainError) {
            count = try update(request, to: changes)
        } catch {
            // The secret of an item is bound to its attributes, and to be sealed anew. For a new one the keychains are open.
            guard error.code == .interactionNotAllowed, changes.secret == nil else { throw error }
            try unlockKeychains(of: request)
            count = try update(request, to: changes)
        }
        try checkDamage(of: request, count: count)
        return count
    }

    /// Tells of what matches and could not be changed, since it is damaged.
    ///
    /// - Throws: `errSecDecode` where that is all there is, `errSecItemNotFound` where there is nothing.
    private func checkDamage(of request: SearchRequest, count: Int) throws(KeychainError) {
        for case let keychain as LocalKeychain in request.searchList.members {
            for damage in try keychain.damage(
                matching: ResolvedQuery(request.query, accessGroups: request.client.accessGroups))
            {
                guard count > 0 else { throw keychain.isReadOnly ? KeychainError(.readOnly, damage.reason) : damage }
                reportDamage(SearchList.Failure(keychain: keychain.name, error: damage))
            }
        }
        guard count > 0 else { throw request.notFound() }
    }

    private func update(_ request: SearchRequest, to changes: borrowing ItemChanges) throws(KeychainError) -> Int {
        try request.searchList.update(
            matching: request.query, to: changes, for: request.client, authentication: request.context.authentication)
    }

    @discardableResult
    func delete(matching request: SearchRequest) throws(KeychainError) -> Int {
        let count = try request.searchList.delete(matching: request.query, for: request.client, sharedWith: searchList)
        try checkDamage(of: request, count: count)
        return count
    }

    private func unlockKeychains(of request: SearchRequest) throws(KeychainError) {
        let query = request.query.withoutLimit
        let items =
            query.itemClass == .identity
            ? try request.searchList.identities(matching: query, for: request.client).found.flatMap {
                [$0.certificate, $0.key]
            }
            : try request.searchList.items(matching: query, for: request.client).found
        for member in request.searchList.members where !member.isReadOnly {
            guard items.contains(where: { member.isIdentified(by: $0.keychain) }) else { continue }
            try member.unlock(
                use: "change a \(request.query.itemClass.noun)", authentication: request.context.authentication)
        }
    }
}
