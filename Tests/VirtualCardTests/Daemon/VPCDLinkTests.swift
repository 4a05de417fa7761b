import Foundation
import TestSupport
import Testing
import TokenKit

@testable import VirtualCard

private let select = [UInt8](hex: "00A4040005A00000030800")
private let status = [UInt8](hex: "0020008000")
private let verify = [UInt8](hex: "0020008008313233343536FFFF")

@Suite struct VPCDLinkTests {
    private let reader: VPCDReader
    private let link: VPCDLink

    init() throws {
        reader = try VPCDReader()
        link = try VPCDLink(card: try VirtualCard(clock: SimulatedClock()), port: reader.port)
    }

    /// Runs the link for the length of a test.
    private func running(_ body: () throws -> Void) throws {
        let link = link
        let worker = try Worker { try? link.run() }
        defer {
            link.stop()
            worker.join()
        }
        try body()
    }

    @Test func aCardThatIsInsertedAnswers() throws {
        try running {
            link.insert()
            #expect(reader.waitForCard())
            #expect(reader.answerToReset() == CardProfile.generic.atr)
            reader.order(1)
            #expect(reader.transmit(select)?.suffix(2) == [0x90, 0x00])
            #expect(reader.transmit(status) == [0x63, 0xC3])
            #expect(link.commandCount == 2)
        }
    }

    @Test func eachCommandTakesAtLeastTheDelay() throws {
        let slow = try VPCDLink(card: try VirtualCard(), port: reader.port, delay: .milliseconds(40))
        let worker = try Worker { try? slow.run() }
        defer {
            slow.stop()
            worker.join()
        }
        slow.insert()
        #expect(reader.waitForCard())
        reader.order(1)
        let start = ContinuousClock.now
        for _ in 0..<3 { #expect(reader.transmit(select)?.suffix(2) == [0x90, 0x00]) }
        #expect(ContinuousClock.now - start >= .milliseconds(120))
    }

    @Test(arguments: [UInt8(0), 1, 2])
    func powerAndResetForgetThePIN(order: UInt8) throws {
        try running {
            link.insert()
            #expect(reader.waitForCard())
            for command in [select, verify] { #expect(reader.transmit(command)?.suffix(2) == [0x90, 0x00]) }
            reader.order(order)
            #expect(reader.transmit(select)?.suffix(2) == [0x90, 0x00])
            #expect(reader.transmit(status) == [0x63, 0xC3])
        }
    }

    @Test func aCardThatIsTakenOutIsGoneAndComesBack() throws {
        try running {
            link.insert()
            #expect(reader.waitForCard())
            #expect(reader.transmit(select) != nil)
            link.remove()
            #expect(reader.transmit(select) == nil)
            #expect(!link.isInserted)
            reader.drop()
            link.insert()
            #expect(reader.waitForCard())
            #expect(reader.transmit(select) != nil)
        }
    }

    @Test func theCardComesBackWhenTheServiceDoes() throws {
        try running {
            link.insert()
            #expect(reader.waitForCard())
            reader.drop()
            #expect(reader.waitForCard())
            #expect(reader.transmit(select) != nil)
            #expect(link.isConnected)
        }
    }

    @Test func theCardWaitsForTheService() throws {
        let link = try VPCDLink(card: link.card, port: VPCDReader.unusedPort())
        let worker = try Worker { try? link.run() }
        link.insert()
        #expect(!link.isConnected)
        link.stop()
        worker.join()
    }

    @Test func faultsComeAtTheirCommand() throws {
        try running {
            link.faults.order(.status(.noPreciseDiagnosis), at: 1)
            link.faults.order(.truncate(to: 1), at: 2)
            link.faults.order(.reset, at: 5)
            link.insert()
            #expect(reader.waitForCard())
            let commands = [select, select, select, select, verify, status]
            let answers = commands.map { reader.transmit($0)?.suffix(2).map { $0 } }
            #expect(answers[0] == [0x90, 0x00])
            #expect(answers[1] == [0x6F, 0x00])
            #expect(answers[2]?.count == 1)
            #expect(answers[4] == [0x90, 0x00])
            #expect(answers[5] == [0x6D, 0x00])
        }
    }

    @Test func aDroppedAnswerLosesTheCardForAMoment() throws {
        try running {
            link.faults.order(.drop)
            link.insert()
            #expect(reader.waitForCard())
            #expect(reader.transmit(select) == nil)
            reader.drop()
            #expect(reader.waitForCard())
            #expect(reader.transmit(select) != nil)
        }
    }

    @Test func aCardTakenOutByAFaultStaysOut() throws {
        try running {
            link.faults.order(.remove)
            link.insert()
            #expect(reader.waitForCard())
            #expect(reader.transmit(select) == nil)
            #expect(!link.isInserted)
        }
    }

    @Test func anEmptyMessageEndsTheConnection() throws {
        try running {
            link.insert()
            #expect(reader.waitForCard())
            #expect(reader.transmit([]) == nil)
        }
    }
}
