internal import HostAPI
internal import KeychainModel
internal import TokenKit

extension KeychainSession {
    /// The way that a search would go. Asks no person, and reads no secret.
    ///
    /// - Throws: the errors of the search itself for a query that cannot be honoured.
    func explain(_ query: Query, readingSecrets readsSecrets: Bool) throws(KeychainError) -> Explanation {
        let list = searchList(for: query)
        let identities =
            query.itemClass == .identity
            ? (try? list.identities(matching: query.withoutLimit, for: client).found) ?? [] : nil
        let unread = list.missing.map {
            Explanation.Visit(keychain: $0.keychain, outcome: .failed(reason: $0.error.reason))
        }
        var visits: [Explanation.Visit] = []
        var count = 0
        for member in list.members {
            // No secret would be read from keychains after the one in which the limit is reached.
            let isReached = query.limit.count.map { count >= $0 } ?? false
            let visit = visit(
                member, of: list, query, identities, readingSecrets: readsSecrets && !isReached)
            if case .searched(let matches) = visit.outcome { count += matches }
            visits.append(visit)
        }
        let found =
            identities.map { min($0.count, query.limit.count ?? $0.count) }
            ?? (try? list.items(matching: query, for: client).found.count) ?? 0
        let folded = query.attributes.keys.filter(query.folds).sorted()
        return Explanation(
            itemClass: query.itemClass,
            columns: query.attributes.keys.filter { !query.folds($0) }.sorted(),
            filters: folded.map { "\($0) loosely" } + query.filters.map(\.key)
                + (client.accessGroups == .all ? [] : [Attribute.accessGroup.rawValue])
                + (query.isDistinct ? ["u_Distinct"] : []),
            limit: query.limit.count, visits: visits + unread, count: found)
    }

    /// - Parameters:
    ///   - identities: the identities that were found in all keychains; nil for a search of another class.
    ///   - readsSecrets: whether the data of the matches would be read.
    private func visit(
        _ member: any Keychain, of list: SearchList, _ query: Query, _ identities: [Identity]?,
        readingSecrets readsSecrets: Bool
    ) -> Explanation.Visit {
        let queries: [ResolvedQuery]
        do throws(KeychainError) {
            queries = try list.resolvedParts(of: query.withoutLimit, for: client)
        } catch {
            return Explanation.Visit(
                keychain: member.name, outcome: .failed(reason: error.reason))
        }
        let reasons = queries.compactMap { member.reasonToSkip($0.query) }
        if reasons.count == queries.count, let reason = reasons.first {
            return Explanation.Visit(keychain: member.name, outcome: .skipped(reason: reason))
        }
        if let reader = member as? TokenKeychain, !reader.slot.hasCard {
            return Explanation.Visit(
                keychain: member.name, outcome: .skipped(reason: "no card is inserted"))
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
                question: readsSecrets ? question(for: items, in: member, query, cards: authentication.cards) : nil,
                plan: queries.flatMap { member.plan(for: $0.query) })
        } catch {
            return Explanation.Visit(
                keychain: member.name, outcome: .failed(reason: error.reason))
        }
    }
}

/// The questions of reading the wanted secrets: a bound card's PIN or the password of the keychain, where that is
/// locked or an item is guarded, and the items' own passwords.
private func question(
    for items: [Item], in keychain: any Keychain, _ query: Query, cards: @autoclosure () -> [TokenKeychain]
) -> String? {
    let secrets = items.filter(\.hasSecret)
    guard !secrets.isEmpty else { return nil }
    var isGuarded = false
    var questions: [String] = []
    for item in secrets.prefix(query.limit.count ?? secrets.count) {
        guard let control = try? item.accessControl else { continue }
        isGuarded = isGuarded || control.wantsPasscode
        if control.wantsApplicationPassword {
            questions.append("application password of '\(item.label ?? "\(item.itemClass.noun)")'")
        }
    }
    let hasPassword = (try? (keychain as? LocalKeychain)?.hasPassword) ?? true
    if hasPassword, isGuarded || keychain.isLocked {
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
        case .key: self[.keyClass]?.integer != KeyClass.public.rawValue && itemClass.refusalToLeave(attributes) == nil
        }
    }
}
