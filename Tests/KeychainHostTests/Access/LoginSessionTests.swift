import Foundation
import TestSupport
import Testing

@testable import KeychainHost

/// A bus on which logind answers as the test says.
private final class TestBus: Sendable {
    let path: String
    private let folder: TemporaryFolder
    private let listener: Int32

    /// - Parameter answers: the bytes that the bus writes after the client's question. `greeting` precedes them.
    init(greeting: String = "OK 1234deadbeef\r\n", answers: [[UInt8]]) throws {
        folder = try TemporaryFolder()
        path = folder.path("bus")
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(listener, 1) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread { [listener] in
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            defer { close(client) }
            guard Self.receive(until: "\r\n", from: client).hasPrefix("\0AUTH EXTERNAL ") else { return }
            Self.put(Array(greeting.utf8), to: client)
            guard Self.receive(until: "LockedHint\0", from: client).contains("BEGIN\r\n") else { return }
            for answer in answers { Self.put(answer, to: client) }
        }.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func put(_ bytes: [UInt8], to client: Int32) {
        _ = send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private static func receive(until end: String, from client: Int32) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while !bytes.suffix(end.utf8.count).elementsEqual(end.utf8), recv(client, &byte, 1, 0) == 1 {
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

@Suite struct LoginSessionTests {
    /// An answer as dbus-daemon writes it: destination, reply serial, signature and sender, then the body.
    private static func answer(to serial: UInt8, type: UInt8 = 2, body: [UInt8]) -> [UInt8] {
        let fields: [UInt8] =
            [6, 1, 0x73, 0, 4, 0, 0, 0] + Array(":1.7".utf8) + [0, 0, 0, 0] + [5, 1, 0x75, 0, serial, 0, 0, 0]
            + [8, 1, 0x67, 0, 1, 0x76, 0, 0] + [7, 1, 0x73, 0, 4, 0, 0, 0] + Array(":1.1".utf8) + [0]
        let padding = [UInt8](repeating: 0, count: (8 - fields.count % 8) % 8)
        return [0x6C, type, 1, 1, UInt8(body.count), 0, 0, 0, 9, 0, 0, 0, UInt8(fields.count), 0, 0, 0] + fields
            + padding + body
    }

    private static func flag(_ isSet: UInt8) -> [UInt8] { [1, 0x62, 0, 0, isSet, 0, 0, 0] }

    private static let name = answer(to: 1, body: [4, 0, 0, 0] + Array(":1.7".utf8) + [0])
    private static let signal = answer(to: 2, type: 4, body: flag(1))

    @Test(arguments: [(UInt8(0), false), (1, true)])
    func theAnswerOfLogindCounts(value: UInt8, isLocked: Bool) throws {
        let bus = try TestBus(answers: [Self.name, Self.signal, Self.answer(to: 2, body: Self.flag(value))])
        #expect(LoginSession.isLocked(bus: bus.path, patience: 60) == isLocked)
    }

    @Test func anAnswerInPiecesIsPutTogether() throws {
        let all = Self.name + Self.answer(to: 2, body: Self.flag(1))
        let bus = try TestBus(answers: all.map { [$0] })
        #expect(LoginSession.isLocked(bus: bus.path, patience: 60) == true)
    }

    @Test func whereNobodyAnswersNobodyKnows() throws {
        let folder = try TemporaryFolder()
        #expect(LoginSession.isLocked(bus: folder.path("none")) == nil)
        #expect(LoginSession.isLocked(bus: folder.path(String(repeating: "x", count: 200))) == nil)
        #expect(LoginSession.isLocked(bus: try TestBus(greeting: "REJECTED EXTERNAL\r\n", answers: []).path) == nil)
        #expect(
            LoginSession.isLocked(bus: try TestBus(greeting: String(repeating: "x", count: 999), answers: []).path)
                == nil)
    }

    @Test(arguments: [
        answer(to: 2, type: 3, body: [1, 0, 0, 0, 0x78, 0]), answer(to: 2, body: flag(2)), answer(to: 2, body: []),
        answer(to: 2, body: [1, 0x73, 0, 0, 1, 0, 0, 0]), [0x42, 2, 0, 1] + [UInt8](repeating: 0, count: 12),
        [0x6C, 2, 0, 1, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0],
        [0x6C, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255], [],
    ])
    func anAnswerThatIsNoneIsNotBelieved(bytes: [UInt8]) throws {
        let bus = try TestBus(answers: [Self.name, bytes])
        #expect(LoginSession.isLocked(bus: bus.path) == nil)
    }

    @Test func anyBytesAreReadToTheirEnd() {
        var generator = SystemRandomNumberGenerator()
        let good = Self.answer(to: 2, body: Self.flag(1))
        for _ in 0..<5000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1..<6, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            guard let length = BusMessage.length(header: bytes) else { continue }
            #expect(length <= BusMessage.maximumLength)
            let padding = [UInt8](repeating: 0, count: max(0, length - bytes.count))
            _ = BusMessage.answer(in: Array((bytes + padding).prefix(length)))
        }
        #expect(BusMessage.answer(in: good)?.flag == true)
        for count in 0..<good.count { _ = BusMessage.answer(in: Array(good.prefix(count))) }
    }

    @Test func aCallIsLaidOutAsTheSpecificationSays() {
        let call = BusMessage.call("M", of: "i.f", at: "/p", to: "d.e", arguments: ["a"], serial: 7)
        #expect(Array(call.prefix(12)) == [0x6C, 1, 0, 1, 6, 0, 0, 0, 7, 0, 0, 0])
        #expect(call.count == BusMessage.length(header: call))
        #expect(Array(call.suffix(6)) == [1, 0, 0, 0, 0x61, 0])
        #expect(BusMessage.answer(in: call)?.serial == nil)
    }
}
