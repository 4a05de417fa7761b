import HostAPI
import ItemDictionaries
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// Searches whose answer has secrets and keychains as well, through `KeychainService`.
@Suite(.serialized) struct ServiceFindingTests {
    private static func mail(_ limit: Query.Limit = .all) throws -> Query {
        try Query(.genericPassword, [.service: "mail"], limit: limit)
    }

    private func texts(_ outcome: Outcome<SearchPage>) -> [String?] {
        outcome.found.found.map { $0.secret.map { String(decoding: $0.secret.copiedBytes, as: UTF8.self) } }
    }

    @Test(arguments: ServiceRoute.allCases) func anAnswerHasSecretsAndKeychains(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("anna", "one")
        try stage.addPassword("berta", "two", to: stage.work)
        try stage.addPassword("carla", "three")
        let request = SearchRequest(try Self.mail(), secrets: .extractable, describingKeychains: true)
        let outcome = try stage.service.searchAll(request)
        #expect(texts(outcome) == ["one", "three", "two"])
        #expect(
            outcome.found.found.map(\.item) == (try stage.service.items(matching: Self.mail(), RequestContext()).found))
        #expect(outcome.found.keychains.map(\.keychain.location) == [stage.login.path, stage.work.path])
        let page = try stage.service.search(SearchRequest(Self.mail(.atMost(2)), secrets: .all), RequestContext())
        #expect(texts(page) == ["one", "three"] && page.found.next == nil && page.found.keychains.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func withoutAWishForSecretsNoneIsRead(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("anna")
        stage.login.lock()
        let outcome = try stage.service.searchAll(SearchRequest(Self.mail()))
        #expect(texts(outcome) == [nil])
        #expect(stage.login.isLocked && stage.person.requests.isEmpty)
        let entries = try stage.service.journal(after: nil, waiting: .zero, RequestContext()).entries
        #expect(!entries.contains { $0.action == .read })
    }

    @Test(arguments: ServiceRoute.allCases) func aPersonIsAskedForEachKeychainInTheOrderOfItsItems(
        route: ServiceRoute
    ) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p", "p"))
        for keychain in [stage.login, stage.work] {
            try stage.addPassword(keychain.name, keychain.name, to: keychain)
            keychain.lock()
        }
        let request = SearchRequest(try Self.mail(), secrets: .extractable)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.searchAll(request, RequestContext(questions: .never))
        }
        #expect(texts(try stage.service.searchAll(request, RequestContext(purpose: "log in"))) == ["login", "work"])
        #expect(stage.person.requests.map(\.use) == ["log in", "log in"])
        #expect(stage.person.requests.map(\.subject) == ["login", "work"])
        let read = try stage.service.journal(after: nil, waiting: .zero, RequestContext()).entries
            .filter { $0.action == .read && $0.failure == nil }
        #expect(read.map(\.keychain) == ["login", "work"])
    }

    @Test(arguments: ServiceRoute.allCases) func guardedItemsAreLeftOutForTheNextOnes(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("anna", "one")
        try stage.addPassword("berta", "two", to: stage.work)
        stage.login.lock()
        let request = SearchRequest(try Self.mail(.one), secrets: .extractable, leavingOutGuarded: true)
        let outcome = try stage.service.searchAll(request, RequestContext(questions: .never))
        #expect(texts(outcome) == ["two"])
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func aDamagedItemIsToldAndLeftOut(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        for account in ["anna", "berta"] { try stage.addPassword(account, account) }
        let reference = try Self.item("anna", stage)
        // The row fits its checksum, so that only its seal tells.
        try stage.login.use { opened throws(KeychainError) in
            var row = try opened.row(of: reference)
            row.attributes[.comment] = "altered"
            let (sql, values) = ItemClass.genericPassword.columns.update(row, in: row.id)
            try KeychainError.mapping { () throws(SQLiteError) in try opened.database.run(sql, values) }
        }
        let outcome = try stage.service.searchAll(SearchRequest(Self.mail(.one), secrets: .extractable))
        #expect(texts(outcome) == ["berta"])
        #expect(outcome.missing.map(\.kind) == [.damagedItem] && outcome.missing.map(\.keychain) == ["login"])
    }

    private static func item(_ account: String, _ stage: ServiceStage) throws(KeychainError) -> PersistentReference {
        let query = try Query(.genericPassword, [.account: .string(account)])
        guard let found = try stage.service.items(matching: query, RequestContext()).found.first else {
            throw KeychainError(.itemNotFound)
        }
        return found.reference
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyLeavesInItsExternalFormOrNotAtAll(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try TestKey.named("anna")
        let added = try stage.service.add(.privateKey(key.privateKey, [:]))
        let free = Query(added.reference)
        let found = try stage.service.searchAll(SearchRequest(free, secrets: .extractable)).found.found
        let external = SharedSecret(try key.privateKey.externalRepresentation())
        #expect(found.first?.secret == external)
        let onCard = Query(try stage.identity().key.reference)
        let outcome = try stage.service.searchAll(SearchRequest(onCard, secrets: .extractable))
        #expect(texts(outcome) == [nil])
        #expect(throws: KeychainError(.dataNotAvailable)) {
            try stage.service.searchAll(SearchRequest(onCard, secrets: .all))
        }
    }

    @Test(arguments: ServiceRoute.allCases) func identitiesAreFoundWithTheirKeychains(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let request = SearchRequest(
            try Query(.identity, limit: .all), secrets: .extractable, describingKeychains: true)
        let page = try stage.service.searchAll(request).found
        #expect(page.found.map(\.identity) == (try stage.service.identities(.identities).found))
        #expect(page.found.allSatisfy { $0.secret == nil && $0.reference.itemClass == .identity })
        #expect(page.keychains.map(\.keychain.location) == ["Desk Reader"])
    }

    /// More secrets than one message carries.
    @Test(arguments: ServiceRoute.allCases) func secretsOfManyItemsComeInPages(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let long = [UInt8](repeating: 7, count: Limits.secret)
        var steps: [ChangeStep] = []
        for number in 0..<1010 {
            let secret = number < 12 ? Secret(copying: long.span) : Secret.of("secret \(number)")
            steps.append(
                .add(
                    Addition(
                        try .genericPassword([.service: "mail", .account: .string("\(number)")], secret: secret),
                        to: nil)))
        }
        // A change in one message has its limit as well.
        for part in [steps[..<6], steps[6..<12], steps[12...]] {
            _ = try stage.service.change(Array(part), RequestContext())
        }
        let context = RequestContext(authentication: .next())
        var request = SearchRequest(try Self.mail(), secrets: .extractable, endingAuthentication: true)
        var counts: [Int] = []
        var found: [FoundItem] = []
        repeat {
            let page = try stage.service.search(request, context).found
            found += page.found
            counts.append(page.found.count)
            request.start = page.next
            if page.next != nil { #expect(stage.host.contexts.count == 1) }
        } while request.start != nil
        #expect(counts == [9, 1000, 1])
        #expect(stage.host.contexts.count == 0)
        #expect(found.compactMap { $0.item[.account]?.string } == (0..<1010).map(String.init))
        #expect(
            found.enumerated().allSatisfy {
                $0 < 12 ? $1.secret?.secret.count == long.count : $1.secret == MessageText.secret("secret \($0)")
            })
        var limited = SearchRequest(try Self.mail(.atMost(1005)), secrets: .extractable)
        #expect(try stage.service.searchAll(limited).found.found.count == 1005)
        limited.secrets = .none
        let page = try stage.service.search(limited, RequestContext()).found
        #expect(page.found.count == 1005 && page.next == nil)
    }

    /// A search of SecItem costs one request, whatever it returns.
    @Test(
        arguments: [
            [:], ["r_Attributes": .bool(true)], ["r_Data": .bool(true)],
            ["r_Attributes": .bool(true), "r_Data": .bool(true)],
            ["r_Data": .bool(true), "r_Provenance": .bool(true), "m_Limit": .string("m_LimitAll")],
        ] as [ItemDictionary])
    func aSearchOfDictionariesIsOneRequest(returns: ItemDictionary) throws {
        let stage = try ServiceStage(.call)
        try stage.addPassword("anna", "one")
        let count = Atomic(0)
        let service = WireService { [host = stage.host] (request, context) throws(KeychainError) in
            count.wrappingAdd(1, ordering: .relaxed)
            return host.answer(request, context)
        }
        let query: ItemDictionary = ["class": .string("genp"), "svce": .string("mail")]
        _ = try service.copyMatching(query.merging(returns) { $1 })
        #expect(count.load(ordering: .relaxed) == 1)
        #expect(stage.host.contexts.count == 0)
        #expect(throws: KeychainError(.itemNotFound)) {
            try service.copyMatching(query.merging(["svce": .string("web"), "r_Data": .bool(true)]) { $1 })
        }
        #expect(count.load(ordering: .relaxed) == 2)
        #expect(stage.host.contexts.count == 0)
    }
}

private enum MessageText {
    static func secret(_ text: String) -> SharedSecret { SharedSecret(.of(text)) }
}
