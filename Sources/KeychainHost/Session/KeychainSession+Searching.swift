internal import KeychainModel
internal import SystemCrypto
internal import TokenKit

// Keychain semantics 1.6 and 1.8, "copy".
extension KeychainSession {
    func copy(_ request: SearchRequest) throws(KeychainError) -> Outcome<ItemValue?> {
        let limit = request.query.limit.count
        let matches = try find(request.query, request)
        var answer = Outcome<[Described]>([], missing: matches.missing)
        try describe(matches.found[...], request, in: &answer)
        if let limit, matches.found.count == limit, answer.found.count < limit {
            // What is left out does not count: those behind it are wanted in its place.
            let all = try find(request.query.withoutLimit, request)
            answer.add(missing: all.missing)
            try describe(all.found.dropFirst(limit), request, in: &answer)
        }
        guard !answer.found.isEmpty else { throw answer.damage ?? notFound(request.query, besides: answer.missing) }
        return Outcome(request.returns.value(of: answer.found, isArray: limit != 1), missing: answer.missing)
    }

    private typealias Described = (FoundItem, data: ItemValue?, provenance: ItemDictionary?)

    /// What matches, before anything of it is read; at least one.
    ///
    /// - Throws: `errSecItemNotFound`, which tells what could not be searched.
    private func find(_ query: Query, _ request: SearchRequest) throws(KeychainError) -> Outcome<[FoundItem]> {
        let matches: Outcome<[FoundItem]>
        if query.itemClass == .identity {
            let result = try request.searchList.identities(matching: query, for: request.client)
            matches = Outcome(result.found.map { .identity($0) }, missing: result.missing)
        } else {
            let result = try request.searchList.items(matching: query, for: request.client)
            matches = Outcome(result.found.map { .item($0) }, missing: result.missing)
        }
        guard !matches.found.isEmpty else { throw matches.damage ?? notFound(request.query, besides: matches.missing) }
        return matches
    }

    /// What is wanted of each, up to the limit; damaged ones are left out, and those that need a password where the query
    /// says so.
    private func describe(
        _ found: ArraySlice<FoundItem>, _ request: SearchRequest, in answer: inout Outcome<[Described]>
    ) throws(KeychainError) {
        let members = request.searchList.members
        for item in found {
            if let limit = request.query.limit.count, answer.found.count == limit { return }
            let keychain = members.first { $0.isIdentified(by: item.main.keychain) }
            do throws(KeychainError) {
                let data = try data(of: item.main, request.returns, request.context, in: keychain)
                answer.found.append((item, data, provenance(of: item, request.returns, in: members)))
            } catch {
                switch error.code {
                case .interactionNotAllowed where request.leavesOutGuarded: break
                case .decode: if let keychain { answer.add(missing: [keychain.missing(error)]) }
                default: throw error
                }
            }
        }
    }

    func provenance(
        of item: FoundItem, _ returns: ParsedDictionary.Returns, in members: [any Keychain]
    ) -> ItemDictionary? {
        returns.contains(.provenance) ? Self.provenance(of: item.main, in: members)?.dictionary : nil
    }

    private func data(
        of item: Item, _ returns: ParsedDictionary.Returns, _ context: PromptContext, in keychain: (any Keychain)?
    ) throws(KeychainError) -> ItemValue? {
        try item.data(returns) { () throws(KeychainError) in
            guard let keychain else { throw KeychainError(.itemNotFound) }
            return try keychain.secret(of: item, use: context.use, authentication: context.authentication)
        }
    }
}

extension KeychainSession {
    /// The error of a search or change that finds nothing. A query that names a known card tells that the card is out (keychain
    /// semantics 1.12).
    func notFound(_ query: Query, besides missing: [Missing]) -> KeychainError {
        if let card = absentCards(query).first { return card.error }
        return .notFound("no \(query.itemClass.noun) matches", besides: missing)
    }
}
