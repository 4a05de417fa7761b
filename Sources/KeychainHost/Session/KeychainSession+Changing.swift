internal import KeychainModel
internal import TokenKit

// Keychain semantics 1.8, "update" and "delete", and 4.3.
extension KeychainSession {
    @discardableResult
    func update(
        matching request: SearchRequest, to changes: ItemChanges
    ) throws(KeychainError) -> Outcome<Int> {
        try checkEntitled(changes.attributes)
        return try change(.update(request.query, changes), request)
    }

    @discardableResult
    func delete(matching request: SearchRequest) throws(KeychainError) -> Outcome<Int> {
        try change(.delete(request.query), request)
    }

    private func change(_ step: SearchList.Step, _ request: SearchRequest) throws(KeychainError) -> Outcome<Int> {
        let results = try change([step], in: request.searchList, authentication: request.context.authentication)
        let count = results.reduce(0) { $0 + $1.count }
        guard count > 0 else { throw try notFound(request.query, in: request.searchList) }
        return Outcome(
            count, missing: request.searchList.missing + (try damage(matching: request.query, in: request.searchList)))
    }

    /// Carries out all steps, or none of them.
    ///
    /// - Parameter verify: as for ``SearchList/change(_:for:authentication:sharedWith:verifying:)``.
    func change(
        _ steps: [SearchList.Step], in list: SearchList, authentication: AuthenticationContext,
        verifying verify: @escaping @Sendable ([KeychainStep.Result]) throws(KeychainError) -> Void = {
            (_) throws(KeychainError) in
        }
    ) throws(KeychainError) -> [KeychainStep.Result] {
        do throws(KeychainError) {
            return try list.change(
                steps, for: client, authentication: authentication, sharedWith: searchList, verifying: verify)
        } catch {
            // The secret of an item is bound to its attributes, and to be sealed anew. For a new one the keychains are open.
            let updates = steps.compactMap(\.updateOfAttributes)
            guard error.code == .interactionNotAllowed, !updates.isEmpty else { throw error }
            for query in updates { try unlockKeychains(of: query, in: list, authentication) }
            return try list.change(
                steps, for: client, authentication: authentication, sharedWith: searchList, verifying: verify)
        }
    }

    /// The damaged items that match and stay as they are.
    func damage(matching query: Query, in list: SearchList) throws(KeychainError) -> [Missing] {
        var damage: [Missing] = []
        for case let keychain as LocalKeychain in list.members {
            damage += try keychain.damage(matching: ResolvedQuery(query, accessGroups: client.accessGroups))
        }
        return damage
    }

    /// The error of a change that finds nothing: why what matches could not be changed, or that nothing matches.
    func notFound(_ query: Query, in list: SearchList) throws(KeychainError) -> KeychainError {
        for case let keychain as LocalKeychain in list.members {
            let damage = try keychain.damage(matching: ResolvedQuery(query, accessGroups: client.accessGroups))
            guard let error = damage.first?.error else { continue }
            return keychain.isReadOnly ? KeychainError(.readOnly, error.reason) : error
        }
        return notFound(query)
    }

    private func unlockKeychains(
        of query: Query, in list: SearchList, _ authentication: AuthenticationContext
    ) throws(KeychainError) {
        let query = query.withoutLimit
        let items =
            query.itemClass == .identity
            ? try list.identities(matching: query, for: client).found.flatMap { [$0.certificate, $0.key] }
            : try list.items(matching: query, for: client).found
        for member in list.members where !member.isReadOnly {
            guard items.contains(where: { member.isIdentified(by: $0.keychain) }) else { continue }
            try member.unlock(use: "change a \(query.itemClass.noun)", authentication: authentication)
        }
    }
}

extension SearchList.Step {
    /// The query of an update that leaves the secret as it is.
    fileprivate var updateOfAttributes: Query? {
        if case .update(let query, let changes) = self, changes.secret == nil { query } else { nil }
    }
}
