// Changes to everything that a query finds, wherever it is. Keychain semantics 1.8 and 4.3.
extension SearchList {
    /// Changes all items a query finds, or none of them, in whatever files they are.
    ///
    /// - Returns: how many there were; 0 is no error here.
    /// - Throws: `errSecReadOnly` where one of them is in a keychain that is only read; what a member that cannot be searched
    ///   fails with, since nobody knows then what it holds; and whatever ``LocalKeychain/update(matching:to:)`` does.
    @discardableResult
    public func update(
        matching query: Query, to changes: borrowing ItemChanges,
        authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> Int {
        guard query.itemClass != .identity else {
            throw KeychainError(
                .unimplemented, "an identity is a certificate and a key", remedy: "change one of them", key: "class")
        }
        // What cannot be at all is refused as such, whatever there is and wherever.
        _ = try changes.checked(for: query.itemClass)
        let members = try writableMembers(query)
        var sealed = SealedSecrets()
        for member in members {
            let own = try member.sealedSecrets(for: changes, matching: query, authentication: authentication)
            sealed.byItem.merge(own.byItem) { $1 }
        }
        return try update(members[...], matching: query, to: changes, sealed)
    }

    /// Deletes all items a query finds, or none where one of them is in a keychain that is only read.
    ///
    /// Of an identity the certificate is deleted, and the key unless it is on a token or another certificate has it.
    ///
    /// - Returns: how many there were; 0 is no error here.
    /// - Throws: as ``update(matching:to:)`` does.
    @discardableResult
    public func delete(matching query: Query) throws(KeychainError) -> Int {
        guard query.itemClass == .identity else {
            return try delete(writableMembers(query).map { ($0, [query]) }[...])
        }
        let identities = try wholeIdentities(matching: query)
        let doomed = try identities.map(\.certificate) + unsharedKeys(of: identities)
        var deletions: [(any Keychain, [Query])] = []
        for member in writers {
            let queries = doomed.filter { member.isIdentified(by: $0.keychain) }.map { Query($0.reference) }
            if !queries.isEmpty { deletions.append((member, queries)) }
        }
        _ = try delete(deletions[...])
        return identities.count
    }

    // MARK: Several files as one

    /// Each member commits once those behind it have; whoever comes first is the same for everybody, so that two clients
    /// never wait for each other.
    private func update(
        _ members: ArraySlice<any Keychain>, matching query: Query, to changes: borrowing ItemChanges,
        _ sealed: SealedSecrets
    ) throws(KeychainError) -> Int {
        guard let member = members.first else { return 0 }
        return try member.update(matching: query, to: changes, sealed) { () throws(KeychainError) in
            try update(members.dropFirst(), matching: query, to: changes, sealed)
        }
    }

    private func delete(_ deletions: ArraySlice<(any Keychain, [Query])>) throws(KeychainError) -> Int {
        guard let (member, queries) = deletions.first else { return 0 }
        return try member.delete(matching: queries) { () throws(KeychainError) in try delete(deletions.dropFirst()) }
    }

    /// The members that can be written to, each once, in an order that is the same for every list.
    private var writers: [any Keychain] {
        var seen: Set<KeychainIdentifier> = []
        return members.compactMap { member in member.writableIdentifier.map { (member, $0) } }
            .filter { seen.insert($0.1).inserted }
            .sorted { $0.1.rawValue < $1.1.rawValue }
            .map(\.0)
    }

    private func writableMembers(_ query: Query) throws(KeychainError) -> [any Keychain] {
        for member in members where member.isReadOnly {
            guard let item = try member.items(matching: query).items.first else { continue }
            throw Self.refusal(of: item, in: member)
        }
        return writers
    }

    // MARK: Identities

    /// The identities, whose certificates can all be deleted.
    private func wholeIdentities(matching query: Query) throws(KeychainError) -> [Identity] {
        let result = try identities(matching: query.withoutLimit)
        if let failure = result.failures.first(where: { !failures.contains($0) }) { throw failure.error }
        for identity in result.found {
            guard let member = members.first(where: { $0.isIdentified(by: identity.certificate.keychain) }) else {
                continue
            }
            if member.isReadOnly { throw Self.refusal(of: identity.certificate, in: member) }
        }
        return result.found
    }

    /// The local keys of identities that no certificate needs once theirs are gone.
    private func unsharedKeys(of identities: [Identity]) throws(KeychainError) -> [Item] {
        let certificates = Set(identities.map(\.certificate.reference))
        var keys: [Item] = []
        for key in Set(identities.map(\.key)) where !key.isOnToken {
            guard let hash = key.publicKeyHash else { continue }
            let any: Attributes = [.publicKeyHash: .data(hash), .synchronizable: Query.anySynchronizable]
            let users = try items(matching: Query(.certificate, any, limit: .all)).found
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
