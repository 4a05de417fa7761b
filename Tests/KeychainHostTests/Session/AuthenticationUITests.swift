import HostAPI
import ItemDictionaries
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 3.3: what happens when a password is needed.
@Suite struct AuthenticationUITests {
    private let locked: TestKeychain
    private let open: TestKeychain
    private let prompter = TypesInTurn("correct", "wrong")
    private let session: KeychainSession

    init() throws {
        (locked, open) = (try TestKeychain(), try TestKeychain())
        try locked.addPassword("locked", secret: "l")
        try open.addPassword("open", secret: "o")
        try locked.add(TestKey.named("anna").certificate)
        try locked.add(TestKey.named("anna").privateKey)
        locked.keychain.lock()
        session = KeychainSession(
            searchList: SearchList(locals: [locked.keychain, open.keychain]), defaultKeychain: locked.keychain,
            authentication: AuthenticationContext(prompter: prompter))
    }

    private func passwords(_ more: ItemDictionary) -> ItemDictionary {
        let query: ItemDictionary = ["class": .string("genp"), "m_Limit": .string("m_LimitAll")]
        return query.merging(more) { $1 }
    }

    private static let fail: ItemDictionary = ["u_AuthUI": .string("u_AuthUIF")]

    // Case 63
    @Test func attributesAndPublicDataAreReadWhileLocked() throws {
        for (itemClass, returned) in [
            ("genp", "r_Attributes"), ("cert", "r_Data"), ("keys", "r_Attributes"), ("idnt", "r_Ref"),
        ] {
            let query: ItemDictionary = ["class": .string(itemClass), returned: .bool(true)]
            #expect(try session.copyMatching(query.merging(Self.fail) { $1 }).found != nil)
        }
        #expect(prompter.requests.isEmpty)
    }

    @Test func aSecretAsksOnceForItsKeychain() throws {
        let found = try session.copyMatching(passwords(["r_Data": .bool(true), "u_OpPrompt": .string("fetch mail")]))
            .found
        #expect(found?.array?.map(\.bytes) == [Array("l".utf8), Array("o".utf8)])
        #expect(prompter.requests.map(\.use) == ["fetch mail"])
    }

    @Test func whereNobodyMayBeAskedTheSearchFails() throws {
        expect(.interactionNotAllowed) {
            try session.copyMatching(passwords(["r_Data": .bool(true)]).merging(Self.fail) { $1 })
        }
        expect(.interactionNotAllowed) {
            try session.copyMatching(passwords(["r_Data": .bool(true), "u_NoAuthUI": .bool(true)]))
        }
        #expect(prompter.requests.isEmpty)
    }

    // Case 65
    @Test func whatNeedsAPasswordIsLeftOutWhenAskedTo() throws {
        let skip: ItemDictionary = ["r_Data": .bool(true), "u_AuthUI": .string("u_AuthUIS")]
        #expect(try session.copyMatching(passwords(skip)).found?.array?.map(\.bytes) == [Array("o".utf8)])
        let one = passwords(skip).merging(["m_Limit": .string("m_LimitOne")]) { $1 }
        #expect(try session.copyMatching(one).found?.bytes == Array("o".utf8), "what is left out does not count")
        expect(.itemNotFound) { try session.copyMatching(passwords(skip).merging(["acct": .string("locked")]) { $1 }) }
        #expect(prompter.requests.isEmpty)
    }

    @Test func aContextReplacesTheSessions() throws {
        let other = TypesInTurn("correct")
        let asking = session.asking(AuthenticationContext(prompter: other))
        _ = try asking.copyMatching(passwords(["r_Data": .bool(true)]))
        #expect(other.requests.count == 1)
        #expect(prompter.requests.isEmpty)
    }

    @Test func addingAndChangingAskAndDeletingDoesNot() throws {
        let new: ItemDictionary = ["class": .string("genp"), "acct": .string("new"), "v_Data": .data([1])]
        expect(.interactionNotAllowed) { try session.add(new.merging(Self.fail) { $1 }) }
        let query: ItemDictionary = ["class": .string("genp"), "acct": .string("locked")]
        expect(.interactionNotAllowed) {
            try session.update(query.merging(Self.fail) { $1 }, to: ["labl": .string("x")])
        }
        #expect(prompter.requests.isEmpty)
        try session.update(query, to: ["labl": .string("x")])
        #expect(prompter.requests.count == 1)
        locked.keychain.lock()
        try session.delete(query.merging(Self.fail) { $1 })
        #expect(prompter.requests.count == 1)
        #expect(try locked.count(.genericPassword) == 0)
    }

    /// Adding takes the keychain's key, because the absence of data is sealed as well.
    @Test func aPasswordWithoutDataIsAddedToAnUnlockedKeychain() throws {
        let new: ItemDictionary = ["class": .string("genp"), "acct": .string("new")]
        #expect(throws: KeychainError(.interactionNotAllowed)) { try session.add(new.merging(Self.fail) { $1 }) }
        #expect(try locked.count(.genericPassword) == 1)
        _ = try session.add(new)
        #expect(prompter.requests.count == 1)
        #expect(try locked.count(.genericPassword) == 2)
    }
}
