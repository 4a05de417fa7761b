import Foundation
import TestSupport
import Testing
import TokenKit

/// The ways in which a card is out of reach, each with an error of its own.
@Suite struct PCSCFailureTests {
    @Test func noService() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService()
            defer { service.end() }
            #expect(throws: CardError(.serviceUnavailable, "")) { try PCSCReader.all() }
            #expect(throws: CardError(.serviceUnavailable, "")) { try PCSCReader(name: "R").connect(trace: nil) }
            // A file at the address on which no process listens is no service either.
            try Data().write(to: URL(filePath: service.folderPath + "/pcscd.comm"))
            #expect(throws: CardError(.serviceUnavailable, "")) { try PCSCReader.all() }
        }
    }

    @Test func accessDenied() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            // Root may enter any folder, so the test takes the rights of `nobody`.
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: service.folderPath)
            let user = geteuid()
            if user == 0 { #expect(seteuid(65_534) == 0) }
            #expect(throws: CardError(.accessDenied, "")) { try PCSCReader.all() }
            if user == 0 { #expect(seteuid(user) == 0) }
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: service.folderPath)
            #expect(throws: Never.self) { try PCSCReader.all() }
        }
    }

    @Test func noSuchReaderAndNoCard() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            #expect(throws: CardError(.noReader, "")) { try PCSCReader(name: "Another").connect(trace: nil) }
            let long = String(repeating: "R", count: 500)
            #expect(throws: CardError(.noReader, "")) { try PCSCReader(name: long).connect(trace: nil) }
            #expect(throws: CardError(.noCard, "")) { try service.reader().connect(trace: nil) }
        }
    }

    @Test func aMuteCard() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            // An answer to reset that is too long.
            let card = try service.insert(atr: [UInt8](repeating: 0x3B, count: 40))
            #expect(throws: CardError(.muteCard, "")) { try service.reader().connect(trace: nil) }
            card.remove()
        }
    }

    @Test func aCardThatAnotherProgramHoldsForItself() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let reader = try service.reader()
            let holder = try reader.connect(sharing: .exclusive, trace: nil)
            #expect(throws: CardError(.inUse, "")) { try reader.connect(trace: nil) }
            #expect(try holder.exchange("00A40400").answers == ["00A404009000"])
            holder.disconnect(resetting: false)
            let ours = try reader.connect(trace: nil)
            #expect(throws: CardError(.inUse, "")) { try reader.connect(sharing: .exclusive, trace: nil) }
            #expect(try ours.exchange("00A40400").answers == ["00A404009000"])
            card.remove()
        }
    }

    @Test func aTransactionThatAnotherProgramDoesNotEnd() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            // Long enough to connect on a busy machine, since that counts as waiting as well.
            let reader = try service.reader(patience: .seconds(3))
            let (theirs, ours) = (try reader.connect(trace: nil), try reader.connect(trace: nil))
            try theirs.withTransaction { (_) throws(TokenError) in
                #expect(throws: TokenError(.card(.inUse), "")) { try ours.exchange("00A40400") }
                #expect(throws: CardError(.inUse, "")) { try reader.connect(trace: nil) }
            }
            #expect(try ours.exchange("00A40400").answers == ["00A404009000"])
            #expect(try service.reader().connect(trace: nil).exchange("00A40400").answers == ["00A404009000"])
            card.remove()
        }
    }

    @Test func aCardThatNoLongerAnswersHoldsNobodyWithoutEnd() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            var reader = try service.reader()
            reader.answerLimit = .seconds(1)
            let connection = try reader.connect(trace: nil)
            #expect(try connection.exchange("00A40400").answers == ["00A404009000"])
            card.fallSilent()
            let error = #expect(throws: TokenError(.card(.communication), "")) { try connection.exchange("00A40400") }
            #expect(error?.reason.contains("has not answered for 1 seconds") == true)
            // Later calls do not wait for the one that has not returned.
            #expect(throws: TokenError(.card(.serviceUnavailable), "")) { try connection.exchange("00A40400") }
            connection.disconnect(resetting: true)
            card.remove()
        }
    }

    /// A service that is stopped accepts connections and answers nothing.
    @Test func aServiceThatNoLongerAnswersHoldsNobodyWithoutEnd() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService()
            let listener = try CallLimitTests.listener(at: service.folderPath + "/pcscd.comm")
            defer { close(listener) }
            let error = #expect(throws: CardError(.serviceUnavailable, "")) { try PCSCReader.all() }
            #expect(error?.reason.contains("has not answered for 30 seconds") == true)
        }
    }

    /// The question whether the reader is empty is part of the wait that can be cancelled.
    @Test func aConnectionToAServiceThatDoesNotAnswerCanBeCancelled() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService()
            let listener = try CallLimitTests.listener(at: service.folderPath + "/pcscd.comm")
            defer { close(listener) }
            let cancellation = CardWait.Cancellation()
            cancellation.cancel()
            let beginning = ContinuousClock.now
            #expect(throws: CardError(.cancelled, "")) {
                try PCSCReader(name: "Reader").connect(trace: nil, CardWait(unless: cancellation))
            }
            #expect(ContinuousClock.now - beginning < .seconds(30), "the time that a service gets for an answer")
        }
    }

    /// The service accepts no connection while it waits for the card, although no program is connected.
    @Test func aCardThatFellSilentBeforeIsNotSaidToBeHeldByAnotherProgram() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            card.fallSilent()
            var reader = try service.reader(patience: .seconds(3))
            reader.answerLimit = .seconds(1)
            var code: TokenError.Code?
            do {
                _ = try reader.connect(trace: nil).exchange("00A40400")
            } catch let error as CardError {
                code = .card(error.code)
            } catch let error as TokenError {
                code = error.code
            }
            #expect(code == .card(.muteCard) || code == .card(.communication), "\(String(describing: code))")
            card.remove()
        }
    }

    @Test func removalDuringATransactionAndBetweenTwo() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let reader = try service.reader()
            // The card is taken out at the third command.
            _ = try service.insert { $0[3] == 2 ? nil : $0 + [0x90, 0x00] }
            let during = try reader.connect(trace: nil)
            #expect(throws: TokenError(.card(.removed), "")) {
                try during.exchange("00010000", "00010001", "00010002", "00010003")
            }
            #expect(throws: (any Error).self) { try during.exchange("00010000") }

            let second = try service.insert()
            let between = try reader.connect(trace: nil)
            #expect(try between.exchange("00A40400").answers == ["00A404009000"])
            try service.remove(second)
            #expect(throws: TokenError(.card(.removed), "")) { try between.exchange("00A40400") }
            // A card that is inserted later does not restore the connection to the one before.
            _ = try service.insert()
            #expect(throws: (any Error).self) { try between.exchange("00A40400") }
            #expect(try reader.connect(trace: nil).exchange("00A40400").answers == ["00A404009000"])
        }
    }

    @Test func removalAfterTheLastCommandLosesNoResult() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let connection = try service.reader().connect(trace: nil)
            let watch = Watch()
            try watch.wait { if case .cardInserted = $0 { true } else { false } }
            let answer = try connection.withTransaction { (transaction) throws(TokenError) in
                let answer = try transaction.exchange(CommandAPDU(ins: 0xA4, p1: 4, p2: 0))
                card.remove()
                _ = try? watch.wait { if case .cardRemoved = $0 { true } else { false } }
                return answer
            }
            #expect(answer.status == .success)
            #expect(throws: TokenError(.card(.removed), "")) { try connection.exchange("00A40400") }
        }
    }

    @Test func aServiceThatEndsAndComesBack() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            _ = try service.insert()
            let before = try service.reader().connect(trace: nil)
            #expect(try before.exchange("00A40400").answers == ["00A404009000"])
            let reader = try service.reader()
            try service.stop()
            #expect(throws: TokenError(.card(.serviceUnavailable), "")) { try before.exchange("00A40400") }
            #expect(throws: CardError(.serviceUnavailable, "")) { try reader.connect(trace: nil) }
            try service.start()
            _ = try service.insert()
            #expect(try reader.connect(trace: nil).exchange("00A40400").answers == ["00A404009000"])
            #expect(throws: TokenError(.card(.serviceUnavailable), "")) { try before.exchange("00A40400") }
        }
    }

    @Test func aServiceThatEndsDuringATransaction() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            _ = try service.insert()
            let connection = try service.reader().connect(trace: nil)
            #expect(throws: TokenError(.card(.serviceUnavailable), "")) {
                try connection.withTransaction { (transaction) throws(TokenError) in
                    _ = try transaction.exchange(CommandAPDU(ins: 0xA4, p1: 4, p2: 0))
                    try? service.stop()
                    _ = try transaction.exchange(CommandAPDU(ins: 0xA4, p1: 4, p2: 0))
                }
            }
        }
    }

    @Test func aChildOfThisProcessLeavesOurConnectionAlone() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let connection = try service.reader().connect(trace: nil)
            _ = try connection.exchange("00A40400")
            // Swift does not offer fork, but programs that load a PKCS#11 module use it.
            typealias Fork = @convention(c) () -> pid_t
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
            let child = fork()
            if child == 0 {
                let isRefused = (try? connection.exchange("00A40401")) == nil
                connection.disconnect(resetting: true)
                _exit(isRefused ? 0 : 1)
            }
            var status: Int32 = -1
            #expect(waitpid(child, &status, 0) == child && status == 0)
            #expect(try connection.exchange("00A40402").answers == ["00A404029000"])
            #expect(card.commands.map { $0[3] } == [0x00, 0x02])
            #expect(!card.messages.contains(.reset))
        }
    }
}
