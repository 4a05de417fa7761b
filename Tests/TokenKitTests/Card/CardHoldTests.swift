import SecureBytes
import TestSupport
import Testing
import TokenKit

/// Answers commands, and records them and the calls that keep other programs from the card.
private final class HeldChannel: CardChannel {
    private(set) var events: [String] = []

    func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        events.append(Hex.encode([command[1]]))
        return [0x90, 0x00]
    }

    func hold() { events.append("hold") }
}

/// The moment from which a transaction keeps other programs from the card.
@Suite struct CardHoldTests {
    private let channel = HeldChannel()

    private func begin(
        _ hold: CardHold, _ transmissionProtocol: CardLink.TransmissionProtocol = .t1
    ) -> CardTransaction {
        let link = CardLink(atr: ATR([0x3B, 0x00]), transmissionProtocol: transmissionProtocol)
        return CardTransaction(on: channel, link: link, epoch: 0, hold: hold)
    }

    private func command(_ ins: UInt8, _ count: Int = 1) -> CommandAPDU {
        CommandAPDU(ins: ins, p1: 0, p2: 0, data: [UInt8](repeating: 7, count: count))
    }

    @Test func fromTheStartNobodyCanHaveHadTheCardBetweenTwoCommands() throws {
        var card = begin(.fromTheStart)
        var changes = [card.mayHaveChangedHands]
        for _ in 0..<3 {
            _ = try card.send(command(0xA4))
            changes.append(card.mayHaveChangedHands)
        }
        #expect(changes == [true, false, false, false])
    }

    @Test func fromTheSecondCommandSomebodyCanHaveHadItBeforeThat() throws {
        var card = begin(.fromTheSecondCommand)
        var changes = [card.mayHaveChangedHands]
        for _ in 0..<3 {
            _ = try card.send(command(0xA4))
            changes.append(card.mayHaveChangedHands)
        }
        #expect(changes == [true, true, false, false])
        // The channel holds the card by itself; the transaction does not ask for it.
        #expect(channel.events == ["A4", "A4", "A4"])
    }

    @Test func aHoldThatIsAskedForCountsFromThereOn() throws {
        var early = begin(.fromTheSecondCommand)
        try early.hold()
        _ = try early.send(command(0xA4))
        let wasHeldInTime = !early.mayHaveChangedHands
        #expect(wasHeldInTime)
        var late = begin(.fromTheSecondCommand)
        _ = try late.send(command(0xA4))
        try late.hold()
        let mayHaveChanged = late.mayHaveChangedHands
        #expect(mayHaveChanged)
        _ = try late.send(command(0xA4))
        let isHeld = !late.mayHaveChangedHands
        #expect(isHeld)
    }

    @Test func nobodyComesBetweenTheBlocksOfAChain() throws {
        var card = begin(.fromTheSecondCommand)
        _ = try card.send(command(0x87, 256))
        #expect(channel.events == ["hold", "87", "87"])
    }

    @Test func nobodyFetchesTheAnswerThatT0LeavesBehind() throws {
        var card = begin(.fromTheSecondCommand, .t0)
        _ = try card.send(command(0x87))
        #expect(channel.events == ["hold", "87"])
    }

    /// If another program has selected an application, the PIN would cost a try of that application.
    @Test func noSecretIsSentThatOthersMayHaveSelectedAnApplicationFor() throws {
        var card = begin(.fromTheSecondCommand)
        let pin = Secret(copying: [1, 2, 3, 4, 5, 6].span)
        _ = try card.send(CommandAPDU(ins: 0x20, p1: 0, p2: 0x80), secret: pin)
        #expect(channel.events == ["hold", "20"])
    }
}
