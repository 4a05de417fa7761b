import Foundation
import TestSupport
import Testing
import TokenKit

extension CardConnection {
    /// Sends one command, and holds the card only as far as that needs.
    fileprivate func sendBriefly() throws(TokenError) -> StatusWord {
        try withTransaction(.fromTheSecondCommand) { (transaction) throws(TokenError) in
            try transaction.exchange(CommandAPDU(ins: 0xB0, p1: 0, p2: 0)).status
        }
    }
}

/// The first command needs no transaction of the service; the commands after it do.
@Suite struct CardHoldTests {
    private static let select = CommandAPDU(ins: 0xA4, p1: 4, p2: 0)

    /// Runs `body` on that many threads, and returns the time until all of them have ended.
    private static func timeOfThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Duration {
        let group = DispatchGroup()
        return ContinuousClock().measure {
            for number in 0..<count {
                group.enter()
                Thread {
                    body(number)
                    group.leave()
                }.start()
            }
            group.wait()
        }
    }

    @Test func othersReachTheCardAfterTheFirstCommandAndNotAfterTheSecond() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let reader = try service.reader(patience: .seconds(1))
            let (ours, theirs) = (try reader.connect(trace: nil), try reader.connect(trace: nil))
            try ours.withTransaction(.fromTheSecondCommand) { (transaction) throws(TokenError) in
                _ = try transaction.exchange(Self.select)
                #expect(throws: Never.self) { try theirs.exchange("00010000") }
                _ = try transaction.exchange(Self.select)
                #expect(throws: TokenError(.card(.inUse), "")) { try theirs.exchange("00010001") }
            }
            // The transaction has ended.
            #expect(throws: Never.self) { try theirs.exchange("00010002") }
            #expect(card.commands.map { $0[1] } == [0xA4, 0x01, 0xA4, 0x01])
        }
    }

    @Test func anothersTransactionIsWaitedFor() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let (ours, theirs) = (
                try service.reader().connect(trace: nil), try service.reader().connect(trace: nil)
            )
            let (isHeld, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Thread {
                _ = try? theirs.withTransaction { (transaction) throws(TokenError) in
                    isHeld.signal()
                    usleep(300_000)
                    _ = try transaction.exchange(CommandAPDU(ins: 0x01, p1: 0, p2: 0))
                }
                isOver.signal()
            }.start()
            isHeld.wait()
            #expect(try ours.sendBriefly() == .success)
            isOver.wait()
            #expect(card.commands.map { $0[1] } == [0x01, 0xB0])
        }
    }

    @Test func anothersTransactionThatDoesNotEndIsSaid() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let reader = try service.reader(patience: .seconds(1))
            let (ours, theirs) = (try reader.connect(trace: nil), try reader.connect(trace: nil))
            try theirs.withTransaction { (_) throws(TokenError) -> Void in
                #expect(throws: TokenError(.card(.inUse), "")) { try ours.sendBriefly() }
            }
            #expect(card.commands.isEmpty)
        }
    }

    @Test func thoseThatWaitForTheSameWaitTogetherAndNotInTurn() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            _ = try service.insert()
            let theirs = try service.reader().connect(trace: nil)
            // One slot is connected already, the other is not.
            let known = TokenSlot(reader: try service.reader(patience: .seconds(4)), drivers: [])
            let unknown = TokenSlot(reader: try service.reader(patience: .seconds(4)), drivers: [])
            #expect(throws: TokenError(.unrecognized, "")) { try known.read { (_, _, _) in } }
            let waited = try theirs.withTransaction { (_) throws(TokenError) in
                Self.timeOfThreads(8) { number in
                    #expect(throws: TokenError(.card(.inUse), "")) {
                        try (number.isMultiple(of: 2) ? known : unknown).read { (_, _, _) in }
                    }
                }
            }
            #expect(waited >= .seconds(4))
            #expect(waited < .seconds(12), "one after the other it would take sixteen")
        }
    }

    @Test func aWaitThatNobodyWantsAnyMoreEnds() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            _ = try service.insert()
            let theirs = try service.reader().connect(trace: nil)
            let known = TokenSlot(reader: try service.reader(), drivers: [])
            let unknown = TokenSlot(reader: try service.reader(), drivers: [])
            #expect(throws: TokenError(.unrecognized, "")) { try known.read { (_, _, _) in } }
            let waited = try theirs.withTransaction { (_) throws(TokenError) in
                Self.timeOfThreads(3) { number in
                    guard number < 2 else {
                        usleep(300_000)
                        known.endWaits()
                        return unknown.endWaits()
                    }
                    #expect(throws: TokenError(.card(.cancelled), "")) {
                        try [known, unknown][number].read { (_, _, _) in }
                    }
                }
            }
            #expect(waited < .seconds(30), "it would take a minute")
        }
    }

    @Test func aResetIsToldOfAndTheCommandNotSent() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let reader = try service.reader()
            let ours = try reader.connect(trace: nil)
            #expect(try ours.exchange("00A40400").epoch == 0)
            let theirs = try reader.connect(trace: nil)
            theirs.disconnect(resetting: true)
            #expect(throws: TokenError(.card(.reset), "")) { try ours.sendBriefly() }
            #expect(card.commands.map { $0[1] } == [0xA4])
            #expect(try ours.exchange("00A40400").epoch == 1)
        }
    }

    @Test func aResetBetweenTheTwoCommandsIsToldOf() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            _ = try service.insert()
            let reader = try service.reader()
            let (ours, theirs) = (try reader.connect(trace: nil), try reader.connect(trace: nil))
            #expect(throws: TokenError(.card(.reset), "")) {
                try ours.withTransaction(.fromTheSecondCommand) { (transaction) throws(TokenError) -> Void in
                    _ = try transaction.exchange(Self.select)
                    theirs.disconnect(resetting: true)
                    _ = try transaction.exchange(Self.select)
                }
            }
            // No lock is left behind.
            #expect(try reader.connect(trace: nil).exchange("00A40400").answers == ["00A404009000"])
        }
    }

    @Test func aCardThatWasTakenOutIsToldOf() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let ours = try service.reader().connect(trace: nil)
            try service.remove(card)
            #expect(throws: TokenError(.card(.removed), "")) { try ours.sendBriefly() }
        }
    }
}
