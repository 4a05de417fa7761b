import SecureBytes
import TestSupport
import Testing
import TokenKit

/// An answer to reset that announces no extended length.
private let shortATR = ATR([UInt8](hex: "3BF81300008131FE454A434F5076323431B7"))

private let getData = CommandAPDU(
    ins: 0xCB, p1: 0x3F, p2: 0xFF, data: [0x5C, 0x00], expectedLength: CommandAPDU.anyLength)

/// A script, and a transaction whose commands are compared with it.
private struct Script {
    let channel: ScriptedChannel
    let link: CardLink
    let trace = RecordingTrace()

    init(
        _ lines: [ScriptedChannel.Line], atr: ATR = shortATR, protocol: CardLink.TransmissionProtocol = .t1
    ) {
        channel = ScriptedChannel(lines)
        link = CardLink(atr: atr, transmissionProtocol: `protocol`, trace: trace)
    }

    func begin() -> CardTransaction { CardTransaction(on: channel, link: link, epoch: 1) }
}

@Suite struct CardTransactionShortFormTests {
    @Test func oneCommandAndItsAnswer() throws {
        let script = Script(["53009000"])
        var card = script.begin()
        let response = try card.send(getData)
        #expect(response == ResponseAPDU(data: [0x53, 0x00], status: .success))
        #expect(script.channel.commands == ["00CB3FFF025C0000"])
        #expect(card.commandCount == 1)
    }

    @Test(arguments: [0x6A82, 0x6982, 0x63C2, 0x6F00, 0x6D00, 0x0000] as [UInt16])
    func aStatusThatTellsOfFailureIsReturned(number: UInt16) throws {
        let status = StatusWord(rawValue: number)
        let script = Script([.answer(Hex.encode([status.sw1, status.sw2]))])
        var card = script.begin()
        #expect(try card.send(getData) == ResponseAPDU(status: status))
    }

    @Test(arguments: [
        (255, [255]), (256, [255, 1]), (510, [255, 255]), (511, [255, 255, 1]),
        (2_000, [255, 255, 255, 255, 255, 255, 255, 215]),
    ])
    func longDataIsChained(count: Int, blocks: [Int]) throws {
        let script = Script(blocks.map { _ in "9000" })
        var card = script.begin()
        let data = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let command = CommandAPDU(ins: 0xDB, p1: 0x3F, p2: 0xFF, data: data, expectedLength: 256)
        #expect(try card.send(command).status == .success)
        let sent = try script.channel.commands.map { try CommandAPDU.parse([UInt8](hex: $0)).command }
        #expect(sent.map(\.data.count) == blocks)
        #expect(sent.flatMap(\.data) == data)
        #expect(sent.map(\.cla) == blocks.dropLast().map { _ in 0x10 } + [0x00])
        #expect(sent.map(\.expectedLength) == blocks.dropLast().map { _ in nil } + [256])
        #expect(card.commandCount == blocks.count)
    }

    @Test func aChainEndsWhereTheCardRefusesIt() throws {
        let script = Script(["9000", "6A84"])
        var card = script.begin()
        let command = CommandAPDU(ins: 0xDB, p1: 0x3F, p2: 0xFF, data: [UInt8](repeating: 0, count: 1_000))
        #expect(try card.send(command).status == .notEnoughMemory)
        #expect(script.channel.commands.count == 2)
    }

    @Test func theClassIsKeptInChainAndContinuation() throws {
        let script = Script(["9000", "6102", "AABB9000"])
        var card = script.begin()
        let command = CommandAPDU(
            cla: 0x0C, ins: 0x87, p1: 0, p2: 0, data: [UInt8](repeating: 0, count: 256), expectedLength: 256)
        #expect(try card.send(command).data == [0xAA, 0xBB])
        #expect(script.channel.commands.map { String($0.prefix(2)) } == ["1C", "0C", "0C"])
    }

    @Test func aWrongExpectedLengthIsCorrectedOnce() throws {
        let script = Script(["6C03", "0102039000"])
        var card = script.begin()
        #expect(try card.send(CommandAPDU(ins: 0xCA, p1: 0, p2: 0, expectedLength: 256)).data == [1, 2, 3])
        #expect(script.channel.commands == ["00CA000000", "00CA000003"])
        let stubborn = Script(["6C03", "6C04"])
        var second = stubborn.begin()
        #expect(try second.send(getData).status == 0x6C04)
        #expect(stubborn.channel.isFinished)
    }

    @Test func inT0ThereIsNoExpectedLengthBesideData() throws {
        let script = Script(["6103", "0102039000"], protocol: .t0)
        var card = script.begin()
        #expect(try card.send(getData).data == [1, 2, 3])
        #expect(script.channel.commands == ["00CB3FFF025C00", "00C0000003"])
        let corrected = Script(["6C03"], protocol: .t0)
        var second = corrected.begin()
        #expect(try second.send(getData).status == 0x6C03)
        #expect(corrected.channel.commands == ["00CB3FFF025C00"])
    }

    @Test func inT0ACommandWithoutDataHasItsExpectedLengthCorrected() throws {
        let script = Script(["6C02", "AABB9000"], protocol: .t0)
        var card = script.begin()
        #expect(try card.send(CommandAPDU(ins: 0xCA, p1: 0, p2: 0, expectedLength: 256)).data == [0xAA, 0xBB])
        #expect(script.channel.commands == ["00CA000000", "00CA000002"])
    }
}

@Suite struct CardTransactionContinuationTests {
    @Test func everythingIsCollected() throws {
        let part = String(repeating: "AB", count: 256)
        let script = Script([.answer(part + "6100"), .answer(part + "6110"), "CDCD9000"])
        var card = script.begin()
        let response = try card.send(getData)
        #expect(response.data.count == 514)
        #expect(response.status == .success)
        #expect(Array(script.channel.commands.dropFirst()) == ["00C0000000", "00C0000010"])
        #expect(card.commandCount == 3)
    }

    @Test func theContinuationItselfMayWantAnotherLength() throws {
        let script = Script(["6110", "6C02", "AABB9000"])
        var card = script.begin()
        #expect(try card.send(getData).data == [0xAA, 0xBB])
        #expect(Array(script.channel.commands.dropFirst()) == ["00C0000010", "00C0000002"])
    }

    @Test func fewerBytesThanAnnouncedAreAllThereAre() throws {
        let script = Script(["6180", "0102039000"])
        var card = script.begin()
        #expect(try card.send(getData).data == [1, 2, 3])
    }

    @Test func aCardThatKnowsNothingOfWhatItAnnouncedHadNoMore() throws {
        let script = Script(["01026105", "6A80"])
        var card = script.begin()
        #expect(try card.send(getData) == ResponseAPDU(data: [1, 2], status: .success))
        let empty = Script(["6105", "6A80"])
        var second = empty.begin()
        #expect(try second.send(getData) == ResponseAPDU(status: .incorrectData))
    }

    @Test func aFailureOnTheWayIsTheStatus() throws {
        let script = Script(["01026105", "6F00"])
        var card = script.begin()
        #expect(try card.send(getData).status == .noPreciseDiagnosis)
    }

    @Test func announcingMoreAndSendingNoneIsMalformed() {
        let script = Script(["6105", "6105"])
        var card = script.begin()
        #expect(throws: CardError(.malformed, "")) { _ = try card.send(getData) }
        #expect(script.channel.isFinished)
    }

    @Test(arguments: [0, 1, 100, 65_536])
    func anAnswerWithoutEndIsCutOffAtItsLimit(limit: Int) {
        var card = CardTransaction(
            on: AlwaysAnswers61xx(), link: CardLink(atr: shortATR, transmissionProtocol: .t1), epoch: 1)
        #expect(throws: CardError(.responseTooLarge, "")) { _ = try card.send(getData, limit: limit) }
        #expect(card.commandCount == limit + 1)
    }

    @Test func anAnswerOfExactlyItsLimitIsTaken() throws {
        let script = Script(["01026101", "039000"])
        var card = script.begin()
        #expect(try card.send(getData, limit: 3).data == [1, 2, 3])
        var tooLong = Script(["010203049000"]).begin()
        #expect(throws: CardError(.responseTooLarge, "")) { _ = try tooLong.send(getData, limit: 3) }
    }

    @Test(arguments: [CardError.Code.removed, .reset, .communication, .serviceUnavailable])
    func aBrokenChannelIsTheError(code: CardError.Code) {
        var first = Script([.failure(code)]).begin()
        #expect(throws: CardError(code, "")) { _ = try first.send(getData) }
        var later = Script(["01026101", .failure(code)]).begin()
        #expect(throws: CardError(code, "")) { _ = try later.send(getData) }
    }

    @Test(arguments: ["", "90"])
    func anAnswerWithoutStatusWordIsMalformed(answer: String) {
        var card = Script([.answer(answer)]).begin()
        #expect(throws: CardError(.malformed, "")) { _ = try card.send(getData) }
    }
}
