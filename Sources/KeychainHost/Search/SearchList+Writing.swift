public import KeychainModel

// Changes to everything that a query finds, wherever it is. Keychain semantics 1.8 and 4.3.
extension SearchList {
    /// Changes all items a query finds, or none of them, in whatever files they are.
    ///
    /// Of an identity the certificate is changed in what certificates have, the key in what only keys have.
    ///
    /// - Returns: how many there were; 0 is no error here.
    /// - Throws: `errSecReadOnly` where one of them is in a keychain that is only read; what a member that cannot be searched
    ///   fails with, since nobody knows then what it holds; and whatever ``LocalKeychain/update(matching:to:)`` does.
    @discardableResult
    public func update(
        matching query: Query, to changes: borrowing ItemChanges, for client: SearchClient = SearchClient(),
        authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> Int {
        // What cannot be at all is refused as such, whatever there is and wherever.
        _ = try changes.checked(for: query.itemClass)
        guard query.itemClass == .identity else {
            let resolved = try resolve(query, for: client)
            let members = try writableMembers(resolved)
            var sealed = SealedSecrets()
            if changes.secret != nil {
                for member in members where try !member.items(matching: resolved).found.isEmpty {
                    try member.unlock(use: "change a \(query.itemClass.noun)", authentication: authentication)
                }
            }
            for member in members {
                let own = try member.sealedSecrets(for: changes, matching: resolved, authentication: authentication)
                sealed.byItem.merge(own.byItem) { $1 }
            }
            return try update(members.map { ($0, [resolved]) }[...], to: changes, sealed)
        }
        let identities = try wholeIdentities(matching: query, for: client)
        let halves: [ItemClass] = [.certificate, .key].filter { !changes.attributes.concerning($0).isEmpty }
        let changed = Set(identities.flatMap { [$0.certificate, $0.key] }.filter { halves.contains($0.itemClass) })
        try checkWritable(changed)
        let ofHalves = ItemChanges(ofIdentities: changes.attributes)
        _ = try update(selections(of: changed)[...], to: ofHalves, SealedSecrets())
        return identities.count
    }

    /// Deletes all items a query finds, or none where one of them is in a keychain that is only read.
    ///
    /// Of an identity the certificate is deleted, and the key unless it is on a token or another certificate has it.
    ///
    /// - Returns: how many there were; 0 is no error here.
    /// - Parameters:
    ///   - client: whom the search is for.
    ///   - others: what else is searched for certificates that need a key; nil for this list.
    /// - Throws: as ``update(matching:to:)`` does.
    @discardableResult
    public func delete(
        matching query: Query, for client: SearchClient = SearchClient(), sharedWith others: SearchList? = nil
    ) throws(KeychainError) -> Int {
        guard query.itemClass == .identity else {
            let resolved = try resolve(query, for: client)
            return try delete(writableMembers(resolved).map { ($0, [resolved]) }[...])
        }
        let identities = try wholeIdentities(matching: query, for: client)
        let certificates = identities.map(\.certificate)
        try checkWritable(certificates)
        let keys = try (others ?? self).unsharedKeys(of: identities)
        _ = try delete(selections(of: certificates + keys)[...])
        return identities.count
    }

    // MARK: Several files as one

    /// What is meant in one member.
    private typealias Selection = (member: any Keychain, queries: [ResolvedQuery])

    /// Each member commits once those behind it have; whoever comes first is the same for everybody, so that two clients
    /// never wait for each other.
    private func update(
        _ selections: ArraySlice<Selection>, to changes: borrowing ItemChanges, _ sealed: SealedSecrets
    ) throws(KeychainError) -> Int {
        guard let (member, queries) = selections.first else { return 0 }
        return try member.update(matching: queries, to: changes, sealed) { () throws(KeychainError) in
            try update(selections.dropFirst(), to: changes, sealed)
        }
    }

    private func delete(_ selections: ArraySlice<Selection>) throws(KeychainError) -> Int {
        guard let (member, queries) = selections.first else { return 0 }
        return try member.delete(matching: queries) { () throws(KeychainError) in try delete(selections.dropFirst()) }
    }

    /// Items, one by one, in the members that have them.
    private func selections(of items: some Sequence<Item>) -> [Selection] {
        writers.compactMap { member in
            let queries = items.filter { member.isIdentified(by: $0.keychain) }.map {
                ResolvedQuery(Query($0.reference))
            }
            return queries.isEmpty ? nil : (member, queries)
        }
    }

    /// The members that can be written to, each once, in an order that is the same for every list.
    private var writers: [any Keychain] {
        var seen: Set<KeychainIdentifier> = []
        return members.compactMap { member in member.writableIdentifier.map { (member, $0) } }
            .filter { seen.insert($0.1).inserted }
            .sorted { $0.1.rawValue < $1.1.rawValue }
            .map(\.0)
    }

    private func writableMembers(_ query: ResolvedQuery) throws(KeychainError) -> [any Keychain] {
        for member in members where member.isReadOnly {
            guard let item = try member.items(matching: query).found.first else { continue }
            throw Self.refusal(of: item, in: member)
        }
        return writers
    }

    // MARK: Identities

    /// The identities, if every member could be searched for them.
    private func wholeIdentities(
        matching query: Query, for client: SearchClient
    ) throws(KeychainError) -> [Identity] {
        try identities(matching: query.withoutLimit, for: client).complete(besides: missing)
    }

    private func checkWritable(_ items: some Sequence<Item>) throws(KeychainError) {
        for item in items {
            guard let member = members.first(where: { $0.isIdentified(by: item.keychain) }) else { continue }
            if member.isReadOnly { throw Self.refusal(of: item, in: member) }
        }
    }

    /// The local keys of identities that no certificate needs once theirs are gone.
    ///
    /// - Throws: what a member that cannot be searched, or has a damaged certificate, fails with.
    private func unsharedKeys(of identities: [Identity]) throws(KeychainError) -> [Item] {
        let certificates = Set(identities.map(\.certificate.reference))
        var keys: [Item] = []
        for key in Set(identities.map(\.key)) where !key.isOnToken {
            guard let hash = key.publicKeyHash else { continue }
            let any: Attributes = [.publicKeyHash: .data(hash), .synchronizable: Query.anySynchronizable]
            let users = try items(matching: Query(.certificate, any, limit: .all)).complete(besides: missing)
            if users.allSatisfy({ certificates.contains($0.reference) }) { keys.append(key) }
        }
        return keys
    }

    private static func refusal(of item: Item, in member: any Keychain) -> KeychainError {
        KeychainError(
            .readOnly, "the \(item.itemClass.noun) '\(item.label ?? "")' is in '\(member.name)', which is only read",
            remedy: "name the keychain that is meant")
    }
}
