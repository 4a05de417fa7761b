import HostAPI
import ItemDictionaries
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct ProvenanceTests {
    private func provenance(_ session: KeychainSession, _ itemClass: String) throws -> ItemDictionary? {
        let query: ItemDictionary = ["class": .string(itemClass), "r_Provenance": .bool(true)]
        return try session.copyMatching(query).found?.dictionary?["v_Provenance"]?.dictionary
    }

    @Test func anItemOnACardTellsItsTokenSlotAndTries() throws {
        let desk = try Desk(TestCard(pinTries: 2))
        let session = KeychainSession(searchList: SearchList(tokens: [desk.token]))
        let found = try #require(try provenance(session, "cert"))
        #expect(found["keychain"]?.text == "Desk Reader")
        #expect(found["token"]?.text == "piv:7b13d0e6-1f6e-478e-a0aa-be0f9ad64a6c")
        #expect(found["identifier"]?.text == found["token"]?.text)
        #expect(found["slot"]?.text == "9A")
        if case .number(2) = found["triesLeft"] {} else { Issue.record("\(found)") }
        if case .bool(true) = found["readOnly"] {} else { Issue.record("\(found)") }
        #expect(desk.pinsSent == 0)
    }

    @Test func aLocalItemTellsItsFileAndWhetherItIsLocked() throws {
        let local = try TestKeychain()
        try local.addPassword()
        let session = KeychainSession(searchList: SearchList(locals: [local.keychain]))
        if case .bool(false)? = try provenance(session, "genp")?["locked"] {} else { Issue.record("it is unlocked") }
        local.keychain.lock()
        let found = try #require(try provenance(session, "genp"))
        #expect(found["keychain"]?.text == "test")
        #expect(found["token"] == nil && found["slot"] == nil && found["triesLeft"] == nil)
        if case .bool(true) = found["locked"] {} else { Issue.record("\(found)") }
        if case .bool(false) = found["readOnly"] {} else { Issue.record("\(found)") }
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try KeychainSession(searchList: SearchList()).host.keychain(local.keychain.identifier, RequestContext())
        }
    }

    @Test func nobodyAsksACardWithoutNeed() throws {
        let desk = try Desk()
        let session = KeychainSession(searchList: SearchList(tokens: [desk.token]))
        _ = try session.copyMatching(["class": .string("cert"), "r_Attributes": .bool(true)])
        #expect(desk.statusQueries == 0)
        let result = try session.copyMatching(["class": .string("cert"), "r_Attributes": .bool(true)]).found?.dictionary
        #expect(result?["v_Provenance"] == nil)
    }
}
