import Glibc
import HostAPI
import HostConnection
import KeychainModel
import PKCS11Bridge
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HostServer
@testable import KeychainHost

/// The end of a session's host.
@Suite struct SharedHostEndTests {
    private let folder: TemporaryFolder
    private let clients = ServedClients()

    init() throws { folder = try TemporaryFolder() }

    private func client() throws -> SocketClient {
        let client = SocketClient(
            of: [.session(folder.path)], prompter: NoPrompter(), environment: Environment.bytes)
        try client.connect()
        return client
    }

    @Test func aHostWhoseSocketIsGoneServesItsClientsToTheirEndAndEnds() throws {
        let listener = try HostSocket.listen(in: folder.path)
        let host = SharedHost(
            listener: listener, counting: clients,
            ClientMaker(module: { _, _, _ in Cryptoki(Host(ProcessKeychains(), prompter: NoPrompter())) }) {
                _, _ throws(KeychainError) in throw KeychainError(.param)
            })
        let file = try #require(HostSocket.file(in: folder.path))
        let (path, ended) = (folder.path, Flag())
        BlockingThread.start {
            host.serve(isReachable: { HostSocket.file(in: path) == file })
            ended.set()
        }
        let first = try client()
        #expect(clients.programs == [HostStatus.Client(process: getpid(), program: Executable.name(of: getpid()))])
        let second = try client()
        #expect(clients.programs.map(\.count) == [2])
        try #require(unlink(HostSocket.path(in: path)) == 0)
        // Another host can take the place at once.
        let next = try HostSocket.listen(in: path)
        defer { close(next) }
        #expect(HostSocket.file(in: path) != file)
        second.end()
        #expect(eventually { clients.total == 1 })
        usleep(1_500_000)
        #expect(!ended.isSet)
        first.end()
        #expect(eventually { ended.isSet })
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}
