internal import KeychainModel
internal import Localization

// Changes to everything that a query finds, wherever it is. Keychain semantics 1.8 and 4.3.
extension SearchList {
    /// A step of a change.
    enum Step: Sendable {
        case add(NewItem, to: any Keychain)
        /// Changes all items that the query finds. For an identity, attributes that certificates have change the
        /// certificate, and those that only keys have change the key.
        case update(Query, ItemChanges)
        /// Deletes all items that the query finds. For an identity, deletes the certificate, and the key unless the key
        /// is on a token or belongs to another certificate as well.
        case delete(Query)
    }

    /// Carries out all steps, in any files, or none of them.
    ///
    /// - Parameters:
    ///   - steps: the steps, each with the list that its query is about.
    ///   - client: the client of the searches.
    ///   - others: the list that is searched for certificates which still need a key; nil for that of the step.
    ///   - verify: called with the result of each step before the change is made; an error from it undoes them all.
    /// - Returns: the result of each step; a count of 0 is no error here.
    /// - Throws: `errSecReadOnly` where one of the items is in a keychain that is only read; the error of a member that cannot be
    ///   searched, since it may hold one of them; and whatever ``Keychain/carryOut(_:then:)`` does.
    static func change(
        _ steps: [(step: Step, list: SearchList)], for client: SearchClient = SearchClient(),
        authentication: AuthenticationContext = AuthenticationContext(), sharedWith others: SearchList? = nil,
        verifying verify: @escaping @Sendable ([KeychainStep.Result]) throws(KeychainError) -> Void = {
            (_) throws(KeychainError) in
        }
    ) throws(KeychainError) -> [KeychainStep.Result] {
        var plans: [Plan] = []
        for (step, list) in steps { plans.append(try list.plan(step, client, authentication, others ?? list)) }
        let change = Change(plans)
        return try carryOut(change.members[...], []) { (results) throws(KeychainError) in
            let results = change.results(results)
            try verify(results)
            return results
        }
    }

    // MARK: Several files as one

    /// The parts of a step that each member carries out, and the count to return for the step; nil for the sum of the
    /// members' counts.
    private struct Plan: Sendable {
        var parts: [(member: any Keychain, step: KeychainStep)]
        var count: Int?
    }

    /// The plans, divided among the members that carry them out.
    private struct Change: Sendable {
        struct Member: Sendable {
            let keychain: any Keychain
            var steps: [KeychainStep] = []
            /// The index of the plan that each step belongs to.
            var plans: [Int] = []
        }

        /// The members in an order that is the same for every list, so that two clients never wait for each other.
        let members: [Member]
        private let counts: [Int?]

        init(_ plans: [Plan]) {
            var members: [String: Member] = [:]
            for (index, plan) in plans.enumerated() {
                for (keychain, step) in plan.parts {
                    let name = keychain.writableIdentifier?.rawValue ?? keychain.name
                    var member = members[name] ?? Member(keychain: keychain)
                    member.steps.append(step)
                    member.plans.append(index)
                    members[name] = member
                }
            }
            self.members = members.sorted { $0.key < $1.key }.map(\.value)
            counts = plans.map(\.count)
        }

        /// The result of each plan, from those of the members.
        func results(_ all: [[KeychainStep.Result]]) -> [KeychainStep.Result] {
            var results = counts.map { KeychainStep.Result.count($0 ?? 0) }
            for (member, own) in zip(members, all) {
                for (plan, result) in zip(member.plans, own) {
                    switch result {
                    case .added, .present: results[plan] = result
                    case .count(let count):
                        if counts[plan] == nil { results[plan] = .count(results[plan].count + count) }
                    }
                }
            }
            return results
        }
    }

    /// Carries out the steps of the members. Each member commits after all later ones have.
    private static func carryOut(
        _ members: ArraySlice<Change.Member>, _ results: [[KeychainStep.Result]],
        _ end: @escaping @Sendable ([[KeychainStep.Result]]) throws(KeychainError) -> [KeychainStep.Result]
    ) throws(KeychainError) -> [KeychainStep.Result] {
        guard let member = members.first else { return try end(results) }
        return try member.keychain.carryOut(member.steps) { (own) throws(KeychainError) in
            try carryOut(members.dropFirst(), results + [own], end)
        }
    }

    // MARK: Planning

    private func plan(
        _ step: Step, _ client: SearchClient, _ authentication: AuthenticationContext, _ others: SearchList
    ) throws(KeychainError) -> Plan {
        switch step {
        case .add(let item, let keychain):
            return Plan(parts: [(keychain, .add(try keychain.prepared(item, authentication: authentication)))])
        case .update(let query, let changes):
            return try planUpdate(query, changes, client, authentication)
        case .delete(let query):
            guard query.itemClass == .identity else {
                let resolved = try resolve(query, for: client)
                return Plan(parts: try writableMembers(resolved).map { ($0, .delete([resolved])) })
            }
            let identities = try wholeIdentities(matching: query, for: client)
            let certificates = identities.map(\.certificate)
            try checkWritable(certificates)
            let items = certificates + (try others.unsharedKeys(of: identities))
            return Plan(parts: selections(of: items).map { ($0, .delete($1)) }, count: identities.count)
        }
    }

    private func planUpdate(
        _ query: Query, _ changes: ItemChanges, _ client: SearchClient, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Plan {
        // Changes that are never valid are refused first, whatever the query finds.
        _ = try changes.checked(for: query.itemClass)
        guard query.itemClass == .identity else {
            let resolved = try resolve(query, for: client)
            let members = try writableMembers(resolved)
            if changes.secret != nil {
                for member in members where try !member.items(matching: resolved).found.isEmpty {
                    try member.unlock(
                        use: String(localized: "change a \(query.itemClass.noun)"), authentication: authentication)
                }
            }
            var parts: [(any Keychain, KeychainStep)] = []
            for member in members {
                let sealed = try member.sealedSecrets(for: changes, matching: resolved, authentication: authentication)
                parts.append((member, .update([resolved], changes, sealed)))
            }
            return Plan(parts: parts)
        }
        let identities = try wholeIdentities(matching: query, for: client)
        let halves: [ItemClass] = [.certificate, .key].filter { !changes.attributes.concerning($0).isEmpty }
        let changed = Set(identities.flatMap { [$0.certificate, $0.key] }.filter { halves.contains($0.itemClass) })
        try checkWritable(changed)
        let ofHalves = ItemChanges(ofIdentities: changes.attributes)
        return Plan(
            parts: selections(of: changed).map { ($0, .update($1, ofHalves, SealedSecrets())) }, count: identities.count
        )
    }

    /// The queries for items, one by one, with the members that have them.
    private func selections(of items: some Sequence<Item>) -> [(any Keychain, [ResolvedQuery])] {
        writers.compactMap { member in
            let queries = items.filter { member.isIdentified(by: $0.keychain) }.map {
                ResolvedQuery(Query($0.reference))
            }
            return queries.isEmpty ? nil : (member, queries)
        }
    }

    /// The members that can be written to, each once.
    private var writers: [any Keychain] {
        var seen: Set<KeychainIdentifier> = []
        return members.filter { member in member.writableIdentifier.map { seen.insert($0).inserted } ?? false }
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

    /// The local keys of identities that no other certificate needs.
    ///
    /// - Throws: the error of a member that cannot be searched, or that has a damaged certificate.
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
            .readOnly,
            "the \(item.itemClass.noun) '\(item.label ?? "")' is in '\(member.name)', which cannot be written to",
            remedy: "name the keychain that is meant")
    }
}
