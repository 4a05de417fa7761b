import TestSupport
import Testing
import TokenKit

@testable import VirtualCard

private let select = CommandAPDU(
    ins: 0xA4, p1: 0x04, p2: 0x00, data: CardConversation.identifier, expectedLength: CommandAPDU.anyLength)
private let wrongPIN = CommandAPDU(ins: 0x20, p1: 0x00, p2: 0x80, data: CardConversation.padded("000000"))
private let status = CommandAPDU(ins: 0x20, p1: 0x00, p2: 0x80)

@Suite struct CardFaultTests {
    private let clock = SimulatedClock()
    private let reader: VirtualReader

    init() throws {
        reader = VirtualReader(card: try VirtualCard(clock: clock))
    }

    private func run(_ commands: [CommandAPDU]) throws -> [ResponseAPDU] {
        try reader.connect(trace: nil).withTransaction { (card) throws(TokenError) in
            var answers: [ResponseAPDU] = []
            for command in commands { answers.append(try card.exchange(command)) }
            return answers
        }
    }

    @Test(arguments: [
        (CardFault.drop, CardError.Code.communication), (.reset, .reset), (.remove, .removed),
        (.truncate(to: 0), .malformed), (.truncate(to: 1), .malformed), (.oversize(to: 70_000), .malformed),
    ])
    func endsATransaction(fault: CardFault, code: CardError.Code) throws {
        reader.faults.order(fault, at: 1)
        #expect(throws: TokenError(.card(code), "")) { try run([select, status]) }
        #expect(reader.faults.count == 0)
    }

    @Test(arguments: 0..<3)
    func comesAtItsIndex(index: Int) throws {
        reader.faults.order(.status(.noPreciseDiagnosis), at: index)
        let statuses = try run([select, select, select]).map(\.status)
        let expected = (0..<3).map { $0 == index ? StatusWord.noPreciseDiagnosis : .success }
        #expect(statuses == expected)
    }

    @Test func aStatusComesInPlaceOfWhatTheCardWouldDo() throws {
        reader.faults.order(.status(.noPreciseDiagnosis), at: 1)
        #expect(try run([select, wrongPIN, status]).last?.status == 0x63C3)
    }

    @Test func aDroppedAnswerIsToWhatTheCardDid() throws {
        reader.faults.order(.drop, at: 1)
        #expect(throws: TokenError.self) { try run([select, wrongPIN]) }
        #expect(try run([select, status]).last?.status == 0x63C2)
    }

    @Test func aDelayTakesTime() throws {
        reader.faults.order(.delay(.seconds(5)))
        #expect(try run([select]).map(\.status) == [.success])
        #expect(clock.now == .seconds(5))
    }

    @Test func truncatedAndOversizedAnswersHaveThatLength() throws {
        reader.faults.order(.truncate(to: 10), at: 0)
        reader.faults.order(.oversize(to: 1000), at: 1)
        let answers = try run([select, select])
        #expect(answers[0].data.count == 8)
        #expect(answers[1].data.count == 998)
        #expect(answers[1].status == .success)
    }

    @Test func faultsAreCalledOff() throws {
        reader.faults.order(.drop)
        reader.faults.order(.remove, at: 3)
        #expect(reader.faults.count == 2)
        reader.faults.clear()
        #expect(try run([select, select, select, select]).count == 4)
    }

    @Test func faultsOfOneCommandAddUp() throws {
        reader.faults.order(.delay(.seconds(1)))
        reader.faults.order(.status(.memoryFailure))
        #expect(try run([select]).map(\.status) == [.memoryFailure])
        #expect(clock.now == .seconds(1))
    }
}
