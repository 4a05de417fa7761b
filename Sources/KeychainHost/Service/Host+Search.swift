public import HostAPI
public import KeychainModel
internal import SecureBytes

// Searches that read secrets as well. Keychain semantics 1.8, "copy".
extension Host {
    public func search(
        _ request: SearchRequest, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<SearchPage> {
        var goesOn = false
        defer {
            if request.endsAuthentication, !goesOn, let number = context.authentication { contexts.end(number) }
        }
        let isOfFiles = request.query.itemClass.isPassword
        let outcome = try visit(context, onToken: isOfFiles ? false : nil) { visit throws(KeychainError) in
            var search = PagedSearch(host: self, visit: visit, request: request, context: context)
            return try search.page()
        }
        goesOn = outcome.found.next != nil
        return outcome
    }
}

/// One page of a search.
private struct PagedSearch {
    let host: Host
    let visit: Host.Visit
    let request: SearchRequest
    let context: RequestContext
    private var answer = Outcome(SearchPage())
    private var secretSize = 0
    /// The matches that this page and those before it have looked at.
    private var matchCount: Int

    /// The secrets of one page. Each has memory pages of its own in the host.
    private static let maximumCount = 1000
    /// The bytes of a page's secrets, so that one more of any length fits into the message.
    private static let maximumSize = 8 << 20

    init(host: Host, visit: Host.Visit, request: SearchRequest, context: RequestContext) {
        (self.host, self.visit, self.request, self.context) = (host, visit, request, context)
        matchCount = request.start?.matchCount ?? 0
    }

    private var limit: Int? { request.query.limit.count }
    private var foundCount: Int { answer.found.found.count + (request.start?.foundCount ?? 0) }

    mutating func page() throws(KeychainError) -> Outcome<SearchPage> {
        if request.start == nil {
            let count = try describe(request.query)
            // Items that are left out do not count: the next matches take their place.
            if let limit, count == limit, foundCount < limit, answer.found.next == nil {
                try describe(request.query.withoutLimit)
            }
        } else {
            try describe(request.query.withoutLimit)
        }
        if request.describesKeychains { describeKeychains() }
        return answer
    }

    /// Adds the matches that were not looked at yet, up to the limit and the size of a page.
    ///
    /// - Returns: the number of all matches.
    @discardableResult
    private mutating func describe(_ query: Query) throws(KeychainError) -> Int {
        let matches = try visit.session.matches(of: query)
        answer.add(missing: matches.missing)
        for found in matches.found.dropFirst(matchCount) {
            if foundCount == limit { break }
            if answer.found.found.count >= Self.maximumCount || secretSize > Self.maximumSize, request.secrets != .none
            {
                answer.found.next = SearchPosition(matchCount: matchCount, foundCount: foundCount)
                break
            }
            matchCount += 1
            try add(found)
        }
        return matches.found.count
    }

    private mutating func add(_ found: FoundItem) throws(KeychainError) {
        var found = found
        do throws(KeychainError) {
            found.secret = try secret(of: found.item)
        } catch {
            switch error.code {
            case .interactionNotAllowed where request.leavesOutGuarded: return
            case .decode:
                answer.add(missing: [Missing(inFile: visit.session.searchName(of: found.item), error)])
                return
            default: throw error
            }
        }
        secretSize += found.secret?.secret.count ?? 0
        answer.found.found.append(found)
    }

    /// The item's secret in the form in which it leaves its keychain; nil where it is not wanted or may not leave.
    private func secret(of item: Item) throws(KeychainError) -> SharedSecret? {
        guard request.secrets != .none, !item.hasPublicData else { return nil }
        if request.secrets == .extractable, item.itemClass.refusalToLeave(item.attributes) != nil { return nil }
        try visit.ticket.check()
        let secret =
            context.place != nil && item.isOnToken
            ? try host.secret(of: item.reference, context) : try host.secret(of: item, in: visit)
        guard let secret, item.itemClass == .key else { return secret }
        return SharedSecret(try item.externalForm(of: secret.secret.clone()))
    }

    private mutating func describeKeychains() {
        var seen: Set<KeychainIdentifier> = []
        for found in answer.found.found where seen.insert(found.item.keychain).inserted {
            if let details = try? visit.session.details(of: found.item.keychain) {
                answer.found.keychains.append(details)
            }
        }
    }
}

extension KeychainSession {
    /// The items that a query finds, and the gaps for keychains and cards that are not there.
    func items(matching query: Query) throws(KeychainError) -> Outcome<[Item]> {
        let outcome = try searchList(for: query).items(matching: query, for: client)
        authentication.notices?.look(at: outcome.found)
        return withGaps(outcome, of: query)
    }

    /// The identities that a query finds, with the same gaps.
    func identities(matching query: Query) throws(KeychainError) -> Outcome<[Identity]> {
        let outcome = try searchList(for: query).identities(matching: query, for: client)
        authentication.notices?.look(at: outcome.found.map(\.certificate))
        return withGaps(outcome, of: query)
    }

    private func withGaps<Element>(_ outcome: Outcome<[Element]>, of query: Query) -> Outcome<[Element]> {
        var outcome = outcome
        outcome.add(missing: absentKeychains(query))
        if outcome.found.isEmpty { outcome.add(missing: absentCards(query)) }
        return outcome
    }

    /// The items or identities that a query finds, without secrets.
    fileprivate func matches(of query: Query) throws(KeychainError) -> Outcome<[FoundItem]> {
        if query.itemClass == .identity {
            let outcome = try identities(matching: query)
            return Outcome(outcome.found.map { FoundItem($0) }, missing: outcome.missing)
        }
        let outcome = try items(matching: query)
        return Outcome(outcome.found.map { FoundItem($0) }, missing: outcome.missing)
    }

    /// The name of an item's keychain in messages.
    fileprivate func searchName(of item: Item) -> String {
        (try? details(of: item.keychain))?.searchName ?? item.keychain.rawValue
    }
}
