import Synchronization
import TestSupport
import Testing
import TokenKit
import VirtualCard

private let select = CommandAPDU(
    ins: 0xA4, p1: 0x04, p2: 0x00, data: CardConversation.identifier, expectedLength: CommandAPDU.anyLength)
private let verify = CommandAPDU(ins: 0x20, p1: 0x00, p2: 0x80, data: CardConversation.padded("123456"))
private let status = CommandAPDU(ins: 0x20, p1: 0x00, p2: 0x80)
private let discovery = CommandAPDU(
    ins: 0xCB, p1: 0x3F, p2: 0xFF, data: [0x5C, 0x01, 0x7E], expectedLength: CommandAPDU.anyLength)

private func reader(_ profile: CardProfile = .generic) throws -> VirtualReader {
    VirtualReader(card: try VirtualCard(profile: profile, clock: SimulatedClock()))
}

extension CardConnection {
    /// The status words of the commands, sent in one transaction, and its epoch.
    @discardableResult
    fileprivate func run(_ commands: [CommandAPDU]) throws(TokenError) -> (statuses: [StatusWord], epoch: Int) {
        try withTransaction { (card) throws(TokenError) in
            var statuses: [StatusWord] = []
            for command in commands { statuses.append(try card.exchange(command).status) }
            return (statuses, card.epoch)
        }
    }
}

@Suite struct VirtualReaderTests {
    @Test func aTransactionReachesTheCard() throws {
        let connection = try reader().connect(trace: nil)
        #expect(connection.atr.bytes == CardProfile.generic.atr)
        #expect(try connection.run([select, verify, status]).statuses == [.success, .success, .success])
    }

    @Test func anEmptyReaderHasNoCard() {
        #expect(throws: CardError(.noCard, "")) { try VirtualReader().connect(trace: nil) }
    }

    @Test func aCardHeldExclusivelyIsInUse() throws {
        let reader = try reader()
        reader.isHeldExclusively = true
        #expect(throws: CardError(.inUse, "")) { try reader.connect(trace: nil) }
        reader.isHeldExclusively = false
        #expect(throws: Never.self) { try reader.connect(trace: nil) }
    }

    @Test func theStateOfTheCardOutlivesAConnection() throws {
        let reader = try reader()
        let first = try reader.connect(trace: nil)
        try first.run([select, verify])
        first.disconnect(resetting: false)
        #expect(try reader.connect(trace: nil).run([status]).statuses == [.success])
    }

    @Test func disconnectingMayResetTheCard() throws {
        let reader = try reader()
        let (first, second) = (try reader.connect(trace: nil), try reader.connect(trace: nil))
        try first.run([select, verify])
        first.disconnect(resetting: true)
        let answer = try second.run([select, status])
        #expect(answer.statuses == [.success, 0x63C3])
        #expect(answer.epoch == 1)
    }

    @Test func aDisconnectedConnectionIsOfNoUse() throws {
        let connection = try reader().connect(trace: nil)
        connection.disconnect(resetting: false)
        connection.disconnect(resetting: true)
        #expect(throws: TokenError(.card(.communication), "")) { try connection.run([select]) }
    }

    @Test func anUnusedCardLosesItsPowerWhereTheReaderSaysSo() throws {
        let reader = try reader()
        reader.powersDownWhenUnused = true
        let (first, second) = (try reader.connect(trace: nil), try reader.connect(trace: nil))
        try first.run([select, verify])
        first.disconnect(resetting: false)
        #expect(try second.run([status]).statuses == [.success])
        second.disconnect(resetting: false)
        #expect(try reader.connect(trace: nil).run([select, status]).statuses == [.success, 0x63C3])
    }

    @Test func commandsAreLoggedWithoutTheirData() throws {
        let reader = try reader()
        try reader.connect(trace: nil).run([select, verify, discovery])
        let lines = reader.log.map(\.description)
        #expect(lines == ["00A40400 [11] → 9000", "00200080 [8] → 9000", "00CB3FFF [3] 7E → 9000"])
        reader.clearLog()
        #expect(reader.log.isEmpty)
    }
}

@Suite struct RemovalTests {
    @Test func aRemovedCardIsLostToItsConnections() throws {
        let reader = try reader()
        let connection = try reader.connect(trace: nil)
        reader.remove()
        #expect(throws: TokenError(.card(.removed), "")) { try connection.run([select]) }
        reader.insert(try VirtualCard(clock: SimulatedClock()))
        #expect(throws: TokenError(.card(.removed), "")) { try connection.run([select]) }
        #expect(try reader.connect(trace: nil).run([select]).statuses == [.success])
    }

    @Test func removalShowsInTheMiddleOfATransaction() throws {
        let reader = try reader()
        let connection = try reader.connect(trace: nil)
        #expect(throws: TokenError(.card(.removed), "")) {
            try connection.withTransaction { (card) throws(TokenError) in
                _ = try card.exchange(select)
                reader.remove()
                _ = try card.exchange(verify)
            }
        }
    }

    @Test func removalForgetsThePIN() throws {
        let card = try VirtualCard(clock: SimulatedClock())
        let reader = VirtualReader(card: card)
        try reader.connect(trace: nil).run([select, verify])
        reader.remove()
        reader.insert(card)
        #expect(try reader.connect(trace: nil).run([select, status]).statuses == [.success, 0x63C3])
    }
}

@Suite struct ResetByAnotherClientTests {
    @Test func betweenTransactionsItIsANewEpoch() throws {
        let reader = try reader()
        let connection = try reader.connect(trace: nil)
        #expect(try connection.run([select, verify]).epoch == 0)
        reader.resetByAnotherClient()
        let answer = try connection.run([select, status])
        #expect(answer.epoch == 1)
        #expect(answer.statuses == [.success, 0x63C3])
        #expect(try connection.run([status]).epoch == 1)
    }

    @Test func withinATransactionItIsAnErrorUntilTheNext() throws {
        let reader = try reader()
        let connection = try reader.connect(trace: nil)
        for _ in 0..<2 {
            #expect(throws: TokenError(.card(.reset), "")) {
                try connection.withTransaction { (card) throws(TokenError) in
                    _ = try card.exchange(select)
                    reader.resetByAnotherClient()
                    _ = try? card.exchange(verify)
                    _ = try card.exchange(verify)
                }
            }
        }
        #expect(try connection.run([select]).epoch == 2)
    }
}

/// Counts the tasks that are in it at the same time.
private final class Room: Sendable {
    private let state = Mutex((inside: 0, most: 0))

    func enter() {
        state.withLock { state in
            state.inside += 1
            state.most = max(state.most, state.inside)
        }
    }

    func leave() { state.withLock { $0.inside -= 1 } }

    var mostInside: Int { state.withLock { $0.most } }
}

@Suite struct ExclusionTests {
    @Test func oneTransactionAtATime() async throws {
        let reader = try reader()
        let room = Room()
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    guard let connection = try? reader.connect(trace: nil) else { return }
                    for _ in 0..<50 {
                        try? connection.withTransaction { (card) throws(TokenError) in
                            room.enter()
                            _ = try card.exchange(select)
                            room.leave()
                        }
                    }
                }
            }
        }
        #expect(room.mostInside == 1)
        #expect(reader.log.count == 200)
    }
}
