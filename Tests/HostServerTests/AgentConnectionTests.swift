import Glibc
import HostAPI
import KeychainHost
import Platform
import SSHAgent
import SecureBytes
import Synchronization
import TestSupport
import Testing

@testable import HostServer

/// Connections of programs that know an SSH agent.
@Suite struct AgentConnectionTests {
    /// A client's end of a connection to an agent without keys.
    private final class Connection: Sendable {
        let descriptor: Int32
        private let ended: Mutex<Bool>

        var hasEnded: Bool { ended.withLock(\.self) }

        /// - Parameter limit: the time of a message, and of an answer.
        init(limit: Duration = .seconds(30)) throws {
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            descriptor = ends[0]
            ended = Mutex(false)
            AgentConnection(ends[1], AgentConnectionTests.session(), limit: limit) { [weak self] in
                self?.ended.withLock { $0 = true }
            }.start()
        }

        deinit { close(descriptor) }

        func send(_ bytes: [UInt8]) -> Bool { Descriptor.send(bytes.span, to: descriptor, by: .now + .seconds(1)) }

        /// The kind of the next answer.
        func answer() throws -> UInt8 {
            let length = try receive(4)
            return try #require(try receive(Int(UInt32(bigEndianBytes: length))).first)
        }

        private func receive(_ count: Int) throws -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            let isWhole = bytes.withUnsafeMutableBytes {
                Descriptor.receive($0, from: descriptor, by: .now + .seconds(30))
            }
            try #require(isWhole)
            return bytes
        }
    }

    private static let preferences = KeychainPreferences(
        directories: Directories(system: "/nonexistent") { ["HOME": "/nonexistent"][$0] })

    @Sendable private static func emptyHost() -> any InProcessHost {
        Host(
            forTokensOf: ProcessKeychains(preferences, drivers: { _ in [] }, readers: { [] }), prompter: nil,
            touchPrompter: nil)
    }

    private static func session() -> AgentSession {
        let client = AgentClient(
            named: "ssh", at: "/usr/bin/ssh", process: 1, { _, _ in emptyHost() }, asking: { NoPrompter() })
        return AgentSession(Agent(emptyHost), for: client)
    }

    private func frame(_ message: [UInt8]) -> [UInt8] { UInt32(message.count).bigEndianBytes + message }

    private static let query = AgentRequest.extend(name: Array("query".utf8), content: []).encoded()

    @Test func answersMessagesWithSecretsAndWithout() throws {
        let connection = try Connection()
        let secret = SharedSecret(Secret(capacity: 1) { $0.append(1) })
        for (message, kind) in [
            (AgentRequest.listIdentities.encoded(), 12), (AgentRequest.unlock(secret).encoded(), 5),
            (AgentConnectionTests.query, 29), ([22], 5), ([200], 5),
        ] as [([UInt8], UInt8)] {
            #expect(connection.send(frame(message)))
            #expect(try connection.answer() == kind)
        }
        #expect(!connection.hasEnded)
    }

    @Test(arguments: [0, 256 << 10 + 1, .max] as [UInt32])
    func endsAtALengthThatNoMessageHas(length: UInt32) throws {
        let connection = try Connection()
        #expect(connection.send(length.bigEndianBytes))
        #expect(eventually { connection.hasEnded })
    }

    /// A message that comes byte by byte would hold a thread for as long as its sender likes.
    @Test(arguments: [13, 17] as [UInt8])
    func aMessageHasOneTimeAsAWhole(kind: UInt8) throws {
        let connection = try Connection(limit: .milliseconds(300))
        let message = frame([kind] + [UInt8](repeating: 0, count: 100_000))
        var sent = 0
        while sent < message.count, connection.send([message[sent]]) {
            sent += 1
            // Each byte comes long before the time of the message is over.
            usleep(10_000)
        }
        #expect(sent > 4 && sent < message.count)
        #expect(eventually { connection.hasEnded })
    }

    @Test func anAnswerHasOneTimeAsAWhole() throws {
        let connection = try Connection(limit: .milliseconds(300))
        // The sockets hold some requests and answers, and then no more.
        while connection.send(frame(AgentConnectionTests.query)) {}
        #expect(eventually { connection.hasEnded })
    }

    // MARK: Numbers

    /// As many connections as a program needs that signs in at many servers at once; the next one is let go.
    @Test func aProgramHas128Connections() throws {
        let (folder, clients) = (try TemporaryFolder(), ServedClients())
        let listener = AgentListener(try HostSocket.listen(in: folder.path, .agent)) { _ in
            AgentConnectionTests.session()
        }
        defer { listener.close() }
        var connections: [Int32] = []
        defer { for connection in connections { close(connection) } }
        func connect() throws -> Bool {
            let connection = try #require(HostSocket.connect(in: folder.path, .agent))
            connections.append(connection)
            listener.accept(counting: clients)
            let request = frame(AgentConnectionTests.query)
            guard Descriptor.send(request.span, to: connection, by: .now + .seconds(30)) else { return false }
            var length = [UInt8](repeating: 0, count: 4)
            return length.withUnsafeMutableBytes { Descriptor.receive($0, from: connection, by: .now + .seconds(30)) }
        }
        for number in 1...128 { #expect(try connect(), "\(number)") }
        #expect(try !connect())
        #expect(clients.programs.map(\.count) == [128])
        // The host's own interface has a number of its own.
        let peer = Peer(process: getpid(), user: geteuid())
        for _ in 1...16 { #expect(clients.add(peer)) }
        #expect(!clients.add(peer))
        #expect(clients.total == 144)
        close(connections.removeLast())
        close(connections.removeLast())
        #expect(eventually { clients.total == 143 })
        #expect(try connect())
        for _ in 1...16 { clients.remove(peer) }
        #expect(eventually { clients.programs.map(\.count) == [128] })
    }
}
