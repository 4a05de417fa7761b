import CPCSC
import Foundation
import TestSupport
import Testing

/// The limits of libpcsclite's calls, which have none of their own: a call over its limit has its socket shut down.
@Suite struct CallLimitTests {
    /// A socket that listens at a path, and accepts nothing.
    static func listener(at path: String) throws -> Int32 {
        let listener = try socket(at: path) { bind($0, $1, $2) }
        try #require(listen(listener, 8) == 0)
        return listener
    }

    private static func connected(to path: String) throws -> Int32 { try socket(at: path) { connect($0, $1, $2) } }

    private static func socket(
        at path: String, _ join: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        let number = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isJoined = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { join(number, $0, size) == 0 }
        }
        try #require(isJoined)
        return number
    }

    /// The two ends of a connection.
    private static func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private static func description(of number: Int32) throws -> cpcsc_socket {
        var status = stat()
        try #require(fstat(number, &status) == 0)
        return cpcsc_socket(number: number, inode: status.st_ino)
    }

    /// Whether a call on the socket was ended at its limit while `body` ran.
    private static func isEnded(_ socket: cpcsc_socket, after milliseconds: UInt, _ body: () -> Void) -> Bool {
        withUnsafeTemporaryAllocation(of: cpcsc_call.self, capacity: 1) { call in
            cpcsc_begin_call(call.baseAddress, socket, milliseconds)
            body()
            return cpcsc_end_call(call.baseAddress) != 0
        }
    }

    /// The result of one receive, after at most `milliseconds`; nil where nothing came.
    private static func receive(_ number: Int32, within milliseconds: Int32) -> Int? {
        var wanted = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, milliseconds) > 0 else { return nil }
        var byte: UInt8 = 0
        return recv(number, &byte, 1, 0)
    }

    @Test func aCallOverItsLimitReturns() throws {
        let (ours, theirs) = try CallLimitTests.pair()
        defer { for end in [ours, theirs] { close(end) } }
        var received: Int?
        let isEnded = try CallLimitTests.isEnded(CallLimitTests.description(of: ours), after: 20) {
            received = CallLimitTests.receive(ours, within: 60_000)
        }
        #expect(isEnded && received == 0)
    }

    /// One call that is over does not hide another, whichever began first.
    @Test func callsAreEndedInTheOrderOfTheirLimits() throws {
        let pairs = try (0..<3).map { _ in try CallLimitTests.pair() }
        defer {
            for (ours, theirs) in pairs {
                close(ours)
                close(theirs)
            }
        }
        let sockets = try pairs.map { try CallLimitTests.description(of: $0.0) }
        let outer = CallLimitTests.isEnded(sockets[0], after: 600_000) {
            let middle = CallLimitTests.isEnded(sockets[1], after: 20) {
                let inner = CallLimitTests.isEnded(sockets[2], after: 40) {
                    #expect(CallLimitTests.receive(pairs[1].0, within: 60_000) == 0)
                    #expect(CallLimitTests.receive(pairs[2].0, within: 60_000) == 0)
                }
                #expect(inner)
            }
            #expect(middle)
        }
        #expect(!outer && CallLimitTests.receive(pairs[0].0, within: 0) == nil)
    }

    @Test func aCallWithoutALimitIsNotEnded() throws {
        let (ours, theirs) = try CallLimitTests.pair()
        defer { for end in [ours, theirs] { close(end) } }
        let socket = try CallLimitTests.description(of: ours)
        #expect(!CallLimitTests.isEnded(socket, after: UInt(cpcsc_no_limit)) { usleep(50_000) })
        #expect(CallLimitTests.receive(ours, within: 0) == nil)
    }

    /// Programs close descriptors that are not theirs, and files that they open then get the numbers.
    @Test func aFileThatHasGotTheSocketsNumberIsLeftAlone() throws {
        let (ours, theirs) = try CallLimitTests.pair()
        defer { for end in [ours, theirs] { close(end) } }
        var socket = try CallLimitTests.description(of: ours)
        socket.inode += 1
        #expect(CallLimitTests.isEnded(socket, after: 1) { usleep(200_000) })
        #expect(CallLimitTests.receive(ours, within: 0) == nil)
        #expect(send(ours, [1], 1, Int32(MSG_NOSIGNAL)) == 1)
    }

    /// The socket of a context is the one that appears while the context is made. Where there are two, neither is taken.
    @Test func theSocketOfANewContextIsFound() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let listener = try CallLimitTests.listener(at: folder.path("service"))
            defer { close(listener) }
            for count in 0...2 {
                let former = try CallLimitTests.connected(to: folder.path("service"))
                var (sockets, made) = (cpcsc_sockets(), cpcsc_socket())
                var ours: [Int32] = []
                try withUnsafeTemporaryAllocation(of: cpcsc_call.self, capacity: 1) { call in
                    cpcsc_begin_making(call.baseAddress, &sockets, 60_000)
                    close(former)
                    ours = try (0..<count).map { _ in try CallLimitTests.connected(to: folder.path("service")) }
                    #expect(cpcsc_end_making(call.baseAddress, &made) == 0)
                }
                #expect(made.number == (count == 1 ? ours.first : -1))
                for number in ours { close(number) }
            }
        }
    }
}
