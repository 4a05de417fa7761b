import HostAPI
import ItemDictionaries
import KeychainStore
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct ExplanationTests {
    private let local: TestKeychain
    private let desk: Desk

    init() throws {
        (local, desk) = (try TestKeychain(), try Desk())
        for name in ["a", "b"] { try local.addPassword(name, service: "mail") }
        try local.add(TestKey.named("anna").certificate)
        try local.add(TestKey.named("anna").privateKey)
    }

    private var session: KeychainSession {
        KeychainSession(searchList: SearchList(tokens: [desk.token, AlwaysFails()], locals: [local.keychain]))
    }

    @Test func everyKeychainIsAccountedFor() throws {
        let explanation = try session.explain(["class": .string("cert"), "m_Limit": .string("m_LimitAll")])
        #expect(explanation.itemClass == .certificate)
        #expect(explanation.limit == nil)
        #expect(explanation.count == 5)
        #expect(explanation.visits.map(\.keychain) == ["Desk Reader", "broken", "test"])
        #expect(explanation.visits[0].outcome == .searched(matches: 4))
        #expect(explanation.visits[1].outcome == .failed(reason: "the reader or card failed"))
        #expect(explanation.visits[2].outcome == .searched(matches: 1))
    }

    @Test func aKeychainIsSkippedForAReasonAndNotTouched() throws {
        let queries: [(ItemDictionary, String)] = [
            (["class": .string("genp")], "a token has no generic password"),
            (["class": .string("cert"), "u_LocalOnly": .bool(true)], "the query is about local items"),
            (["class": .string("cert"), "agrp": .string("mine")], "the access group is not the tokens'"),
        ]
        for (query, reason) in queries {
            #expect(try session.explain(query).visits[0].outcome == .skipped(reason: reason))
        }
        #expect(desk.commands.isEmpty)
        let token = try session.explain(["class": .string("cert"), "tkid": .string("piv:1")])
        #expect(token.visits[2].outcome == .skipped(reason: "the query is about a token"))
        #expect(token.count == 0)
    }

    @Test func whatIsDamagedIsToldBesideWhatMatches() throws {
        try local.database().execute("UPDATE genp SET icmt = 'x' WHERE acct = 'a'")
        let query: ItemDictionary = [
            "class": .string("genp"), "svce": .string("mail"), "m_Limit": .string("m_LimitAll"),
        ]
        let visit = try session.explain(query).visits[2]
        #expect(visit.outcome == .searched(matches: 1))
        #expect(visit.damage == ["the generic password has been altered since it was stored"])
    }

    @Test func nothingIsAskedOfKeychainsBehindTheOneThatHasEnough() throws {
        let other = try TestKeychain()
        try other.addPassword("a", service: "mail")
        other.keychain.lock()
        let session = KeychainSession(searchList: SearchList(locals: [local.keychain, other.keychain]))
        func questions(_ limit: ItemValue) throws -> [String?] {
            let query: ItemDictionary = [
                "class": .string("genp"), "acct": .string("a"), "r_Data": .bool(true), "m_Limit": limit,
            ]
            return try session.explain(query).visits.map(\.question)
        }
        #expect(try questions(.number(1)) == [nil, nil])
        #expect(try questions(.number(2))[1] != nil)
    }

    @Test func columnsAndFiltersAreNamed() throws {
        let explanation = try session.explain([
            "class": .string("cert"), "labl": .string("ANNA HOLDER"), "pkhh": .data([1]),
            "m_CaseInsensitive": .bool(true),
            "m_SubjectContains": .string("a"), "m_ValidOnDate": .null,
        ])
        #expect(explanation.columns.map(\.rawValue) == ["pkhh", "sync"])
        #expect(explanation.filters == ["labl loosely", "m_SubjectContains", "m_ValidOnDate"])
        #expect(explanation.limit == 1)
        #expect(explanation.visits[2].plan.contains { $0.contains("cert_pkhh") })
    }

    @Test func theQuestionIsToldAndNotAsked() throws {
        let prompter = TypesInTurn("correct")
        let session = KeychainSession(
            searchList: session.searchList, authentication: AuthenticationContext(prompter: prompter))
        let query: ItemDictionary = ["class": .string("genp"), "r_Data": .bool(true)]
        #expect(try session.explain(query).visits[2].question == nil)
        local.keychain.lock()
        let explanation = try session.explain(query)
        #expect(explanation.visits[2].question == "password for 'test'")
        #expect(explanation.visits[2].outcome == .searched(matches: 2), "the limit does not hide how many there are")
        #expect(explanation.count == 1)
        #expect(try session.explain(["class": .string("genp"), "r_Attributes": .bool(true)]).visits[2].question == nil)
        #expect(try session.explain(["class": .string("cert"), "r_Data": .bool(true)]).visits[2].question == nil)
        #expect(prompter.requests.isEmpty)
        #expect(local.keychain.isLocked)
        #expect(desk.pinsSent == 0)
    }

    @Test func theQuestionsOfGuardedItemsAreTold() throws {
        let query: ItemDictionary = ["class": .string("genp"), "svce": .string("bank"), "r_Data": .bool(true)]
        let guards: [(AccessControl.Flags, String)] = [
            (.userPresence, "password for 'test'"), (.applicationPassword, "application password of 'bank'"),
            ([.userPresence, .applicationPassword], "password for 'test', application password of 'bank'"),
        ]
        for (flags, question) in guards {
            let control = AttributeValue.data(try AccessControl("ak", flags).encoded())
            try local.addPassword("g", service: "bank", secret: nil, [.label: "bank", .accessControl: control])
            #expect(try session.explain(query).visits[2].question == question)
            let attributes = query.merging(["r_Data": .bool(false), "r_Attributes": .bool(true)]) { $1 }
            #expect(try session.explain(attributes).visits[2].question == nil)
            try local.keychain.delete(matching: Query(.genericPassword, [.service: "bank"]))
        }
        // There is no question for a secret that is never read.
        let key: ItemDictionary = ["class": .string("keys"), "u_LocalOnly": .bool(true), "r_Data": .bool(true)]
        local.keychain.lock()
        #expect(try session.explain(key).visits[2].question == "password for 'test'")
        try local.keychain.unlock(password: .of("correct"))
        try local.keychain.update(matching: Query(.key), to: ItemChanges([.isExtractable: false]))
        local.keychain.lock()
        #expect(try session.explain(key).visits[2].question == nil)
    }

    @Test func identitiesAreCountedWhereTheirCertificatesAre() throws {
        let explanation = try session.explain([
            "class": .string("idnt"), "type": .string("73"), "m_Limit": .string("m_LimitAll"),
        ])
        #expect(explanation.count == 5)
        #expect(explanation.visits[0].outcome == .searched(matches: 4))
        #expect(explanation.visits[2].outcome == .searched(matches: 1))
        let one = try session.explain(["class": .string("idnt"), "m_Limit": .number(1)])
        #expect(one.count == 1)
        #expect(one.visits[0].outcome == .searched(matches: 4))
        // Certificates without private keys are no identities.
        _ = try local.keychain.delete(matching: Query(.key, [.keyClass: 1], limit: .all))
        #expect(try session.explain(["class": .string("idnt")]).visits[2].outcome == .searched(matches: 0))
    }

    @Test func aClientsGroupsCount() throws {
        let client = KeychainSession(searchList: session.searchList, accessGroups: AccessGroups(["other"]))
        let explanation = try client.explain(["class": .string("genp")])
        #expect(explanation.filters == ["agrp"])
        #expect(explanation.visits[2].outcome == .searched(matches: 0))
    }
}
