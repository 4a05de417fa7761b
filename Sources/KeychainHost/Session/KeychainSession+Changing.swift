internal import KeychainModel
internal import TokenKit

// Keychain semantics 1.8, "update" and "delete", and 4.3.
extension KeychainSession {
    @discardableResult
    func update(
        matching request: SearchRequest, to changes: borrowing ItemChanges
    ) throws(KeychainError) -> Outcome<Int> {
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
        return try outcome(of: request, count: count)
    }

    /// The number of items that were changed, and the damaged ones that match and were not.
    ///
    /// - Throws: `errSecDecode` where that is all there is, `errSecItemNotFound` where there is nothing.
    private func outcome(of request: SearchRequest, count: Int) throws(KeychainError) -> Outcome<Int> {
        var outcome = Outcome(count, missing: request.searchList.missing)
        for case let keychain as LocalKeychain in request.searchList.members {
            let damage = try keychain.damage(
                matching: ResolvedQuery(request.query, accessGroups: request.client.accessGroups))
            if count == 0, let error = damage.first?.error {
                throw keychain.isReadOnly ? KeychainError(.readOnly, error.reason) : error
            }
            outcome.add(missing: damage)
        }
        guard count > 0 else { throw request.notFound() }
        return outcome
    }

    private func update(_ request: SearchRequest, to changes: borrowing ItemChanges) throws(KeychainError) -> Int {
        try request.searchList.update(
            matching: request.query, to: changes, for: request.client, authentication: request.context.authentication)
    }

    @discardableResult
    func delete(matching request: SearchRequest) throws(KeychainError) -> Outcome<Int> {
        let count = try request.searchList.delete(matching: request.query, for: request.client, sharedWith: searchList)
        return try outcome(of: request, count: count)
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
