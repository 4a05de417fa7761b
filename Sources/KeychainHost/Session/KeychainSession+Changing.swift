internal import KeychainModel
internal import Localization
internal import TokenKit

// Keychain semantics 1.8, "update" and "delete", and 4.3.
extension KeychainSession {
    /// Carries out all steps, or none of them.
    ///
    /// - Parameter verify: as for ``SearchList/change(_:for:authentication:sharedWith:verifying:)``.
    func change(
        _ steps: [SearchList.Step], authentication: AuthenticationContext,
        verifying verify: @escaping @Sendable ([KeychainStep.Result]) throws(KeychainError) -> Void = {
            (_) throws(KeychainError) in
        }
    ) throws(KeychainError) -> [KeychainStep.Result] {
        let change = { () throws(KeychainError) in
            try SearchList.change(
                steps.map { ($0, $0.query.map(searchList(for:)) ?? searchList) }, for: client,
                authentication: authentication, sharedWith: searchList, verifying: verify)
        }
        do throws(KeychainError) { return try change() } catch {
            // The secret of an item is bound to its attributes, and is sealed anew with them. For a new secret the
            // keychains are unlocked already.
            let updates = steps.compactMap(\.updateOfAttributes)
            guard error.code == .interactionNotAllowed, !updates.isEmpty else { throw error }
            for query in updates { try unlockKeychains(of: query, authentication) }
            return try change()
        }
    }

    /// The damaged items that match and stay as they are.
    func damage(matching query: Query) throws(KeychainError) -> [Missing] {
        var damage: [Missing] = []
        for case let keychain as LocalKeychain in searchList(for: query).members {
            damage += try keychain.damage(matching: ResolvedQuery(query, accessGroups: client.accessGroups))
        }
        return damage
    }

    /// The error of a change that finds nothing: the reason that a matching item could not be changed, a card of the
    /// query that is not inserted (keychain semantics 1.12), or that no item matches.
    func notFound(_ query: Query) throws(KeychainError) -> KeychainError {
        for case let keychain as LocalKeychain in searchList(for: query).members {
            let damage = try keychain.damage(matching: ResolvedQuery(query, accessGroups: client.accessGroups))
            guard let error = damage.first?.error else { continue }
            return keychain.isReadOnly ? KeychainError(.readOnly, error.reasonText) : error
        }
        if let card = absentCards(query).first { return card.error }
        return .notFound("no \(query.itemClass.noun) matches", besides: [])
    }

    private func unlockKeychains(
        of query: Query, _ authentication: AuthenticationContext
    ) throws(KeychainError) {
        let (query, list) = (query.withoutLimit, searchList(for: query))
        let items =
            query.itemClass == .identity
            ? try list.identities(matching: query, for: client).found.flatMap { [$0.certificate, $0.key] }
            : try list.items(matching: query, for: client).found
        for member in list.members where !member.isReadOnly {
            guard items.contains(where: { member.isIdentified(by: $0.keychain) }) else { continue }
            try member.unlock(
                use: String(localized: "change a \(query.itemClass.noun)"), authentication: authentication)
        }
    }
}

extension SearchList.Step {
    /// The query of an update or a deletion.
    fileprivate var query: Query? {
        switch self {
        case .add: nil
        case .update(let query, _), .delete(let query): query
        }
    }

    /// The query of an update that leaves the secret as it is.
    fileprivate var updateOfAttributes: Query? {
        if case .update(let query, let changes) = self, changes.secret == nil { query } else { nil }
    }
}
