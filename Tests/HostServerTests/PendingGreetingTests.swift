import Glibc
import Testing
import Wire
import WireTransport

@testable import HostServer

/// Connections whose client has not sent all of its hello.
@Suite struct PendingGreetingTests {
    private let theirs: Int32
    private let socket: FrameSocket
    private let peer: Peer
    private static let hello = Hello(firstHandle: 0, wantsNotes: false, libraryPath: [1, 2, 3], environment: [[0x41]])

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        (theirs, socket) = (ends[0], FrameSocket(ends[1]))
        peer = try #require(Peer(of: ends[1]))
    }

    private static func message(_ kind: FrameHeader.Kind = .hello) -> [UInt8] {
        let fields = hello.encoded()
        return FrameHeader(kind, number: 0, fieldCount: fields.count, secretCount: 0).encoded() + fields
    }

    private func send(_ bytes: some Collection<UInt8>) { _ = Glibc.send(theirs, Array(bytes), bytes.count, 0) }

    @Test func aHelloIsReadInAnyPartsAndNothingBehindIt() throws {
        var greeting = PendingGreeting(socket, peer)
        for byte in Self.message().dropLast() {
            send([byte])
            guard case .incomplete = greeting.read() else {
                Issue.record("it ended early")
                return
            }
        }
        send(Self.message().suffix(1) + [9])
        guard case .complete(.hello(.module(Self.hello))) = greeting.read() else {
            Issue.record("it is no hello")
            return
        }
        var rest: [UInt8] = []
        #expect(socket.receive(upTo: 10, appendingTo: &rest) == 1)
        #expect(rest == [9])
        close(theirs)
    }

    private static let others: [[UInt8]] = [
        message(.request), [UInt8](repeating: 0xFF, count: 16),
        FrameHeader(.hello, number: 1, fieldCount: 0, secretCount: 0).encoded(),
        FrameHeader(.hello, number: 0, fieldCount: 0, secretCount: 1).encoded(),
        FrameHeader(.hello, number: 0, fieldCount: 0, secretCount: 0).encoded(),
    ]

    @Test(arguments: others) func somethingElseEndsTheConnection(message: [UInt8]) {
        var greeting = PendingGreeting(socket, peer)
        send(message)
        let progress = greeting.read()
        if case .invalid = progress {} else { Issue.record("\(progress)") }
        close(theirs)
    }

    /// The oldest of many connections of one process is closed, and not the only one of another process.
    @Test func theOldestOfTheProcessWithMostGivesWay() throws {
        var pending = PendingGreetings()
        var (ends, sockets): ([Int32], [Int32]) = ([], [])
        func append(_ process: Int32) throws {
            var pair: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            ends.append(pair[0])
            sockets.append(pair[1])
            pending.append(PendingGreeting(FrameSocket(pair[1]), Peer(process: process, user: 0)))
        }
        try append(1)
        for _ in 0..<(PendingGreetings.maximumCount + 9) { try append(2) }
        let left = pending.watched.map(\.fd)
        #expect(left == [sockets[0]] + sockets.suffix(PendingGreetings.maximumCount - 1))
        for end in ends + [theirs] { close(end) }
    }

    @Test func aBurstIsAcceptedAtOnceAndMoreThanThatInTime() {
        let start = ContinuousClock.now
        var pace = AcceptPace(start)
        for _ in 0..<AcceptPace.burst {
            #expect(pace.pause(start) == 0)
            pace.take(start)
        }
        #expect(pace.pause(start) > 0)
        #expect(pace.pause(start + .milliseconds(10)) == 0)
    }
}
