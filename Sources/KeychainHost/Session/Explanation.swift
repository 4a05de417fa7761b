internal import TokenKit
public import KeychainModel

/// What a search would do and why: the answer to "why was it not found?".
public struct Explanation: Sendable {
    /// What became of one keychain of the search list.
    public enum Outcome: Sendable, Hashable {
        /// It was searched, and so many items matched, whatever the limit.
        case searched(matches: Int)
        /// Nothing it could have would match.
        case skipped(reason: String)
        /// It could not be searched.
        case failed(reason: String)
    }

    /// One keychain, in the order of the search list.
    public struct Visit: Sendable {
        public let keychain: String
        public let outcome: Outcome
        /// What is wrong with items that are damaged, and are not among the matches.
        public var damage: [String] = []
        /// What would have to be asked for to read what is wanted; nil for nothing.
        public let question: String?
        /// How the store gets to the rows, in its own words; empty where there is nothing to choose.
        public let plan: [String]
    }

    public let itemClass: ItemClass
    /// The attributes that have to be equal, defaults included.
    public let columns: [Attribute]
    /// The keys of the filters that follow, in their order.
    public let filters: [String]
    /// How many items are wanted; nil for all.
    public let limit: Int?
    public let visits: [Visit]
    /// How many items would be returned.
    public let count: Int
}

extension KeychainSession {
    /// Says what ``copyMatching(_:)`` would do with a query. Nobody is asked for anything, and no secret is read.
    ///
    /// - Throws: what the search itself throws for a query that cannot be honoured.
    public func explain(_ query: ItemDictionary) throws(KeychainError) -> Explanation {
        try explain(SearchRequest(ParsedDictionary(query, for: .copy), in: self))
    }

    private func explain(_ request: SearchRequest) throws(KeychainError) -> Explanation {
        let query = request.query
        let identities =
            query.itemClass == .identity
            ? (try? request.searchList.identities(matching: query.withoutLimit, for: request.client).found) ?? [] : nil
        let unread = request.searchList.missing.map {
            Explanation.Visit(keychain: $0.keychain, outcome: .failed(reason: $0.error.reason), question: nil, plan: [])
        }
        var visits: [Explanation.Visit] = []
        var count = 0
        for member in request.searchList.members {
            // Nothing is asked of keychains behind the one in which the limit is reached.
            let visit = visit(member, request, identities, isReached: query.limit.count.map { count >= $0 } ?? false)
            if case .searched(let matches) = visit.outcome { count += matches }
            visits.append(visit)
        }
        let found =
            identities.map { min($0.count, query.limit.count ?? $0.count) }
            ?? (try? request.searchList.items(matching: query, for: request.client).found.count) ?? 0
        let folded = query.attributes.keys.filter(query.folds).sorted()
        return Explanation(
            itemClass: query.itemClass,
            columns: query.attributes.keys.filter { !query.folds($0) }.sorted(),
            filters: folded.map { "\($0) loosely" } + query.filters.map(\.key)
                + (request.client.accessGroups == .all ? [] : [Attribute.accessGroup.rawValue])
                + (query.isDistinct ? ["u_Distinct"] : []),
            limit: query.limit.count, visits: visits + unread, count: found)
    }

    /// - Parameters:
    ///   - identities: what was found of that class, wherever it is; nil where another one is searched for.
    ///   - isReached: whether the keychains before have as many matches as are wanted.
    private func visit(
        _ member: any Keychain, _ request: SearchRequest, _ identities: [Identity]?, isReached: Bool
    ) -> Explanation.Visit {
        let queries: [ResolvedQuery]
        do throws(KeychainError) {
            queries = try request.searchList.resolvedParts(of: request.query.withoutLimit, for: request.client)
        } catch {
            return Explanation.Visit(
                keychain: member.name, outcome: .failed(reason: error.reason), question: nil, plan: [])
        }
        let reasons = queries.compactMap { member.reasonToSkip($0.query) }
        if reasons.count == queries.count, let reason = reasons.first {
            return Explanation.Visit(keychain: member.name, outcome: .skipped(reason: reason), question: nil, plan: [])
        }
        if let reader = member as? TokenKeychain, !reader.slot.hasCard {
            return Explanation.Visit(
                keychain: member.name, outcome: .skipped(reason: "no card is inserted"), question: nil, plan: [])
        }
        do throws(KeychainError) {
            var (items, damage): ([Item], [String]) = ([], [])
            for query in queries {
                let result = try member.items(matching: query)
                items += result.found
                damage += result.missing.filter { $0.kind != .unrelatedDamagedItem }.map(\.error.reason)
            }
            let references = Set(items.map(\.reference))
            let matches = identities?.count { references.contains($0.certificate.reference) } ?? items.count
            return Explanation.Visit(
                keychain: member.name, outcome: .searched(matches: matches), damage: damage,
                question: isReached ? nil : question(for: items, in: member, request, cards: authentication.cards),
                plan: queries.flatMap { member.plan(for: $0.query) })
        } catch {
            return Explanation.Visit(
                keychain: member.name, outcome: .failed(reason: error.reason), question: nil, plan: [])
        }
    }
}

/// What would be asked for to read what is wanted of items: a bound card's PIN or the password of the keychain where that
/// is locked or one of them is guarded, and the passwords of the items themselves.
private func question(
    for items: [Item], in keychain: any Keychain, _ request: SearchRequest, cards: @autoclosure () -> [TokenKeychain]
) -> String? {
    let secrets = request.returns.contains(.data) ? items.filter(\.hasSecret) : []
    guard !secrets.isEmpty else { return nil }
    var isGuarded = false
    var questions: [String] = []
    for item in secrets.prefix(request.query.limit.count ?? secrets.count) {
        guard let control = try? item.accessControl else { continue }
        isGuarded = isGuarded || control.wantsPasscode
        if control.wantsApplicationPassword {
            questions.append("application password of '\(item.label ?? item.itemClass.noun)'")
        }
    }
    let hasPassword = (try? (keychain as? LocalKeychain)?.hasPassword) ?? true
    if hasPassword, isGuarded || keychain.needsPassword {
        let card = try? (keychain as? LocalKeychain)?.boundCard(among: cards())
        questions.insert(card.map { "PIN for '\($0.binding.label)'" } ?? "password for '\(keychain.name)'", at: 0)
    }
    return questions.isEmpty ? nil : questions.joined(separator: ", ")
}

extension Item {
    /// Whether reading its data takes the keychain's key.
    fileprivate var hasSecret: Bool {
        switch itemClass {
        case .genericPassword, .internetPassword: true
        case .certificate, .identity: false
        case .key: self[.keyClass]?.integer != KeyClass.public.rawValue && refusalToLeave == nil
        }
    }
}
