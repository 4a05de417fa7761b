import SecureBytes
import SystemCrypto
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

    @Test(arguments: profiles) func aKeyThatIsStillThereIsUsed(profile: CardProfile) throws {
        let (desk, listed, operation) = try Self.deskWithSignature(profile)
        try Self.change(.setData("security-object", [1, 2, 3]), beside: desk)
        let signature = try desk.perform(operation, at: listed, presenting: "123456")
        let key = try PublicKey(spki: #require(operation.publicKey))
        #expect(try key.verify(signature, digest: Self.digest, using: .ecdsa(nil)))
        _ = try desk.perform(operation, at: listed)
        // Which key is meant is in the list alone, which is out of date.
        for publicKey in [nil, []] as [[UInt8]?] {
            let unnamed = TokenOperation(key: operation.key, action: operation.action, publicKey: publicKey)
            let error = try #require(throws: TokenError.self) { try desk.perform(unnamed, at: listed) }
            #expect(error.code == .card(.removed))
        }
    }

    @Test(arguments: profiles) func aKeyThatWasReplacedGetsNoPIN(profile: CardProfile) throws {
        let (desk, listed, operation) = try Self.deskWithSignature(profile)
        try Self.change(
            .generateKey("9A", .ecP256, KeyPolicies(), replacing: .ordinary, allowsWeak: true), beside: desk)
        desk.forgetCommands()
        for pin in ["123456", nil] as [StaticString?] {
            let error = try #require(throws: TokenError.self) {
                try desk.perform(operation, at: listed, presenting: pin)
            }
            #expect(error.code == .notFound)
        }
        #expect(desk.pinsSent == 0)
    }

    private static let digest = [UInt8](repeating: 7, count: 32)

    /// - Returns: a desk, the insertion of its card, and a signature by a key of it, as listed.
    private static func deskWithSignature(
        _ profile: CardProfile
    ) throws -> (desk: Desk, listed: TokenInsertion, operation: TokenOperation) {
        let desk = try Desk(card: IssuedCard(profile: profile).make())
        let contents = try desk.slot.inventory(.privateKey("9A"))
        let key = try #require(contents.inventory.objects.first?.key)
        let signature = TokenOperation(key: "9A", action: .sign(.ecdsa(nil), digest), publicKey: key.publicKey)
        return (desk, contents.insertion, signature)
    }

    /// - Returns: a desk, and the insertion of its card before another client has changed the card's content.
    private static func changedDesk(_ profile: CardProfile) throws -> (desk: Desk, listed: TokenInsertion) {
        let desk = try Desk(card: IssuedCard(profile: profile).make())
        let listed = try desk.slot.insertion()
        try change(.setData("security-object", [1, 2, 3]), beside: desk)
        #expect(try desk.slot.insertion() != listed)
        return (desk, listed)
    }

    private static func change(_ change: TokenChange, beside desk: Desk) throws {
        let other = TokenSlot(sharing: desk.slot)
        _ = try other.perform(change, by: TokenAdministrator(.factory), at: other.insertion())
    }
}

extension Desk {
    /// Performs the operation with the card of an insertion.
    fileprivate func perform(
        _ operation: TokenOperation, at insertion: TokenInsertion, presenting pin: StaticString? = nil
    ) throws(TokenError) -> [UInt8] {
        let result =
            if let pin {
                try slot.perform(operation, presenting: PIN(pin), lastTry: .keep, at: insertion, notice: nil)
            } else {
                try slot.perform(operation, at: insertion, notice: nil)
            }
        return Array(copying: result.bytes)
    }
}
