import Foundation
import Platform
import SecureBytes
import Synchronization
import TestSupport
import Testing
import Wire
import WireTransport

@testable import HostServer

/// Clients whose connections are idle, and have no thread.
@Suite struct IdleClientTests {
    private let idle = IdleConnections()
    private let responder = Echo()
    /// The client's end of its first connection.
    private let first: FrameSocket
    private let served: FrameSocket

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        (first, served) = (FrameSocket(ends[0]), FrameSocket(ends[1]))
    }

    /// Answers each request with its fields.
    private final class Echo: Responder {
        let ended = Flag()
        let maximumFields = 100

        func answer(_ message: consuming FrameSocket.Message, over line: RequestLine) -> Bool {
            line.connection.send(.answer, number: message.number, message.fields, Secret(capacity: 0) { _ in })
        }

        func end() { ended.set() }
    }

    private func serve(process: ProcessHandle? = nil, _ idle: IdleConnections? = nil) -> Flag {
        let ended = Flag()
        let client = Client(responder, Heartbeat(), idle ?? self.idle)
        let served = served
        BlockingThread.start { client.serve(served, process: process) { ended.set() } }
        return ended
    }

    private func expectAnswer(over connection: FrameSocket, _ number: UInt32 = 1) {
        let isSent = connection.send(.request, number: number, [1, 2, 3], Secret(capacity: 0) { _ in })
        #expect(isSent)
        expectAnswerThatComes(over: connection, number)
    }

    private func expectAnswerThatComes(over connection: FrameSocket, _ number: UInt32) {
        let header = connection.receive(by: .now + .seconds(30))?.header
        #expect(header == FrameHeader(.answer, number: number, fieldCount: 3, secretCount: 0))
    }

    private func expectIdle(_ count: Int) { #expect(eventually { idle.count == count }) }

    @Test func anIdleConnectionAnswersTheNextRequests() throws {
        let ended = serve()
        let connection = try #require(first.makeConnection())
        for number in 1...3 as ClosedRange<UInt32> {
            expectIdle(2)
            expectAnswer(over: connection, number)
            expectAnswer(over: connection, number + 10)
        }
        expectIdle(2)
        #expect(!ended.isSet)
        first.shutDown()
        #expect(eventually { ended.isSet })
    }

    @Test func anIdleClientHandsInFurtherConnections() throws {
        _ = serve()
        var connections: [FrameSocket] = []
        for count in 1...3 {
            expectIdle(count)
            let connection = try #require(first.makeConnection())
            expectAnswer(over: connection)
            connections.append(connection)
        }
        expectIdle(4)
    }

    @Test func theEndOfAnIdleClientEndsItsConnections() throws {
        let ended = serve()
        let connection = try #require(first.makeConnection())
        expectIdle(2)
        first.shutDown()
        let isNothing = connection.receive(by: .now + .seconds(30)) == nil
        #expect(isNothing)
        #expect(eventually { ended.isSet && idle.count == 0 })
        #expect(responder.ended.isSet)
    }

    /// A child of the process holds the connections open.
    @Test func theEndOfAnIdleClientsProcessEndsIt() throws {
        let (input, output) = try ChildProcess.pipe()
        let child = try ChildProcess(["cat"], streams: [input.fileDescriptor, STDERR_FILENO, STDERR_FILENO])
        defer { child.wait() }
        let process = try #require(ProcessHandle(child.identifier))
        let ended = serve(process: process)
        let connection = try #require(first.makeConnection())
        expectIdle(2)
        #expect(!ended.isSet)
        try output.close()
        let isNothing = connection.receive(by: .now + .seconds(30)) == nil
        #expect(isNothing)
        #expect(eventually { ended.isSet })
        #expect(responder.ended.isSet)
    }

    @Test func theEndOfAnIdleConnectionIsNotTheClients() throws {
        let ended = serve()
        let other = try #require(first.makeConnection())
        try #require(first.makeConnection()).shutDown()
        expectIdle(2)
        expectAnswer(over: other)
        #expect(!ended.isSet)
    }

    /// Only the connection's own thread waits for the rest.
    @Test func halfAMessageHoldsNoOtherConnection() throws {
        _ = serve()
        let (slow, quick) = (try #require(first.makeConnection()), try #require(first.makeConnection()))
        expectIdle(3)
        let request = FrameHeader(.request, number: 7, fieldCount: 3, secretCount: 0).encoded() + [1, 2, 3]
        #expect(send(slow.descriptor, request, 5, 0) == 5)
        expectIdle(2)
        expectAnswer(over: quick)
        #expect(send(slow.descriptor, Array(request.dropFirst(5)), request.count - 5, 0) == request.count - 5)
        expectAnswerThatComes(over: slow, 7)
    }

    /// The client's end frees threads.
    @Test func withoutAThreadAnIdleConnectionIsClosedAndTheClientStillEnds() throws {
        let idle = IdleConnections { _ in false }
        let ended = serve(idle)
        let connection = try #require(first.makeConnection())
        #expect(eventually { idle.count == 2 })
        let isSent = connection.send(.request, number: 1, [1, 2, 3], Secret(capacity: 0) { _ in })
        #expect(isSent)
        let isNothing = connection.receive(by: .now + .seconds(30)) == nil
        #expect(isNothing)
        #expect(!ended.isSet)
        first.shutDown()
        #expect(eventually { ended.isSet })
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}
