internal import SystemCrypto
internal import TokenKit

// Keychain semantics 1.6 and 1.8, "copy".
extension KeychainSession {
    func copy(_ request: SearchRequest) throws(KeychainError) -> ItemValue? {
        let found = try find(request)
        var answer = try describe(
            found, request.returns, request.context, in: request.searchList.members,
            skipsLocked: request.query.authenticationUI == .skip)
        guard !answer.isEmpty else { throw request.notFound() }
        if let count = request.query.limit.count { answer = Array(answer.prefix(count)) }
        return request.returns.value(of: answer, isArray: request.query.limit.count != 1)
    }

    /// What matches, before anything of it is read; at least one.
    ///
    /// - Throws: `errSecItemNotFound`, which tells what could not be searched.
    func find(_ request: SearchRequest) throws(KeychainError) -> [FoundItem] {
        var query = request.query
        // Which of them can be read decides which of them count.
        if query.authenticationUI == .skip, request.returns.contains(.data) { query = query.withoutLimit }
        let found: [FoundItem]
        let failures: [SearchList.Failure]
        if query.itemClass == .identity {
            let result = try request.searchList.identities(matching: query)
            (found, failures) = (result.found.map { .identity($0) }, result.failures)
        } else {
            let result = try request.searchList.items(matching: query)
            (found, failures) = (result.found.map { .item($0) }, result.failures)
        }
        guard !found.isEmpty else { throw request.notFound(failures) }
        return found
    }

    /// What is wanted of each; items that need a password are left out where the query says so, damaged ones where others
    /// are found as well.
    func describe(
        _ found: [FoundItem], _ returns: ParsedDictionary.Returns, _ context: RequestContext,
        in members: [any Keychain],
        skipsLocked: Bool = false
    ) throws(KeychainError) -> [(FoundItem, data: ItemValue?, provenance: ItemDictionary?)] {
        var answer: [(FoundItem, data: ItemValue?, provenance: ItemDictionary?)] = []
        var damage: KeychainError?
        for item in found {
            do throws(KeychainError) {
                let data = returns.contains(.data) ? try data(of: item, returns, context, in: members) : nil
                let provenance =
                    returns.contains(.provenance) ? Self.provenance(of: item.main, in: members)?.dictionary : nil
                answer.append((item, data, provenance))
            } catch {
                switch error.code {
                case .interactionNotAllowed where skipsLocked: continue
                case .decode where found.count > 1: damage = damage ?? error
                default: throw error
                }
            }
        }
        if answer.isEmpty, let damage { throw damage }
        return answer
    }

    /// `v_Data` of an item: the DER of a certificate, the external form of a key, a password; nil where there is none.
    private func data(
        of found: FoundItem, _ returns: ParsedDictionary.Returns, _ context: RequestContext, in members: [any Keychain]
    ) throws(KeychainError) -> ItemValue? {
        let item = found.main
        if item.itemClass == .certificate { return item.der.map { .data($0) } }
        if item.itemClass == .key, item[.keyClass]?.integer == KeyClass.public.rawValue, let der = item.der {
            return (try? PublicKey(spki: der)).map { .data($0.rawRepresentation) }
        }
        if let refusal = item.refusalToLeave {
            guard returns.isDataAlone else { return nil }
            throw refusal
        }
        guard let keychain = members.first(where: { $0.isIdentified(by: item.keychain) }) else {
            throw KeychainError(.itemNotFound)
        }
        guard
            let secret = try keychain.secret(of: item, use: context.use, authentication: context.authentication)
        else { return nil }
        return .secret(SharedSecret(try item.externalForm(of: secret)))
    }
}

extension SearchRequest {
    func notFound(_ failures: [SearchList.Failure] = []) -> KeychainError {
        let unread = failures.map { "'\($0.keychain)' could not be searched: \($0.error.reason)" }
        return KeychainError(.itemNotFound, (["no \(query.itemClass.noun) matches"] + unread).joined(separator: "; "))
    }
}

extension Item {
    /// Why its secret does not leave its keychain as it is; nil where it does.
    fileprivate var refusalToLeave: KeychainError? {
        if isOnToken || self[.isExtractable]?.isTrue == false {
            return KeychainError(
                .dataNotAvailable, "the \(itemClass.noun) '\(label ?? "")' cannot be read out",
                remedy: "use it where it is")
        }
        guard itemClass == .key, self[.isSensitive]?.isTrue == true else { return nil }
        return KeychainError(
            .keyIsSensitive, "the key '\(label ?? "")' leaves its keychain only encrypted", remedy: "export it")
    }
}
