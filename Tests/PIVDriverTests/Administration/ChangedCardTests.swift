import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import VirtualCard

/// A client that listed a card, whose content another client of the same host changes since.
@Suite struct ChangedCardTests {
    private static let profiles: [CardProfile] = [.yubiKey57, .generic, .canoKey]

    @Test(arguments: profiles) func thePINAndTheManagementKeyCountForTheSameCard(profile: CardProfile) throws {
        let (desk, listed) = try Self.changedDesk(profile)
        try desk.slot.verify(PIN("123456"), lastTry: .keep, at: listed)
        #expect(try desk.slot.status(of: .pin, at: listed, isBeforePIN: false).isVerified)
        let outcome = try desk.slot.perform(
            .setData("security-object", [4, 5, 6]), by: TokenAdministrator(.factory), at: listed)
        guard case .done = consume outcome else {
            Issue.record("the change has another outcome")
            return
        }
        #expect(try desk.content(of: "security-object") == [4, 5, 6])
        try desk.slot.change(.pin, from: PIN("123456"), to: PIN("654321"), lastTry: .keep, at: listed)
        try desk.slot.verify(PIN("654321"), lastTry: .keep, at: listed)
    }

    @Test(arguments: profiles) func aLoginOfTheSameCardIsEndedOnIt(profile: CardProfile) throws {
        let (desk, listed) = try Self.changedDesk(profile)
        try desk.slot.verify(PIN("123456"), lastTry: .keep, at: desk.slot.insertion())
        #expect(try desk.slot.isPINPresented())
        // A card that cannot forget the PIN says so, and the next card has its own state.
        do throws(TokenError) { try desk.slot.logOut(at: listed) } catch { #expect(error.code != .card(.removed)) }
        #expect(try !desk.slot.isPINPresented())
    }

    /// Whoever lists objects has to list them again, and takes nothing from other clients by asking too late.
    @Test(arguments: profiles) func anObjectOfTheListIsAskedForAnew(profile: CardProfile) throws {
        let (desk, listed) = try Self.changedDesk(profile)
        try desk.slot.verify(PIN("123456"), lastTry: .keep, at: desk.slot.insertion())
        desk.forgetCommands()
        let error = try #require(throws: TokenError.self) { try desk.slot.look(for: ["security-object"], at: listed) }
        #expect(error.code == .card(.removed))
        #expect(error.description.contains("changed by another program"))
        #expect(desk.commands.isEmpty)
        #expect(try desk.slot.isPINPresented())
    }

    @Test(arguments: profiles) func anotherCardGetsNoPINAndNoManagementKey(profile: CardProfile) throws {
        let (desk, listed) = try Self.changedDesk(profile)
        desk.reader.remove()
        #expect(throws: TokenError.self) { try desk.identity() }
        desk.reader.insert(try IssuedCard(profile: profile).make())
        _ = try desk.slot.insertion()
        desk.forgetCommands()
        #expect(throws: TokenError.self) { try desk.slot.verify(PIN("123456"), lastTry: .keep, at: listed) }
        #expect(throws: TokenError.self) {
            _ = try desk.slot.perform(
                .setData("security-object", [4, 5, 6]), by: TokenAdministrator(.factory), at: listed)
        }
        #expect(throws: TokenError.self) { try desk.slot.logOut(at: listed) }
        #expect(desk.commands.isEmpty)
    }

    /// - Returns: a desk, and the insertion of its card before another client has changed the card's content.
    private static func changedDesk(_ profile: CardProfile) throws -> (desk: Desk, listed: TokenInsertion) {
        let desk = try Desk(card: IssuedCard(profile: profile).make())
        let listed = try desk.slot.insertion()
        let other = TokenSlot(sharing: desk.slot)
        _ = try other.perform(
            .setData("security-object", [1, 2, 3]), by: TokenAdministrator(.factory), at: other.insertion())
        #expect(try desk.slot.insertion() != listed)
        return (desk, listed)
    }
}
