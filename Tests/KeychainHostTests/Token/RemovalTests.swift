import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// A key stays the key of the card on which it was listed, whatever happens to that card.
@Suite struct RemovalTests {
    private let removed = KeychainError(.deviceReset)

    @Test(arguments: ["9A", "9C", "9E"]) func aCardThatWasTakenOutIsNotUsed(name: String) throws {
        let desk = try Desk()
        let key = try desk.key(name)
        desk.reader.remove()
        desk.reader.clearLog()
        let person = TypesInTurn("123456")
        #expect(throws: removed) { try key.sign(AuthenticationContext(prompter: person)) }
        #expect(person.requests.isEmpty)
        #expect(desk.reader.log.isEmpty)
    }

    @Test(arguments: ["9A", "9C", "9E"]) func anotherCardIsNotUsedInItsPlace(name: String) throws {
        let desk = try Desk()
        let key = try desk.key(name)
        desk.reader.insert(try TestCard(guid: "00000000000000000000000000000001", name: "another").make())
        desk.reader.clearLog()
        #expect(throws: removed) { try key.sign(.owner) }
        // The key does not sign after the new card was read either.
        _ = try desk.items(.certificate)
        #expect(throws: removed) { try key.sign(.owner) }
        #expect(desk.pinsSent == 0)
        #expect(desk.keyUses == 0)
    }

    @Test func aCardExchangedWhileAPersonTypesGetsNoPIN() throws {
        let desk = try Desk()
        let key = try desk.key("9A")
        let other = try TestCard(guid: "00000000000000000000000000000001", name: "another").make()
        let person = TypesInTurn("123456") { desk.reader.insert(other) }
        #expect(throws: removed) { try key.sign(AuthenticationContext(prompter: person)) }
        #expect(desk.pinsSent == 0)
        #expect(other.triesLeft == 3)
    }

    @Test func aCardTakenOutInTheMiddleCostsNoTry() throws {
        let card = try TestCard().make()
        let desk = Desk(VirtualReader(card: card))
        let key = try desk.key("9A")
        _ = try key.sign(.owner)
        desk.reader.faults.order(.remove)
        #expect(throws: removed) { try key.sign(.owner) }
        #expect(card.triesLeft == 3)
        desk.reader.insert(card)
        let person = TypesInTurn("123456")
        _ = try desk.key("9A").sign(AuthenticationContext(prompter: person))
        #expect(person.requests.count == 1)
    }

    @Test func referencesOutliveTheirCardsAbsence() throws {
        let card = try TestCard().make()
        let desk = Desk(VirtualReader(card: card))
        let reference = try #require(try desk.items(.key).first).reference
        let identity = try #require(try SearchList(tokens: [desk.token]).identities().first).reference
        desk.reader.remove()
        #expect(try desk.token.items(matching: Query(reference)).found.isEmpty)
        #expect(try desk.token.keys(.reference(reference)).isEmpty)
        desk.reader.insert(try TestCard(guid: "00000000000000000000000000000001", name: "another").make())
        #expect(try desk.token.keys(.reference(reference)).isEmpty)
        desk.reader.insert(card)
        let keys = try SearchList(tokens: [desk.token]).keys(.reference(reference)).found
        _ = try #require(keys.first).sign(.owner)
        #expect(try SearchList(tokens: [desk.token]).keys(.reference(identity)).found.count == 1)
    }

    @Test func anEmptyReaderIsNoKeychainForPINs() throws {
        let token = Desk(VirtualReader()).token
        #expect(try token.identity() == nil)
        #expect(try token.items(matching: Query(.key)).found.isEmpty)
        #expect(throws: KeychainError(.noSuchKeychain)) { try token.verifyPIN(authentication: .owner) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try token.change(.pin, authentication: .owner) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try token.unblock(authentication: .owner) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try token.status(of: .pin) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try token.logOut() }
    }
}
