import HostAPI
import SecureBytes
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// Keychains by their identifiers, and the explanation of a search, through `KeychainService`.
@Suite(.serialized) struct ServiceKeychainTests {
    private func mail(_ stage: ServiceStage) -> [String] {
        let query = Query.genericPasswords.where(.service, "mail")
        let identifiers = [stage.work.identifier, stage.login.identifier]
        let named = query.in(identifiers[0], identifiers[1])
        return ((try? stage.service.items(named).found) ?? []).compactMap { $0[.account]?.string }
    }

    @Test(arguments: ServiceRoute.allCases) func aQuerysKeychainsAreSearchedInItsOrder(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("login")
        try stage.addPassword("work", to: stage.work)
        #expect(mail(stage) == ["work", "login"])
        #expect(try stage.accounts() == ["login", "work"])
    }

    @Test(arguments: ServiceRoute.allCases) func aKeychainThatIsOpenNeedNotBeInTheList(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.user.preferences.setSearchList([stage.login.path])
        let item = try stage.addPassword("work", to: stage.work)
        #expect(try stage.accounts().isEmpty)
        #expect(mail(stage) == ["work"])
        #expect(try stage.service.secret(of: item)?.secret.copiedBytes == Array("s3cret".utf8))
        #expect(try stage.service.keychain(stage.work.identifier, RequestContext()).keychain.name == "work")
        let query = Query.genericPasswords.where(.account, "work").in(stage.work.identifier)
        #expect(try stage.service.update(query, to: [.label: "x"]).found == 1)
        #expect(try stage.service.delete(query).found == 1)
    }

    @Test(arguments: ServiceRoute.allCases) func aKeychainThatIsNowhereIsTold(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let (login, nowhere) = (stage.login.identifier, KeychainIdentifier(rawValue: "local:nowhere"))
        try stage.addPassword("login")
        let outcome = try stage.service.items(.genericPasswords.in(nowhere, login))
        #expect(outcome.found.count == 1)
        #expect(outcome.missing.map(\.error.code) == [.noSuchKeychain])
        let nothing = try stage.service.items(.genericPasswords.in(nowhere))
        #expect(nothing.found.isEmpty && nothing.missing == outcome.missing)
        // No card has passwords: one that is named is not missed.
        let onCard = try stage.service.items(.genericPasswords.in(try stage.token, login))
        #expect(onCard.found.count == 1 && onCard.missing.isEmpty)
        #expect(throws: KeychainError(.noSuchKeychain)) { try stage.service.keychain(nowhere, RequestContext()) }
    }

    @Test(arguments: ServiceRoute.allCases) func aKeychainTellsItsState(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, TestCard(pinTries: 2))
        let token = try stage.token
        let card = try stage.service.keychain(token, RequestContext())
        #expect(card.keychain.kind == .card && card.keychain.location == "Desk Reader")
        #expect(card.triesLeft == 2 && card.otherLocations.isEmpty)
        let file = try stage.service.keychain(stage.login.identifier, RequestContext())
        #expect(file.keychain.status == [.readable, .writable, .unlocked] && file.keychain.isDefault)
        #expect(file.triesLeft == nil)
        _ = try stage.identity()
        stage.reader.remove()
        let absent = try stage.service.keychain(token, RequestContext())
        #expect(absent.keychain.kind == .card && absent.keychain.location.isEmpty && absent.triesLeft == nil)
        #expect(stage.pinsSent == 0)
    }

    @Test(arguments: ServiceRoute.allCases) func aFileThatIsDamagedAsAWholeSaysSo(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        #expect(try stage.service.keychains(.files, RequestContext()).found.compactMap(\.damage).isEmpty)
        let other = try stage.user.create("other")
        try Database(path: other.path, access: .readWrite, busyTimeout: 1000)
            .execute("UPDATE keychain SET identity = randomblob(16)")
        let opened = try stage.service.openKeychain(at: other.path, RequestContext()).keychain
        #expect(opened.damage == KeychainError(.invalidKeychain))
        try stage.user.preferences.setSearchList([stage.login.path, other.path])
        let files = try stage.service.keychains(.files, RequestContext()).found
        #expect(files.filter { $0.damage != nil }.map(\.location) == [other.path])
    }

    @Test(arguments: ServiceRoute.allCases) func knownCardsAreToldWithoutALookAtThem(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        #expect(try stage.service.keychains(.knownCards, RequestContext()).found.isEmpty)
        _ = try stage.identity()
        let inserted = try #require(try stage.service.keychains(.cards, RequestContext()).found.first)
        stage.reader.remove()
        let commands = stage.reader.log.count
        let known = try stage.service.keychains(.knownCards, RequestContext())
        let card = try #require(known.found.first)
        #expect(known.found.count == 1 && known.missing.isEmpty)
        #expect(card.identifier == inserted.identifier && card.name == inserted.name && card.location.isEmpty)
        #expect(card.cryptokiName == inserted.cryptokiName && card.cryptokiSlotName == nil)
        #expect(inserted.cryptokiSlotName != nil)
        #expect(stage.reader.log.count == commands)
    }

    @Test(arguments: ServiceRoute.allCases) func cardsThatAreOutAreFoundWhereTheyAreAskedFor(
        route: ServiceRoute
    ) throws {
        let stage = try ServiceStage(route)
        _ = try stage.service.identities(.identities)
        stage.reader.remove()
        var query = try Query(.identity, limit: .all)
        #expect(try stage.service.identities(matching: query, RequestContext()).found.isEmpty)
        query.includesAbsentTokens = true
        #expect(try stage.service.identities(matching: query, RequestContext()).found.count == 4)
    }

    @Test(arguments: ServiceRoute.allCases) func theWayOfASearchIsTold(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        try stage.addPassword("a")
        stage.login.lock()
        let query = try Query.genericPasswords.where(.service, "mail").checked()
        let explanation = try stage.service.explain(query, readingSecrets: true, RequestContext())
        #expect(explanation.visits.map(\.keychain) == ["Desk Reader", "login", "work"])
        #expect(explanation.visits[0].outcome == .skipped(reason: "a token has no generic password"))
        #expect(explanation.visits.map(\.question) == [nil, "password for 'login'", nil])
        #expect(explanation.count == 1)
        let unread = try stage.service.explain(query, readingSecrets: false, RequestContext())
        #expect(unread.visits.compactMap(\.question).isEmpty)
        #expect(stage.person.requests.isEmpty)
    }
}
