import SecureBytes
import TestSupport
import Testing
import TokenKit

private let verify = CommandAPDU(ins: 0x20, p1: 0x00, p2: 0x80)

private func pin(_ text: StaticString) -> Secret {
    var bytes = Array(text.description.utf8)
    return Secret(consuming: &bytes)
}

@Suite struct CardSecretTests {
    private static func begin(_ channel: any CardChannel, trace: RecordingTrace? = nil) -> CardTransaction {
        CardTransaction(on: channel, link: CardLink(atr: ATR([]), transmissionProtocol: .t1, trace: trace), epoch: 1)
    }

    @Test func aSecretIsTheDataOfAShortCommand() throws {
        let channel = ScriptedChannel(["9000"])
        var card = Self.begin(channel)
        #expect(try card.send(verify, secret: pin("123456")).status == .success)
        #expect(channel.commands == ["0020008006313233343536"])
        #expect(card.commandCount == 1)
    }

    @Test(arguments: ["63C2", "6983", "6C00", "6103", "6700", "6883", "6F00", "6982"])
    func itIsNeverSentTwiceWhateverTheAnswer(answer: String) throws {
        let channel = ScriptedChannel([.answer(answer)])
        var card = Self.begin(channel)
        #expect(try card.send(verify, secret: pin("123456")).encoded() == [UInt8](hex: answer))
        #expect(channel.commands.count == 1)
    }

    @Test(arguments: CardError.Code.allCases)
    func itIsNeverSentTwiceWhateverTheFailure(code: CardError.Code) {
        let channel = ScriptedChannel([.failure(code)])
        var card = Self.begin(channel)
        #expect(throws: CardError(code, "")) { _ = try card.send(verify, secret: pin("123456")) }
        #expect(channel.commands.count == 1)
    }

    @Test func noSecretAtAllAndTooLongAOneReachNoCard() {
        let channel = ScriptedChannel([])
        var card = Self.begin(channel)
        // With no data the command would be a different one: it asks for the tries left.
        #expect(throws: CardError(.invalidCommand, "")) { _ = try card.send(verify, secret: pin("")) }
        var long = [UInt8](repeating: 0x31, count: CommandAPDU.maximumExtendedData + 1)
        let secret = Secret(consuming: &long)
        #expect(throws: CardError(.invalidCommand, "")) { _ = try card.send(verify, secret: secret) }
        var withData = verify
        withData.data = [1]
        #expect(throws: CardError(.invalidCommand, "")) { _ = try card.send(withData, secret: pin("123456")) }
        #expect(channel.commands.isEmpty)
    }

    /// A private key is longer than a command. ISO/IEC 7816-4 §5.3.3.
    @Test func aLongSecretIsChainedAndEndsWithTheFirstRefusal() throws {
        let key = [UInt8](repeating: 0x31, count: 300)
        let first = "10200080FF" + String(repeating: "31", count: 255)
        let channel = ScriptedChannel(["9000", "9000"])
        var card = Self.begin(channel)
        #expect(try card.send(verify, secret: Secret(copying: key.span)).status == .success)
        #expect(channel.commands == [first, "002000802D" + String(repeating: "31", count: 45)])
        let refusing = ScriptedChannel(["6982"])
        var other = Self.begin(refusing)
        #expect(try other.send(verify, secret: Secret(copying: key.span)).status == .securityStatusNotSatisfied)
        #expect(refusing.commands == [first])
    }

    @Test func theLongestSecretFits() throws {
        let channel = ScriptedChannel(["9000"])
        var card = Self.begin(channel)
        var long = [UInt8](repeating: 0x31, count: 255)
        #expect(try card.send(verify, secret: Secret(consuming: &long)).status == .success)
        #expect(channel.commands.first?.count == 520)
    }
}

@Suite struct CardTraceTests {
    private static func traced(
        _ lines: [ScriptedChannel.Line], _ body: (inout CardTransaction) throws -> Void
    ) -> [String] {
        let trace = RecordingTrace()
        var card = CardTransaction(
            on: ScriptedChannel(lines), link: CardLink(atr: ATR([]), transmissionProtocol: .t1, trace: trace), epoch: 1)
        try? body(&card)
        return trace.lines
    }

    @Test func showsCommandAndAnswer() {
        let lines = Self.traced(["53009000"]) { card in
            _ = try card.send(CommandAPDU(ins: 0xCB, p1: 0x3F, p2: 0xFF, data: [0x5C, 0x00], expectedLength: 256))
        }
        #expect(lines == ["> 00CB3FFF Lc 2 5C00 Le 256", "< 53009000"])
    }

    @Test func neverShowsASecret() {
        let lines = Self.traced(["63C2"]) { card in _ = try card.send(verify, secret: pin("123456")) }
        #expect(lines == ["> 00200080 Lc 6 [6 bytes]", "< 63C2"])
    }

    @Test func neverShowsConfidentialDataInAnyPartOfAChainOrContinuation() {
        let marker = String(repeating: "AB", count: 100)
        let lines = Self.traced(["9000", .answer(marker + "6164"), .answer(marker + "9000")]) { card in
            _ = try card.send(
                CommandAPDU(
                    ins: 0x87, p1: 0x07, p2: 0x9D, data: [UInt8](repeating: 0xCD, count: 300), expectedLength: 256,
                    confidentiality: [.command, .response]))
        }
        #expect(
            lines == [
                "> 1087079D Lc 255 [255 bytes]", "< 9000",
                "> 0087079D Lc 45 [45 bytes] Le 256", "< [100 bytes] 6164",
                "> 00C00000 Le 100", "< [100 bytes] 9000",
            ])
    }

    @Test func showsTheStatusOfAConfidentialAnswerWithoutData() {
        let lines = Self.traced(["6982"]) { card in
            _ = try card.send(CommandAPDU(ins: 0x87, p1: 7, p2: 0x9D, expectedLength: 256, confidentiality: .response))
        }
        #expect(lines == ["> 0087079D Le 256", "< 6982"])
    }

    @Test func showsWhatWentWrong() {
        let removed = Self.traced([.failure(.removed)]) { card in _ = try card.send(verify) }
        #expect(removed == ["> 00200080", "< removed"])
        let cut = Self.traced(["90"]) { card in _ = try card.send(verify) }
        #expect(cut == ["> 00200080", "< malformed"])
    }
}
