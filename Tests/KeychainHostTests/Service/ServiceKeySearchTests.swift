import HostAPI
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Private keys by the names that they have, questions ahead of their use, and what a keychain's key vouches for.
@Suite(.serialized) struct ServiceKeySearchTests {
    private let authentication = RequestContext(authentication: .next())
    private let silent = RequestContext(questions: .never)

    private func keys(
        _ stage: ServiceStage, _ selector: KeySelector, in places: KeyQuery.Places = .keychains(nil)
    ) throws -> [KeyDescription] {
        try stage.service.keys(matching: KeyQuery(selector, in: places), silent).found
    }

    private func addKey(_ label: String, to stage: ServiceStage) throws -> Item {
        try stage.service.add(.privateKey(TestKey.named(label).privateKey, [.label: .string(label)]))
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyIsFoundByEachOfItsNames(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let own = try addKey("berta", to: stage)
        let card = try stage.identity().key
        let hash = try TestCard().key(.authentication).publicKey.keyHash
        let id = try #require(card.tokenTraits?.cryptokiID)
        let selectors: [KeySelector] = [
            .name("9A"), .signer("9A"), .publicKeyHash(hash), .reference(card.reference), .cryptokiID(id),
        ]
        for selector in selectors {
            let found = try keys(stage, selector)
            #expect(found.map(\.item.reference) == [card.reference], "\(selector)")
            #expect(found.map(\.keychainName) == ["Desk Reader"])
            #expect(found.map(\.name) == ["9A"])
            #expect(found[0].slotName != nil)
            #expect(found[0].publicKey == card.der)
        }
        for selector: KeySelector in [.label("berta"), .name("berta"), .reference(own.reference)] {
            let found = try keys(stage, selector)
            #expect(found.map(\.item.reference) == [own.reference], "\(selector)")
            #expect(found.map(\.keychainName) == ["login"])
            #expect(found[0].slotName == nil)
        }
        let all = try keys(stage, .any)
        #expect(all.map(\.item.reference).contains(card.reference) && all.last?.item.reference == own.reference)
        for selector: KeySelector in [.name("82"), .label("nobody"), .publicKeyHash([1]), .cryptokiID([0xFF])] {
            #expect(try keys(stage, selector).isEmpty, "\(selector)")
        }
        #expect(stage.person.requests.isEmpty)
        #expect(stage.pinsSent == 0)
    }

    /// Copies of a card, or blank ones: each has its reader.
    @Test(arguments: ServiceRoute.allCases) func keysOfTwoCardsWithOneIdentifierAreBothFound(route: ServiceRoute) throws
    {
        let stage = try ServiceStage(route, otherCards: [TestCard(name: "copy")])
        let members = try stage.service.keychains(silent).found.map(\.identifier)
        #expect(members[0] == members[1])
        let found = try keys(stage, .name("9A"), in: .keychains(Array(members.prefix(2))))
        #expect(found.count == 2)
        #expect(Set(found.map(\.publicKey)).count == 2)
        #expect(Set(found.map(\.slotName)).count == 2)
        for key in found {
            let request = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: key.item.reference)
            let context = RequestContext(credentials: [.init(.pin, .of("123456"))])
            let signature = try stage.service.perform(request, context).secret.copiedBytes
            let publicKey = try PublicKey(spki: key.publicKey)
            #expect(try publicKey.verify(signature, of: ServiceStage.digest, using: ServiceStage.algorithm))
        }
    }

    @Test(arguments: ServiceRoute.allCases) func onlyTheNamedKeychainsAreSearched(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let own = try addKey("berta", to: stage)
        let (login, work) = (stage.login.identifier, stage.work.identifier)
        #expect(try keys(stage, .label("berta"), in: .keychains([login])).map(\.item.reference) == [own.reference])
        #expect(try keys(stage, .label("berta"), in: .keychains([work, stage.token])).isEmpty)
        let absent = KeychainIdentifier(rawValue: "local:none")
        let query = KeyQuery(.label("berta"), in: .keychains([login, absent]))
        let outcome = try stage.service.keys(matching: query, silent)
        #expect(outcome.found.count == 1)
        #expect(outcome.missing.map(\.keychain) == ["local:none"])
        #expect(throws: KeychainError(.noSuchKeychain)) { try keys(stage, .label("berta"), in: .keychains([absent])) }
    }

    @Test(arguments: ServiceRoute.allCases) func keysOfOtherAccessGroupsAreNotFound(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let pair = try TestKey.named("berta")
        let own = try stage.service.add(.privateKey(pair.privateKey, [.label: "berta", .accessGroup: "a"]))
        let selectors: [KeySelector] = [
            .label("berta"), .publicKeyHash(pair.publicKey.keyHash), .reference(own.reference),
        ]
        for (group, count) in [("a", 1), ("b", 0)] {
            let process = ProcessKeychains(stage.user.preferences, readers: { [] })
            let service = try route.service(
                of: Host(process, accessGroups: AccessGroups([group]), prompter: NoPrompter()))
            for selector in selectors {
                #expect(try service.keys(matching: KeyQuery(selector), silent).found.count == count, "\(group)")
            }
        }
    }

    /// The keychain was named by its path, and the search list has nothing that can be read.
    @Test(arguments: ServiceRoute.allCases) func aKeyOfANamedKeychainIsUsedWhateverTheSearchListHas(
        route: ServiceRoute
    ) throws {
        let stage = try ServiceStage(route)
        let own = try addKey("berta", to: stage)
        try stage.user.preferences.setSearchList([stage.user.folder.path("absent.keychain")])
        let keychain = try stage.service.openKeychain(at: stage.login.path, silent).keychain.identifier
        let found = try keys(stage, .label("berta"), in: .keychains([keychain]))
        #expect(found.map(\.item.reference) == [own.reference])
        let request = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: own.reference)
        #expect(try !stage.service.perform(request, silent).secret.isEmpty)
        #expect(try stage.service.vouching(for: own.reference, with: found[0].publicKey, silent) == .sealed)
    }

    @Test(arguments: ServiceRoute.allCases) func aCardThatIsOutHasItsKeysAmongTheAbsent(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let key = try stage.identity().key
        #expect(try keys(stage, .name("9A"), in: .absentTokens).isEmpty)
        stage.reader.remove()
        #expect(try keys(stage, .name("9A")).isEmpty)
        let absent = try keys(stage, .name("9A"), in: .absentTokens)
        #expect(absent.map(\.publicKey) == [key.der])
        #expect(absent.map(\.slotName) == [nil])
        // All keys of known cards, without a look at any.
        let commands = stage.reader.log.count
        #expect(try keys(stage, .any, in: .knownTokens).map(\.name).contains("9A"))
        #expect(try keys(stage, .name("9A"), in: .knownTokens).map(\.publicKey) == [key.der])
        #expect(stage.reader.log.count == commands)
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try stage.service.askAhead(of: .use(of: absent[0].item.reference), authentication)
        }
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyIsReadWithoutTheOthersOfItsCard(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let found = try keys(stage, .name("9A"))
        let named = stage.reader.log.count
        #expect(found.count == 1)
        let all = try stage.service.identities(.identities).found
        #expect(all.count > 1)
        #expect(stage.reader.log.count - named > named)
    }

    @Test(arguments: ServiceRoute.allCases) func aPINForOneUseIsAskedForAheadOfIt(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        var context = authentication
        context.purpose = "sign a film"
        let key = try stage.identity(.signature).key.reference
        try stage.service.askAhead(of: .use(of: key), context)
        #expect(stage.person.requests.map(\.use) == ["sign a film with key 9C"])
        #expect(stage.pinsSent == 0)
        let request = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: key)
        let signature = try stage.service.perform(request, context).secret.copiedBytes
        #expect(try stage.isSignature(signature, of: .signature))
        #expect(stage.person.requests.count == 1)
        #expect(stage.pinsSent == 1)
    }

    @Test(arguments: ServiceRoute.allCases) func thePasswordOfAKeyInAFileIsAskedForAhead(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p"))
        let key = try addKey("berta", to: stage)
        let cipher = try stage.login.generateSymmetricKey()
        stage.login.lock()
        try stage.service.askAhead(of: .use(of: cipher.reference), authentication)
        #expect(stage.person.requests.isEmpty)
        try stage.service.askAhead(of: .use(of: key.reference), authentication)
        #expect(stage.person.requests.map(\.purpose) == [.password])
        #expect(!stage.login.isLocked)
    }

    @Test(arguments: ServiceRoute.allCases) func thePasswordForAChangeIsAskedForAhead(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p"))
        stage.login.lock()
        var context = authentication
        context.purpose = "store a letter"
        #expect(throws: KeychainError(.readOnly)) { try stage.service.askAhead(of: .change(of: stage.token), context) }
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try stage.service.askAhead(of: .change(of: KeychainIdentifier(rawValue: "local:none")), context)
        }
        #expect(stage.person.requests.isEmpty)
        try stage.service.askAhead(of: .change(of: stage.login.identifier), context)
        #expect(stage.person.requests.map(\.use) == ["store a letter"])
        try stage.addPassword("ada", to: stage.login)
        #expect(stage.person.requests.count == 1)
    }

    @Test(arguments: ServiceRoute.allCases) func thePasswordForSeveralSecretsIsAskedForAhead(route: ServiceRoute) throws
    {
        let stage = try ServiceStage(route, person: TypesInTurn("p"))
        let item = try stage.addPassword("ada")
        stage.login.lock()
        try stage.service.askAhead(of: .reading(of: stage.token), silent)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.askAhead(of: .reading(of: stage.login.identifier), silent)
        }
        try stage.service.askAhead(of: .reading(of: stage.login.identifier), authentication)
        #expect(stage.person.requests.map(\.purpose) == [.password])
        #expect(try stage.service.secret(of: item, silent) != nil)
    }

    @Test(arguments: ServiceRoute.allCases) func nobodyIsAskedAheadWithoutLeave(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456", "p"))
        let own = try addKey("berta", to: stage)
        stage.login.lock()
        for key in [try stage.identity(.signature).key.reference, own.reference] {
            #expect(throws: KeychainError(.interactionNotAllowed)) {
                try stage.service.askAhead(of: .use(of: key), RequestContext(questions: .never))
            }
        }
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.askAhead(of: .change(of: stage.login.identifier), silent)
        }
        #expect(stage.person.requests.isEmpty)
        #expect(stage.pinsSent == 0)
    }

    @Test(arguments: ServiceRoute.allCases) func aKeychainVouchesForItsPublicHalves(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p"))
        let half = try stage.service.add(.publicKey(TestKey.named("berta").publicKey))
        let der = try #require(half.der)
        func vouching(_ item: PersistentReference, _ questions: RequestContext.Questions) throws -> Vouching {
            try stage.service.vouching(for: item, with: der, RequestContext(questions: questions))
        }
        #expect(try vouching(half.reference, .byHost) == .sealed)
        #expect(throws: KeychainError(.decode)) {
            try stage.service.vouching(for: half.reference, with: der + [0], silent)
        }
        stage.login.lock()
        #expect(try vouching(half.reference, .never) == .unknown)
        #expect(stage.person.requests.isEmpty)
        #expect(try vouching(half.reference, .byHost) == .sealed)
        #expect(stage.person.requests.map(\.purpose) == [.password])
        let certificate = try stage.identity().certificate
        let onCard = try #require(certificate.der)
        #expect(try stage.service.vouching(for: certificate.reference, with: onCard, silent) == .sealed)
        #expect(throws: KeychainError(.decode)) {
            try stage.service.vouching(for: certificate.reference, with: der, silent)
        }
        try stage.service.delete(Query(half.reference))
        #expect(throws: KeychainError(.itemNotFound)) { try vouching(half.reference, .never) }
    }
}
