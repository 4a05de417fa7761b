import Foundation
import HostAPI
import HostConnection
import KeychainModel
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// A Swift program as a client of the session's host, which is a process of its own: cards, files and keys are there.
@Suite struct ServiceClientTests {
    private let folder: TemporaryFolder
    private let environment: [String: String]
    private let holder: DaemonWithCard
    private let host: SessionHost

    init() throws {
        folder = try TemporaryFolder()
        holder = try DaemonWithCard(VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256).build())
        environment = ModuleProgram.environment(in: folder).merging(
            ["PCSCLITE_CSOCK_NAME": holder.daemon.socketPath]
        ) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment)
        host = SessionHost(in: folder, environment)
    }

    /// A person at the client, who types the card's PIN.
    private final class Person: Prompter {
        let asked = Mutex<[PromptRequest]>([])
        let canAsk = true
        let canAskAgain = true

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            asked.withLock { $0.append(request) }
            var pin = Array("123456".utf8)
            return Secret(consuming: &pin)
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    private func client(_ person: Person = Person(), _ variables: [String: String] = [:]) throws -> SocketClient {
        let all = environment.merging(variables) { $1 }
        let client = SocketClient(
            of: [.session(folder.path)], prompter: person, environment: all.map { Array("\($0)=\($1)".utf8) })
        try client.connect()
        return client
    }

    @Test func itFindsCardsAndFilesAndSignsOnACardWithItsOwnPersonsPIN() throws {
        try host.start()
        defer { host.stop() }
        let person = Person()
        let service = try client(person).service
        let keychains = try service.keychains(RequestContext()).found
        #expect(keychains.map(\.kind) == [.card, .file])
        let identity = try #require(try service.identities(.identities.where(.canSign, true)).found.first)
        let digest = [UInt8](repeating: 7, count: 32)
        let request = KeyRequest(.sign(digest), .signature(.ecdsa(.sha256)), with: identity.key.reference)
        for _ in 0..<2 {
            let context = RequestContext(purpose: "sign a letter", questions: .byClient)
            let signature = try service.perform(request, context).secret.copied()
            let key = try #require(identity.certificate.certificate?.publicKey)
            #expect(try key.verify(signature, digest: digest, using: .ecdsa(.sha256)))
        }
        #expect(person.asked.withLock { $0.map(\.use) } == ["sign a letter with key 9A"])
    }

    @Test func aClientOfAnotherServiceOrFolderIsRefusedWithTheReason() throws {
        try host.start()
        defer { host.stop() }
        for (name, value) in [("PCSCLITE_CSOCK_NAME", folder.path("none")), ("XDG_DATA_HOME", folder.path("other"))] {
            let error = #expect(throws: KeychainError.self) { try client(Person(), [name: value]) }
            #expect(error?.code == .notAvailable)
            #expect(error.map { "\($0)".contains("other folders, or another card service") } == true)
        }
    }

    @Test func withoutAHostRequestsFailAtOnceAndGoOnWithTheNext() throws {
        #expect(throws: KeychainError(.notAvailable)) { try client() }
        try host.start()
        let service = try client().service
        _ = try service.places(RequestContext())
        kill(try #require(try host.process), SIGKILL)
        for _ in 0..<2 { #expect(throws: KeychainError(.notAvailable)) { try service.places(RequestContext()) } }
        try host.start()
        defer { host.stop() }
        #expect(try service.keychains(RequestContext()).found.count == 2)
    }

    /// The socket is in a folder that another user may have made.
    @Test func aSocketInAFolderOfAnotherUserIsNotUsed() throws {
        try host.start()
        defer { host.stop() }
        guard geteuid() == 0 else {
            #expect(throws: KeychainError(.notAvailable)) {
                try SocketClient(of: [.session("/run")], prompter: Person(), environment: []).connect()
            }
            return
        }
        try #require(chown(folder.path, 65534, 65534) == 0)
        defer { chown(folder.path, 0, 0) }
        #expect(throws: KeychainError(.notAvailable)) { try client() }
    }
}
