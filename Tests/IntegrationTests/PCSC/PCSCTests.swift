import Foundation
import Synchronization
import TestSupport
import Testing
import TokenKit

/// Readers, cards and transactions, against a pcscd.
@Suite struct PCSCTests {
    @Test func readersAreListed() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let reader = try service.reader()
            #expect(try PCSCReader.all().map(\.name).contains(reader.name))
        }
    }

    @Test func aCardAnswersWhatItIsSent() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let connection = try service.reader().connect(trace: nil)
            #expect(connection.atr == ATR(ScriptedCard.atr))
            let (answers, epoch) = try connection.exchange("00CB3FFF", "0020008003010203")
            #expect(answers == ["00CB3FFF9000", "00200080030102039000"])
            #expect(try connection.exchange("00A40400").epoch == epoch)
            #expect(card.commands.count == 3)
            connection.disconnect(resetting: false)
            #expect(throws: TokenError(.card(.serviceUnavailable), "")) { try connection.exchange("00A40400") }
        }
    }

    @Test func theLongestCommandAndAnswerPassWhole() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            // The reader's own limit is a length of two bytes, which counts the status word.
            let card = try service.insert { _ in [UInt8](repeating: 0xA5, count: 65_533) + [0x90, 0x00] }
            let connection = try service.reader().connect(trace: nil)
            let data = (0..<65_526).map { UInt8(truncatingIfNeeded: $0 % 251) }
            let command = CommandAPDU(
                ins: 0xCB, p1: 0x3F, p2: 0xFF, data: data, expectedLength: CommandAPDU.anyLength)
            let response = try connection.withTransaction { (card) throws(TokenError) in try card.exchange(command) }
            #expect(response.data == [UInt8](repeating: 0xA5, count: 65_533))
            #expect(card.commands == [try command.encoded(.extended)])
        }
    }

    @Test func theTraceSeesWhatPasses() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let trace = RecordingTrace()
            let connection = try service.reader().connect(trace: trace)
            _ = try connection.exchange("00A40400")
            #expect(trace.lines == ["> 00A40400", "< 00A404009000"])
            card.remove()
        }
    }

    @Test func twoProgramsTakeTurnsByTransaction() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let reader = try service.reader()
            await withThrowingTaskGroup(of: Void.self) { group in
                for program in ["01", "02", "03"] {
                    group.addTask {
                        let connection = try reader.connect(trace: nil)
                        for _ in 0..<10 {
                            let answers = try connection.exchange("00\(program)0000", "00\(program)0001").answers
                            #expect(answers == ["00\(program)00009000", "00\(program)00019000"])
                        }
                    }
                }
            }
            let commands = card.commands
            #expect(commands.count == 60)
            for index in stride(from: 0, to: commands.count - 1, by: 2) {
                #expect(commands[index][1] == commands[index + 1][1], "one program's commands stay together")
                #expect([commands[index][3], commands[index + 1][3]] == [0, 1])
            }
        }
    }

    @Test func oneConnectionServesThreadsOneAfterAnother() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let connection = try service.reader().connect(trace: nil)
            await withThrowingTaskGroup(of: Void.self) { group in
                for thread in ["01", "02", "03", "04"] {
                    group.addTask {
                        for _ in 0..<10 { _ = try connection.exchange("00\(thread)0000", "00\(thread)0001") }
                    }
                }
            }
            let commands = card.commands
            #expect(commands.count == 80)
            for index in stride(from: 0, to: commands.count - 1, by: 2) {
                #expect(commands[index][1] == commands[index + 1][1])
            }
        }
    }

    @Test func aResetByAnotherProgramBeginsANewEpoch() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let ours = try service.reader().connect(trace: nil)
            let first = try ours.exchange("00A40400").epoch
            for round in 1...3 {
                try service.reader().connect(trace: nil).disconnect(resetting: true)
                let (answers, epoch) = try ours.exchange("00A40400")
                #expect(answers == ["00A404009000"])
                #expect(epoch == first + round)
            }
            #expect(try ours.exchange("00A40400").epoch == first + 3)
            #expect(card.messages.count { $0 == .reset } == 3)
        }
    }

    @Test func aResetWaitsForTheEndOfOurTransaction() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let reader = try service.reader()
            let (ours, theirs) = (try reader.connect(trace: nil), try reader.connect(trace: nil))
            let isReset = DispatchSemaphore(value: 0)
            let epoch = try ours.withTransaction { (transaction) throws(TokenError) in
                Thread {
                    theirs.disconnect(resetting: true)
                    isReset.signal()
                }.start()
                for _ in 0..<20 { _ = try transaction.exchange(CommandAPDU(ins: 0xA4, p1: 4, p2: 0)) }
                return transaction.epoch
            }
            isReset.wait()
            #expect(card.messages.suffix(1) == [.reset])
            #expect(try ours.exchange("00A40400").epoch == epoch + 1)
        }
    }

    @Test func disconnectingLeavesTheCardAsItIsUnlessToldOtherwise() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let reader = try service.reader()
            let other = try reader.connect(trace: nil)
            let first = try other.exchange("00A40400").epoch
            try reader.connect(trace: nil).disconnect(resetting: false)
            _ = try reader.connect(trace: nil)  // released without `disconnect`
            #expect(try other.exchange("00A40400").epoch == first)
            #expect(!card.messages.contains(.reset))
        }
    }

    @Test func aFailureInsideATransactionEndsIt() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let reader = try service.reader()
            let (ours, theirs) = (try reader.connect(trace: nil), try reader.connect(trace: nil))
            #expect(throws: TokenError(.notFound, "")) {
                try ours.withTransaction { (_) throws(TokenError) in throw TokenError(.notFound, "as the test wants it")
                }
            }
            #expect(try theirs.exchange("00A40400").answers == ["00A404009000"])
            card.remove()
        }
    }
}
