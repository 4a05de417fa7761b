import SecureBytes
import TestSupport
import Testing
import TokenKit

private let getData = CommandAPDU(
    ins: 0xCB, p1: 0x3F, p2: 0xFF, data: [0x5C, 0x00], expectedLength: CommandAPDU.anyLength)

@Suite struct FirstPartTests {
    private func begin(
        _ channel: ScriptedChannel, _ transmissionProtocol: CardLink.TransmissionProtocol = .t1
    ) -> CardTransaction {
        let atr = ATR([UInt8](hex: "3BF81300008131FE454A434F5076323431B7"))
        return CardTransaction(
            on: channel, link: CardLink(atr: atr, transmissionProtocol: transmissionProtocol), epoch: 0)
    }

    @Test func theRestOfTheAnswerIsLeftOnTheCard() throws {
        let channel = ScriptedChannel(["AABB6120"])
        var card = begin(channel)
        #expect(try card.sendForFirstPart(getData) == ResponseAPDU(data: [0xAA, 0xBB], status: .success))
        #expect(channel.commands == ["00CB3FFF025C0000"])
    }

    @Test func anAnswerThatIsWholeIsReturnedWhole() throws {
        let channel = ScriptedChannel(["AA9000"])
        var card = begin(channel)
        #expect(try card.sendForFirstPart(getData) == ResponseAPDU(data: [0xAA], status: .success))
    }

    @Test func overT0TheFirstPartHasToBeFetched() throws {
        let channel = ScriptedChannel(["6100", "AABB6110"])
        var card = begin(channel, .t0)
        #expect(try card.sendForFirstPart(getData) == ResponseAPDU(data: [0xAA, 0xBB], status: .success))
        #expect(channel.commands == ["00CB3FFF025C00", "00C0000000"])
    }

    @Test func itIsAskedForInShortFormAlsoWhereTheCardTakesMore() throws {
        let channel = ScriptedChannel(["AA9000"])
        var card = begin(channel)
        card.link.allowExtendedLength(commandLimit: 4096)
        _ = try card.sendForFirstPart(getData)
        #expect(channel.commands == ["00CB3FFF025C0000"])
    }

    @Test(arguments: [0x6A82, 0x6982, 0x6F00] as [UInt16])
    func aFailureIsReturned(number: UInt16) throws {
        let status = StatusWord(rawValue: number)
        let channel = ScriptedChannel([.answer(Hex.encode([status.sw1, status.sw2]))])
        var card = begin(channel)
        #expect(try card.sendForFirstPart(getData) == ResponseAPDU(status: status))
    }

    @Test func aLostCardIsAnError() {
        let channel = ScriptedChannel([.failure(.removed)])
        var card = begin(channel)
        #expect(throws: TokenError(.card(.removed), "")) { try card.exchangeForFirstPart(getData) }
    }
}
