import Glibc
import SecureBytes
import Testing
import Wire
import WireTransport

@testable import HostServer

/// The host's end of a connection.
@Suite struct FrameSocketTests {
    private let theirs: Int32
    private let socket: FrameSocket

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        (theirs, socket) = (ends[0], FrameSocket(ends[1]))
    }

    /// The bytes that have been sent, without waiting for more.
    private var sent: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(theirs, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return Array(bytes.prefix(max(count, 0)))
    }

    private func head(_ kind: FrameHeader.Kind) -> [UInt8] {
        FrameHeader(kind, number: 5, fieldCount: 0, secretCount: 0).encoded()
    }

    /// After the answer it would be taken for an answer to the next request.
    @Test func aSignOfLifeNeverFollowsTheAnswer() {
        socket.sendWorking()
        #expect(sent == [])
        socket.begin(number: 5)
        socket.sendWorking()
        #expect(sent == head(.working))
        let isSent = socket.send(.answer, number: 5, [], Secret(capacity: 0) { _ in })
        #expect(isSent)
        #expect(sent == head(.answer))
        socket.sendWorking()
        #expect(sent == [])
        close(theirs)
    }

    @Test func aThreadThatStayedAwakeFindsTheNextMessageWhole() {
        let request = FrameHeader(.request, number: 7, fieldCount: 0, secretCount: 0).encoded()
        #expect(send(theirs, request, request.count, 0) == request.count)
        #expect(socket.stayAwake(for: .seconds(3600)))
        let header = socket.receive()?.header
        #expect(header?.number == 7)
        // The end of the program ends the wait too.
        close(theirs)
        #expect(socket.stayAwake(for: .seconds(3600)))
        let isOver = socket.receive() == nil
        #expect(isOver)
    }

    @Test func aLongMessageCountsUntilItIsAnswered() {
        let quota = MessageQuota()
        for _ in 0..<4 { #expect(quota.take()) }
        #expect(!quota.take())
        quota.release()
        #expect(quota.take())
        close(theirs)
    }

    @Test(arguments: [
        (FrameHeader(.request, number: 1, fieldCount: 0, secretCount: 2 << 20), true),
        (FrameHeader(.request, number: 1, fieldCount: 100, secretCount: 1 << 20), false),
        (FrameHeader(.part, number: 1, fieldCount: 1, secretCount: 0), true),
    ])
    func whatIsLongerThanAFramesFieldsCounts(header: FrameHeader, counts: Bool) {
        #expect(MessageQuota.isLong(header) == counts)
        close(theirs)
    }
}
