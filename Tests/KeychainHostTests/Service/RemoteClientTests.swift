import Glibc
import HostAPI
import HostConnection
import KeychainModel
import Localization
import PKCS11Bridge
import Platform
import SecureBytes
import TestSupport
import Testing
import Wire
import WireTransport

@testable import HostServer
@testable import KeychainHost

/// Modules on other machines, whose connections come to a socket of their own.
@Suite struct RemoteClientTests {
    private let folder: TemporaryFolder
    private let clients = ServedClients()
    private let end: [Int32]

    init() throws {
        folder = try TemporaryFolder()
        var end: [Int32] = [-1, -1]
        try #require(pipe(&end) == 0)
        self.end = end
        let (listener, remote) = (
            try HostSocket.listen(in: folder.path), try HostSocket.listen(in: folder.path, .remote)
        )
        let host = SharedHost(
            listener: listener, counting: clients, remote: remote,
            ClientMaker(module: { _, _, _ in Cryptoki(Host(ProcessKeychains(), prompter: NoPrompter())) }) {
                _, _ throws(KeychainError) in throw KeychainError(.param)
            })
        BlockingThread.start { [descriptor = end[0]] in host.serve(end: descriptor) }
    }

    private func stop() { for descriptor in end.reversed() { close(descriptor) } }

    private func connect(_ name: HostSocket.Name = .remote) throws -> FrameSocket {
        FrameSocket(try #require(HostSocket.connect(in: folder.path, name)))
    }

    private static let hello = Hello(firstHandle: 0, wantsNotes: false, libraryPath: [], environment: [])

    private func greet(
        _ connection: FrameSocket, _ kind: FrameHeader.Kind = .hello, _ fields: [UInt8] = hello.encoded()
    ) -> HelloAnswer? {
        guard connection.send(kind, number: 0, fields, Secret(capacity: 0) { _ in }),
            let answer = connection.receive(by: .now + .seconds(30))
        else { return nil }
        return try? HelloAnswer(parsing: answer.fields)
    }

    /// The ticket of a new client.
    private func ticket(_ first: FrameSocket) throws -> Ticket {
        guard case .servedRemotely(Hello.version, let ticket) = try #require(greet(first)) else {
            throw KeychainError(.internal, "the host serves it in another way")
        }
        return ticket
    }

    /// Whether a connection with a ticket is served.
    private func joins(_ ticket: Ticket, _ name: HostSocket.Name = .remote) throws -> Bool {
        let further = try connect(name)
        let call = PKCS11Call(.getSlotList, [0, 0])
        _ = further.send(.join, number: 0, ticket.encoded(), Secret(capacity: 0) { _ in })
        _ = further.send(.request, number: 1, call.encoded(), Secret(capacity: 0) { _ in })
        return further.receive(by: .now + .seconds(30))?.header.kind == .answer
    }

    @Test func aClientMakesFurtherConnectionsByItsTicket() throws {
        defer { stop() }
        let (first, second) = (try connect(), try connect())
        let tickets = (try ticket(first), try ticket(second))
        #expect(tickets.0 != tickets.1)
        for _ in 0..<3 { #expect(try joins(tickets.0) && joins(tickets.1)) }
        #expect(clients.total == 2)
        first.shutDown()
        #expect(eventually { clients.total == 1 })
        #expect(try !joins(tickets.0), "its client has ended")
        #expect(try joins(tickets.1))
    }

    @Test func aConnectionWithoutATicketIsClosed() throws {
        defer { stop() }
        let first = try connect()
        let ticket = try ticket(first)
        for other in [
            Ticket(high: 0, low: 0), Ticket(high: ticket.high, low: ticket.low ^ 1),
            Ticket(high: ticket.low, low: ticket.high),
        ] {
            #expect(try !joins(other))
        }
        #expect(try !joins(ticket, .host), "the socket of this machine's programs knows no tickets")
        let short = try connect()
        let header = FrameHeader(.join, number: 0, fieldCount: 4, secretCount: 0).encoded() + [1, 2, 3, 4]
        #expect(send(short.descriptor, header, header.count, Int32(MSG_NOSIGNAL)) == header.count)
        let answer = short.receive(by: .now + .seconds(30))?.header
        #expect(answer == nil)
        #expect(try joins(ticket))
    }

    @Test func theSocketServesModulesAlone() throws {
        defer { stop() }
        let service = ServiceHello(environment: [], options: .standard)
        let keychain = KeychainHello(wantsNotes: false, hasMoreRights: false, environment: [])
        #expect(try greet(connect(), .serviceHello, service.encoded()) == .busy)
        #expect(try greet(connect(), .keychainHello, keychain.encoded()) == .busy)
        var newer = Self.hello
        (newer.oldestVersion, newer.newestVersion) = (Hello.version + 1, Hello.version + 1)
        #expect(try greet(connect(), .hello, newer.encoded()) == .otherVersion)
        #expect(clients.total == 0)
    }
}
