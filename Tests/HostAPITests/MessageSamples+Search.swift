import KeychainModel

@testable import HostAPI

/// Searches that read secrets as well.
extension MessageSamples {
    static func searchRequests() throws -> [HostRequest] {
        let full = SearchRequest(
            Query(local), secrets: .all, leavingOutGuarded: true, describingKeychains: true, endingAuthentication: true,
            after: SearchPosition(matchCount: .max, foundCount: 0))
        return try [.search(full)] + queries().map { .search(SearchRequest($0)) }
            + SearchRequest.Secrets.allCases.map { .search(SearchRequest(Query(object), secrets: $0)) }
    }

    static func searchAnswers(
        _ item: Item, _ named: Item, _ missing: [Missing], _ keychain: KeychainDescription
    ) -> [HostAnswer] {
        let page = SearchPage(
            [
                FoundItem(named, key: item, secret: secret("s3cret")), FoundItem(item, secret: secret("")),
                FoundItem(item),
            ], keychains: [KeychainDetails(keychain, triesLeft: 2, otherLocations: ["module"])],
            next: SearchPosition(matchCount: 3, foundCount: .max))
        return [.searched(Outcome(page, missing: missing)), .searched(Outcome(SearchPage()))]
    }
}
