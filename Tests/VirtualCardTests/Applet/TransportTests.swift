import SecureBytes
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// A card with an object of 600 bytes, of which GET DATA answers 604.
private func card(_ profile: CardProfile) throws -> VirtualCard {
    let conversation = try CardConversation(profile)
    try conversation.select()
    try conversation.authenticate()
    #expect(try conversation.putData(0x5FC105, Array(repeating: 0xAB, count: 600)) == .success)
    return conversation.card
}

extension VirtualCard {
    fileprivate func send(_ hex: String) -> String {
        Hex.encode(process([UInt8](hex: hex)))
    }

    /// The number of bytes before the status word, and the status word in hexadecimal.
    fileprivate func outline(_ hex: String) -> String {
        let answer = process([UInt8](hex: hex))
        return "\(answer.count - 2) " + Hex.encode(answer.suffix(2))
    }
}

private let getCertificate = "00CB3FFF055C035FC105"

@Suite struct LongAnswerTests {
    @Test func t1GivesDataAtOnceAndTheRestOnDemand() throws {
        let card = try card(.generic)
        #expect(card.outline(getCertificate + "00") == "256 6100")
        #expect(card.outline("00C0000000") == "256 615C")
        #expect(card.outline("00C000005C") == "92 9000")
        #expect(card.outline("00C0000000") == "0 6985")
    }

    @Test func t1KeepsToExpectedLength() throws {
        let card = try card(.generic)
        #expect(card.outline(getCertificate + "10") == "16 6100")
        #expect(card.outline("00C00000FF") == "255 6100")
        #expect(card.outline("00C00000FF") == "255 614E")
    }

    @Test func t1DoesNotMissExpectedLength() throws {
        #expect(try card(.generic).outline(getCertificate) == "256 6100")
    }

    @Test func t0AnnouncesDataAndGivesItOnDemand() throws {
        let card = try card(.genericT0)
        #expect(card.outline(getCertificate) == "0 6100")
        #expect(card.outline("00C0000000") == "256 6100")
        #expect(card.outline("00C0000000") == "256 615C")
        #expect(card.outline("00C0000000") == "0 6C5C")
        #expect(card.outline("00C000005C") == "92 9000")
    }

    @Test func t0CorrectsExpectedLength() throws {
        let profile = CardProfile.yubiKey54.variant("t0") {
            $0.transport.transmissionProtocol = .t0
            $0.transport.takesExtendedLength = false
        }
        let card = try VirtualCard(profile: profile, clock: SimulatedClock())
        #expect(card.outline("00A4040005A000000308") == "0 6113")
        #expect(card.outline("00C0000013") == "19 9000")
        #expect(card.outline("00FD000000") == "0 6C03")
        #expect(card.outline("00FD000003") == "3 9000")
    }

    @Test func extendedAnswersComeWhole() throws {
        let card = try card(.generic)
        #expect(card.outline("00CB3FFF0000055C035FC1050000") == "604 9000")
        #expect(card.outline("00CB3FFF0000055C035FC1050100") == "256 6100")
        #expect(card.outline("00C0000000025C") == "348 9000")
    }

    @Test(arguments: [CardProfile.genericShort, .genericT0])
    func extendedCommandsAreAWrongLengthElsewhere(profile: CardProfile) throws {
        #expect(try card(profile).outline("00CB3FFF0000055C035FC1050000") == "0 6700")
    }

    @Test func anotherCommandDropsTheRest() throws {
        let card = try card(.generic)
        #expect(card.outline(getCertificate + "00") == "256 6100")
        #expect(card.outline("0020008000") == "0 63C3")
        #expect(card.outline("00C0000000") == "0 6985")
    }

    @Test func someCardsAnnounceTooMuch() throws {
        let card = try card(.nestedTemplate)
        #expect(card.outline(getCertificate + "00") == "256 6100")
        #expect(card.outline("00C0000000") == "256 615C")
        #expect(card.outline("00C000005C") == "92 6108")
        #expect(card.outline("00C0000008") == "0 6A80")
    }

    @Test func someCopiesAnswerAllAtOnce() throws {
        #expect(try card(.strictClone).outline(getCertificate + "00") == "604 9000")
    }

    @Test(arguments: CardProfile.all.filter { !$0.quirks.contains(.noManagementKey) })
    func everyProfileGivesTheWholeObject(profile: CardProfile) throws {
        guard profile.transport.interface == .contact else { return }
        let conversation = CardConversation(try card(profile))
        try conversation.select()
        let data = try conversation.getData(0x5FC105).data
        #expect(data.filter { $0 == 0xAB }.count == 600)
    }
}

@Suite struct ChainingTests {
    private let chained = ["10CB3FFF025C03", "10CB3FFF015F", "00CB3FFF02C10500"]

    @Test func blocksMakeACommand() throws {
        let card = try card(.generic)
        #expect(chained.map(card.outline) == ["0 9000", "0 9000", "256 6100"])
    }

    @Test func anotherCommandEndsTheChain() throws {
        let card = try card(.generic)
        #expect(card.outline(chained[0]) == "0 9000")
        #expect(card.outline("0020008000") == "0 63C3")
        #expect(card.outline(chained[2]) == "0 6A80")
    }

    @Test func getResponseEndsTheChain() throws {
        let card = try card(.generic)
        #expect(card.outline(chained[0]) == "0 9000")
        #expect(card.outline("00C0000000") == "0 6985")
        #expect(card.outline(chained[2]) == "0 6A80")
    }

    @Test func otherParametersBeginAnew() throws {
        let card = try card(.generic)
        #expect(card.outline("10CB3FFE025C03") == "0 9000")
        #expect(chained.map(card.outline) == ["0 9000", "0 9000", "256 6100"])
    }

    @Test func resetEndsTheChain() throws {
        let card = try card(.generic)
        #expect(card.outline(chained[0]) == "0 9000")
        card.reset()
        #expect(card.outline("00A4040005A00000030800").hasSuffix("9000"))
        #expect(card.outline(chained[2]) == "0 6A80")
    }

    @Test func aChainIsNoLongerThanTheCardsBuffer() throws {
        let card = try card(.generic)
        let block = "10DB3FFFFF" + String(repeating: "00", count: 255)
        for _ in 0..<16 { #expect(card.outline(block) == "0 9000") }
        #expect(card.outline(block) == "0 6700")
    }
}

@Suite struct MalformedCommandTests {
    @Test(arguments: ["", "00", "00CB3F", "00CB3FFF05", "00CB3FFF055C03", "00CB3FFF055C035FC1050000", "00CB3FFF000005"])
    func isAWrongLengthOrUnknown(hex: String) throws {
        let answer = try card(.generic).process([UInt8](hex: hex))
        #expect(answer.count == 2)
        #expect(answer != [0x90, 0x00])
    }

    @Test func everyInstructionIsAnswered() throws {
        let card = try card(.yubiKey57)
        for instruction in UInt8.min...UInt8.max {
            for data in ["", "00", "0100", "FF", "000000", "02 7C 00"] {
                #expect(card.process([0x00, instruction, 0x00, 0x9A] + [UInt8](hex: data)).count >= 2)
            }
        }
    }
}
