import TestSupport
import Testing
import TokenKit

private let extendedATR = ATR([UInt8](hex: "3BFD1300008131FE158073C021C057597562694B657940"))
private let getData = CommandAPDU(
    ins: 0xCB, p1: 0x3F, p2: 0xFF, data: [0x5C, 0x00], expectedLength: CommandAPDU.anyLength)

@Suite struct ExtendedLengthTests {
    private static func begin(_ channel: ScriptedChannel, _ link: CardLink) -> CardTransaction {
        CardTransaction(on: channel, link: link, epoch: 1)
    }

    private static func link() -> CardLink { CardLink(atr: extendedATR, transmissionProtocol: .t1) }

    @Test func isUsedWhereTheAnswerToResetAnnouncesIt() throws {
        let channel = ScriptedChannel(["53009000"])
        var card = Self.begin(channel, Self.link())
        #expect(try card.send(getData).status == .success)
        #expect(channel.commands == ["00CB3FFF0000025C000000"])
    }

    @Test func isNotUsedForACommandThatNeedsNone() throws {
        let channel = ScriptedChannel(["9000"])
        var card = Self.begin(channel, Self.link())
        _ = try card.send(CommandAPDU(ins: 0x20, p1: 0, p2: 0x80))
        #expect(channel.commands == ["00200080"])
    }

    @Test func isNeverUsedOnT0() {
        let link = CardLink(atr: extendedATR, transmissionProtocol: .t0)
        #expect(!link.usesExtendedLength)
        link.allowExtendedLength(commandLimit: 4_096)
        #expect(!link.usesExtendedLength)
    }

    @Test(arguments: [
        "6700", "6883", "6884",
    ])
    func aCardThatRefusesItIsSpokenToInShortFormFromThenOn(refusal: String) throws {
        let channel = ScriptedChannel([.answer(refusal), "019000", "029000"])
        let link = Self.link()
        var card = Self.begin(channel, link)
        #expect(try card.send(getData).data == [1])
        #expect(!link.usesExtendedLength)
        var next = Self.begin(channel, link)
        #expect(try next.send(getData).data == [2])
        #expect(channel.commands == ["00CB3FFF0000025C000000", "00CB3FFF025C0000", "00CB3FFF025C0000"])
    }

    @Test func aReaderThatRefusesItIsSpokenToInShortFormFromThenOn() throws {
        let channel = ScriptedChannel([.failure(.communication), "9000", "9000"])
        let link = Self.link()
        var card = Self.begin(channel, link)
        let data = [UInt8](repeating: 1, count: 300)
        #expect(try card.send(CommandAPDU(ins: 0xDB, p1: 0x3F, p2: 0xFF, data: data)).status == .success)
        #expect(channel.commands.map { $0.count / 2 } == [307, 260, 50])
        #expect(!link.usesExtendedLength)
        link.allowExtendedLength(commandLimit: 4_096)
        #expect(!link.usesExtendedLength, "a refusal outlasts what the application announces")
    }

    @Test(arguments: [CardError.Code.removed, .reset, .serviceUnavailable, .malformed])
    func anyOtherFailureIsNoRefusal(code: CardError.Code) {
        let link = Self.link()
        var card = Self.begin(ScriptedChannel([.failure(code)]), link)
        #expect(throws: CardError(code, "")) { _ = try card.send(getData) }
        #expect(link.usesExtendedLength)
    }

    @Test func theApplicationMayAllowItWithALimit() throws {
        let link = CardLink(atr: ATR([]), transmissionProtocol: .t1)
        #expect(!link.usesExtendedLength)
        link.allowExtendedLength(commandLimit: 1_000)
        #expect(link.usesExtendedLength)
        let channel = ScriptedChannel(["9000"] + (0..<4).map { _ in "9000" })
        var card = Self.begin(channel, link)
        for count in [991, 992] {
            let data = [UInt8](repeating: 0, count: count)
            _ = try card.send(CommandAPDU(ins: 0xDB, p1: 0x3F, p2: 0xFF, data: data, expectedLength: 256))
        }
        #expect(channel.commands.map { $0.count / 2 } == [1_000, 260, 260, 260, 233])
    }

    @Test(arguments: [-1, 0, 255, Int.min])
    func aLimitThatLeavesNoRoomAllowsNothing(limit: Int) {
        let link = CardLink(atr: ATR([]), transmissionProtocol: .t1)
        link.allowExtendedLength(commandLimit: limit)
        #expect(!link.usesExtendedLength)
    }

    @Test func moreThanAnExtendedCommandHoldsIsChained() throws {
        let channel = ScriptedChannel((0..<258).map { _ in "9000" })
        var card = Self.begin(channel, Self.link())
        let data = [UInt8](repeating: 0, count: 65_536)
        _ = try card.send(CommandAPDU(ins: 0xDB, p1: 0x3F, p2: 0xFF, data: data))
        #expect(channel.commands.count == 258)
    }

    @Test func theExpectedLengthIsCorrectedInExtendedFormToo() throws {
        let channel = ScriptedChannel(["6C02", "AABB9000"])
        var card = Self.begin(channel, Self.link())
        #expect(try card.send(getData).data == [0xAA, 0xBB])
        #expect(channel.commands == ["00CB3FFF0000025C000000", "00CB3FFF0000025C000002"])
    }

    @Test func theRestOfAnExtendedAnswerIsFetchedToo() throws {
        let channel = ScriptedChannel(["AA6101", "BB9000"])
        var card = Self.begin(channel, Self.link())
        #expect(try card.send(getData).data == [0xAA, 0xBB])
        #expect(channel.commands.last == "00C0000001")
    }
}
