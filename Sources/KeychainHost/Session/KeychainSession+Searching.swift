internal import KeychainModel
internal import SystemCrypto
internal import TokenKit

// Keychain semantics 1.6 and 1.8, "copy".
extension KeychainSession {
    func copy(_ request: SearchRequest) throws(KeychainError) -> ItemValue? {
        let limit = request.query.limit.count
        let found = try find(request.query, request)
        var answer = Answer()
        try describe(found[...], request, in: &answer)
        if let limit, answer.leavesOut, found.count == limit {
            // What is left out does not count: those behind it are wanted in its place.
            let all = try find(request.query.withoutLimit, request)
            try describe(all.dropFirst(found.count), request, in: &answer)
        }
        guard !answer.found.isEmpty else { throw answer.damage ?? request.notFound() }
        return request.returns.value(of: answer.found, isArray: limit != 1)
    }

    /// What matches, before anything of it is read; at least one.
    ///
    /// - Throws: `errSecItemNotFound`, which tells what could not be searched.
    private func find(_ query: Query, _ request: SearchRequest) throws(KeychainError) -> [FoundItem] {
        let found: [FoundItem]
        let failures, others: [SearchList.Failure]
        if query.itemClass == .identity {
            let result = try request.searchList.identities(matching: query, for: request.client)
            (found, failures, others) = (
                result.found.map { .identity($0) }, result.failures, result.damagedOthers
            )
        } else {
            let result = try request.searchList.items(matching: query, for: request.client)
            (found, failures, others) = (result.found.map { .item($0) }, result.failures, result.damagedOthers)
        }
        for other in others { reportDamage(other) }
        if found.isEmpty {
            let locals = Set(request.searchList.members.filter { $0 is LocalKeychain }.map(\.name))
            let damage = failures.first { $0.error.code == .decode && locals.contains($0.keychain) }
            throw damage?.error ?? request.notFound(failures)
        }
        for failure in failures where failure.error.code == .decode { reportDamage(failure) }
        return found
    }

    /// What a search gives back, as far as it has come.
    private struct Answer {
        var found: [(FoundItem, data: ItemValue?, provenance: ItemDictionary?)] = []
        /// Whether something that matches is not in it.
        var leavesOut = false
        var damage: KeychainError?
    }

    /// What is wanted of each, up to the limit; damaged ones are left out, and those that need a password where the query
    /// says so.
    private func describe(
        _ found: ArraySlice<FoundItem>, _ request: SearchRequest, in answer: inout Answer
    ) throws(KeychainError) {
        let members = request.searchList.members
        for item in found {
            if let limit = request.query.limit.count, answer.found.count == limit { return }
            do throws(KeychainError) {
                let data = try data(of: item.main, request.returns, request.context, in: members)
                answer.found.append((item, data, provenance(of: item, request.returns, in: members)))
            } catch {
                switch error.code {
                case .interactionNotAllowed where request.query.authenticationUI == .skip: break
                case .decode: answer.damage = answer.damage ?? error
                default: throw error
                }
                answer.leavesOut = true
            }
        }
    }

    func provenance(
        of item: FoundItem, _ returns: ParsedDictionary.Returns, in members: [any Keychain]
    ) -> ItemDictionary? {
        returns.contains(.provenance) ? Self.provenance(of: item.main, in: members)?.dictionary : nil
    }

    private func data(
        of item: Item, _ returns: ParsedDictionary.Returns, _ context: RequestContext, in members: [any Keychain]
    ) throws(KeychainError) -> ItemValue? {
        try item.data(returns) { () throws(KeychainError) in
            guard let keychain = members.first(where: { $0.isIdentified(by: item.keychain) }) else {
                throw KeychainError(.itemNotFound)
            }
            return try keychain.secret(of: item, use: context.use, authentication: context.authentication)
        }
    }
}

extension SearchRequest {
    /// What is told where nothing matches. Who names a card that is known is told that it is out (keychain semantics 1.12).
    func notFound(_ failures: [SearchList.Failure] = []) -> KeychainError {
        if let token = query.tokenID, let card = absentTokens().first(where: { $0.isIdentified(by: token) }) {
            return KeychainError(.noSuchKeychain, "the card '\(card.name)' is not inserted", remedy: "insert it")
        }
        let unread = failures.map { "'\($0.keychain)' could not be searched: \($0.error.reason)" }
        return KeychainError(.itemNotFound, (["no \(query.itemClass.noun) matches"] + unread).joined(separator: "; "))
    }
}
