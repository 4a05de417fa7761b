import Foundation
import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import VirtualCard

/// Sends an order and returns the card's report by name.
private func send(_ order: ControlOrder, to path: String) throws -> [String: String] {
    Dictionary(uniqueKeysWithValues: try VirtualCardControl.send(order, to: path).map { ($0.name, $0.value) })
}

@Suite struct VirtualCardServerTests {
    private let path = NSTemporaryDirectory() + "card-\(UUID().uuidString.prefix(8)).sock"
    private let reader: VPCDReader

    init() throws {
        reader = try VPCDReader()
    }

    /// Runs a server until the body has stopped it or has ended.
    private func serving(
        _ profile: CardProfile = .generic, inserted: Bool = true, patience: Duration = .seconds(1),
        _ body: (VirtualCardServer) throws -> Void
    ) throws {
        let card = try VirtualCard(profile: profile)
        let server = try VirtualCardServer(card: card, controlPath: path, port: reader.port, patience: patience)
        let worker = try Worker { try? server.run(inserted: inserted) }
        defer {
            server.stop()
            worker.join()
        }
        try body(server)
    }

    @Test func theSocketIsItsOwnersAlone() throws {
        try serving { _ in
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func aCardIsInsertedAndRemovedByOrder() throws {
        try serving(inserted: false) { _ in
            #expect(try send(.status, to: path)["inserted"] == "no")
            _ = try send(.insert, to: path)
            #expect(reader.waitForCard())
            #expect(reader.answerToReset() == CardProfile.generic.atr)
            let report = try send(.status, to: path)
            #expect(report["inserted"] == "yes")
            #expect(report["profile"] == "generic")
            _ = try send(.remove, to: path)
            #expect(reader.answerToReset() == nil)
            #expect(try send(.status, to: path)["inserted"] == "no")
        }
    }

    @Test func faultsAreOrderedAndCalledOff() throws {
        try serving { _ in
            #expect(reader.waitForCard())
            _ = try send(.fault(.status(.memoryFailure), at: 0), to: path)
            _ = try send(.fault(.drop, at: 7), to: path)
            #expect(try send(.status, to: path)["faults"] == "2")
            #expect(reader.transmit([0x00, 0x20, 0x00, 0x80]) == [0x65, 0x81])
            _ = try send(.clearFaults, to: path)
            let report = try send(.status, to: path)
            #expect(report["faults"] == "0" && report["commands"] == "1")
        }
    }

    @Test func aTouchReachesACommandThatWaitsForIt() throws {
        try serving(.yubiKey57) { server in
            let conversation = CardConversation(server.card)
            try conversation.select()
            try conversation.authenticate()
            _ = try conversation.generate(.p256, at: 0x9E, policies: [0xAB, 0x01, 0x02])
            #expect(reader.waitForCard())
            let path = path
            let toucher = try Worker {
                while (try? send(.status, to: path)["touch"]) == "no" { usleep(1000) }
                _ = try? send(.touch, to: path)
            }
            #expect(reader.transmit([UInt8](hex: "00A4040005A000000308")) != nil)
            let template = TLV(0x7C, [TLV(0x82, [UInt8]()), TLV(0x81, [UInt8](repeating: 1, count: 32))]).encoded()
            let answer = reader.transmit([0x00, 0x87, 0x11, 0x9E, UInt8(template.count)] + template + [0x00])
            #expect(answer?.suffix(2) == [0x90, 0x00])
            toucher.join()
        }
    }

    @Test func stopEndsTheServer() throws {
        try serving { _ in
            _ = try send(.stop, to: path)
        }
        #expect(throws: VirtualCardError(.unreachable, "")) { try VirtualCardControl.send(.status, to: path) }
    }

    @Test func oneServerAtAPathAtATime() throws {
        try serving { _ in
            #expect(throws: VirtualCardError(.refused, "")) {
                try VirtualCardServer(card: VirtualCard(), controlPath: path, port: reader.port)
            }
        }
    }

    @Test func aSocketThatADeadProcessLeftIsTakenOver() throws {
        let abandoned = try Socket.listen(path: path)
        abandoned.shutDown()
        withExtendedLifetime(abandoned) {}
        try serving { _ in
            let report = try send(.status, to: path)
            #expect(report["profile"] == "generic")
        }
    }

    @Test func aFileOfAnotherKindStays() throws {
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: VirtualCardError(.unwritable, "")) {
            try VirtualCardServer(card: VirtualCard(), controlPath: path, port: reader.port)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([1, 2, 3]))
    }

    @Test(arguments: ["", "explode", "fault drop", "insert now"])
    func whatIsNoOrderIsRefused(line: String) throws {
        try serving { _ in
            let connected = try Socket.connect(path: path)
            let socket = try #require(connected)
            #expect(socket.send(Array((line + "\n").utf8)))
            #expect(VirtualCardControl.receiveLine(from: socket) == "error not an order")
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["", "stat"])
    func aClientThatDoesNotEndItsLineKeepsNobodyWaitingForLong(beginning: String) throws {
        try serving { _ in
            let connected = try Socket.connect(path: path)
            let slow = try #require(connected)
            #expect(slow.send(Array(beginning.utf8)))
            #expect(try send(.status, to: path)["profile"] == "generic")
            // The server has closed the slow client's connection.
            #expect(slow.receive(upTo: 1).isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func itStopsWhileAClientHasNotEndedItsLine() throws {
        var slow: Socket?
        try serving(patience: .seconds(3600)) { _ in
            slow = try Socket.connect(path: path)
            #expect(slow?.send(Array("stat".utf8)) == true)
        }
        #expect(slow?.receive(upTo: 1) == [])
    }

    @Test func tooLongAPathIsAnError() throws {
        let path = NSTemporaryDirectory() + String(repeating: "x", count: 120)
        #expect(throws: VirtualCardError(.unreachable, "")) { try VirtualCardControl.send(.status, to: path) }
    }
}

@Suite struct ControlOrderTests {
    @Test(arguments: [
        ControlOrder.insert, .remove, .touch, .status, .stop, .clearFaults, .fault(.drop, at: 0),
        .fault(.delay(.milliseconds(5000)), at: 3), .fault(.reset, at: 1), .fault(.remove, at: 12),
        .fault(.status(0x6F42), at: 2), .fault(.truncate(to: 1), at: 0), .fault(.oversize(to: 70_000), at: 9),
    ])
    func everyOrderIsReadBack(order: ControlOrder) {
        #expect(ControlOrder(parsing: order.line) == order)
    }

    @Test(arguments: [
        "", "fault", "fault drop", "fault drop at", "fault drop at x", "fault drop at -1", "fault delay at 1",
        "fault status 9 at 1", "fault status 90000 at 1", "fault truncate -1 at 0", "fault oversize 1000001 at 0",
        "fault melt 3 at 0", "status now",
        "fault clear all",
    ])
    func anythingElseIsNoOrder(line: String) {
        #expect(ControlOrder(parsing: line) == nil)
    }
}
