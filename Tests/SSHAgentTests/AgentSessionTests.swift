import Foundation
import HostAPI
import KeychainModel
import Platform
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing

@testable import SSHAgent

/// Requests to an agent without cards and keychains, and their answers.
@Suite struct AgentSessionTests {
    private let agent = Agent(Samples.emptyHost)

    /// Agrees or declines, and counts the questions.
    private final class Person: Prompter {
        let agrees: Bool
        let questions = Mutex<[String]>([])
        let canAsk = true
        let canAskAgain = true

        init(agrees: Bool) { self.agrees = agrees }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.userCanceled) }

        func confirm(_ question: String) throws(KeychainError) -> Bool {
            questions.withLock { $0.append(question) }
            return agrees
        }
    }

    private func keys(_ session: AgentSession) -> [[UInt8]] {
        guard case .identities(let identities) = session.answer(.listIdentities) else { return [] }
        return identities.map(\.key)
    }

    private func signature(_ session: AgentSession, _ key: [UInt8], _ data: [UInt8], flags: UInt32 = 0) -> [UInt8]? {
        guard case .signature(let signature) = session.answer(.sign(key: key, data: data, flags: flags)) else {
            return nil
        }
        return signature
    }

    @Test func anAddedKeySignsUntilItIsRemoved() throws {
        let session = Samples.session(agent)
        let (identity, blob) = try Samples.newKey()
        #expect(!agent.isInUse)
        #expect(session.answer(.add(identity, nil)) == .success)
        #expect(agent.isInUse)
        #expect(keys(session) == [blob])
        let signed = try #require(signature(session, blob, [1, 2, 3]))
        #expect(SSHPublicKey(blob)?.verify(signed, of: [1, 2, 3]) == true)
        // Another connection has the same keys.
        let other = Samples.session(agent)
        #expect(other.answer(.add(identity, nil)) == .success)
        #expect(keys(other) == [blob])
        #expect(other.answer(.remove(key: [1])) == .failure)
        #expect(other.answer(.remove(key: blob)) == .success)
        #expect(signature(session, blob, [1, 2, 3]) == nil)
        #expect(session.answer(.add(identity, nil)) == .success)
        #expect(session.answer(.removeAll) == .success)
        #expect(session.answer(.removeAllOfVersion1) == .success)
        #expect(keys(session).isEmpty)
    }

    @Test func numbersThatAreNoKeyAreRefused() throws {
        let session = Samples.session(agent)
        let (identity, _) = try Samples.newKey()
        let (other, _) = try Samples.newKey()
        #expect(session.answer(.add(Samples.identity, nil)) == .failure)
        let mixed = NewIdentity(kind: identity.kind, fields: [identity.fields[0], other.fields[1]], comment: [])
        #expect(session.answer(.add(mixed, nil)) == .failure)
        let short = try PrivateKey.generate(.rsa(bits: 512))
        let numbers = try #require(short.publicKey.rsaComponents)
        let primes = try short.rsaPrimes()
        let exponent = try short.rsaPrivateExponent().copied()
        let rsa = NewIdentity(
            kind: Array("ssh-rsa".utf8),
            fields: [
                numbers.modulus, numbers.exponent, exponent, primes.qInv.copied(), primes.p.copied(), primes.q.copied(),
            ].map { Samples.shared([0] + $0) }, comment: [])
        #expect(session.answer(.add(rsa, nil)) == .failure)
        #expect(!agent.isInUse)
    }

    @Test func rsaSignsWithoutSHA1() throws {
        let session = Samples.session(agent)
        let key = try PrivateKey.generate(.rsa(bits: 1024))
        let numbers = try #require(key.publicKey.rsaComponents)
        let primes = try key.rsaPrimes()
        let exponent = try key.rsaPrivateExponent().copied()
        let fields = [
            numbers.modulus, numbers.exponent, exponent, primes.qInv.copied(), primes.p.copied(), primes.q.copied(),
        ]
        let identity = NewIdentity(
            kind: Array("ssh-rsa".utf8), fields: fields.map { Samples.shared([0] + $0) }, comment: [])
        #expect(session.answer(.add(identity, nil)) == .success)
        let blob = try key.publicKey.openSSH()
        #expect(signature(session, blob, [1]) == nil)
        for (flags, name) in [(2, "rsa-sha2-256"), (4, "rsa-sha2-512"), (6, "rsa-sha2-256")] as [(UInt32, String)] {
            let signed = try #require(signature(session, blob, [1], flags: flags))
            #expect(signed.dropFirst(4).starts(with: name.utf8))
            #expect(SSHPublicKey(blob)?.verify(signed, of: [1]) == true)
        }
    }

    @Test func aSignatureWithUnknownFlagsFails() throws {
        let log = Mutex<[String]>([])
        let session = Samples.session(Agent(Samples.emptyHost, log: { line in log.withLock { $0.append(line) } }))
        let (identity, blob) = try Samples.newKey()
        #expect(session.answer(.add(identity, nil)) == .success)
        for flags in [0, 2, 4, 6] as [UInt32] { #expect(signature(session, blob, [1], flags: flags) != nil) }
        for flags in [1, 3, 8, 1 << 31, .max] as [UInt32] {
            #expect(signature(session, blob, [1], flags: flags) == nil, "\(flags)")
        }
        #expect(log.withLock { $0.count } == 5)
    }

    @Test func aConfirmedKeyAsks() throws {
        let (identity, blob) = try Samples.newKey()
        let person = Person(agrees: true)
        let session = Samples.session(agent, asking: person)
        #expect(session.answer(.add(identity, [.confirmation])) == .success)
        #expect(signature(session, blob, Samples.fileSignature(namespace: "git")) != nil)
        let question = try #require(person.questions.withLock { $0 }.first)
        let lines = question.split(separator: "\n")
        #expect(
            lines == [
                "Allow one use of a key with ssh?", "To: sign a git commit or tag with ssh (namespace 'git')",
                "Key: \(SSHPublicKey.fingerprint(of: blob))", "Program: ssh", "File: /opt/a\\0Ab/ssh",
            ])
        let refusing = Person(agrees: false)
        for _ in 1...2 {
            #expect(signature(Samples.session(agent, process: 2, asking: refusing), blob, [1]) == nil)
        }
        #expect(refusing.questions.withLock { $0.count } == 1, "a denial answers the same question for a moment")
        #expect(signature(Samples.session(agent, process: 3), blob, [1]) == nil, "nobody can be asked")
    }

    /// Does something to the agent while the question is before the person, who then agrees.
    private final class Interruption: Prompter {
        let act: @Sendable () -> Void
        let canAsk = true
        let canAskAgain = true

        init(_ act: @escaping @Sendable () -> Void) { self.act = act }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.userCanceled) }

        func confirm(_ question: String) throws(KeychainError) -> Bool {
            act()
            return true
        }
    }

    @Test func aKeyThatIsRemovedOrLockedDuringTheQuestionDoesNotSign() throws {
        let (identity, blob) = try Samples.newKey()
        let other = Samples.session(agent)
        let requests: [AgentRequest] = [.remove(key: blob), .removeAll, .lock(Samples.shared([1]))]
        for request in requests {
            #expect(other.answer(.add(identity, [.confirmation])) == .success)
            let session = Samples.session(agent, asking: Interruption { _ = other.answer(request) })
            #expect(signature(session, blob, [1]) == nil, "\(request)")
        }
    }

    @Test func anotherMachineNeitherLocksNorRemovesWhatItDoesNotSee() throws {
        let (identity, blob) = try Samples.newKey()
        let constraint = DestinationConstraint(from: .init(), to: .init(host: [0x61], keys: [.init([1])]))
        #expect(Samples.session(agent).answer(.add(identity, [.destinations([constraint])])) == .success)
        let remote = Samples.session(agent)
        let bind = Array("session-bind@openssh.com".utf8)
        let content = try Samples.bind(PrivateKey.generate(.ed25519), session: [1], isForwarding: true)
        #expect(remote.answer(.extend(name: bind, content: content)) == .success)
        #expect(keys(remote).isEmpty)
        #expect(remote.answer(.remove(key: blob)) == .failure)
        #expect(remote.answer(.lock(Samples.shared([1]))) == .failure)
        #expect(keys(Samples.session(agent)) == [blob])
    }

    @Test func aListIsNoLongerThanClientsTake() throws {
        let session = Samples.session(agent)
        for _ in 0..<250 {
            let (identity, _) = try Samples.newKey()
            let long = NewIdentity(
                kind: identity.kind, fields: identity.fields, comment: [UInt8](repeating: 0x61, count: 100_000))
            #expect(session.answer(.add(long, nil)) == .success)
        }
        let answer = session.answer(.listIdentities).encoded()
        #expect((200 << 10...256 << 10).contains(answer.count))
    }

    @Test func aKeyEndsInItsTime() throws {
        let (identity, blob) = try Samples.newKey()
        let session = Samples.session(agent)
        #expect(session.answer(.add(identity, [.lifetime(seconds: 1)])) == .success)
        #expect(keys(session) == [blob])
        #expect(eventually { !agent.isInUse })
        #expect(signature(session, blob, [1]) == nil)
    }

    @Test func aLoginIsTheConnectionsOwn() throws {
        let (identity, blob) = try Samples.newKey()
        let session = Samples.session(agent)
        #expect(session.answer(.add(identity, nil)) == .success)
        let host = try PrivateKey.generate(.ed25519)
        let hostKey = try host.publicKey.openSSH()
        let bind = Array("session-bind@openssh.com".utf8)
        #expect(session.answer(.extend(name: bind, content: try Samples.bind(host, session: [1]))) == .success)
        #expect(signature(session, blob, Samples.login(session: [1], key: blob, hostKey: hostKey)) != nil)
        #expect(signature(session, blob, Samples.login(session: [2], key: blob, hostKey: hostKey)) == nil)
        #expect(signature(session, blob, Samples.login(session: [1], key: hostKey, hostKey: hostKey)) == nil)
        #expect(signature(session, blob, Samples.login(session: [1], key: blob, hostKey: blob)) == nil)
    }

    @Test func aKeyForOneDestinationSignsNothingElse() throws {
        let (identity, blob) = try Samples.newKey()
        let session = Samples.session(agent)
        let constraint = DestinationConstraint(from: .init(), to: .init(host: [0x61], keys: [.init([1])]))
        #expect(session.answer(.add(identity, [.destinations([constraint])])) == .success)
        #expect(keys(session) == [blob])
        #expect(signature(session, blob, [1]) == nil)
        #expect(signature(session, blob, Samples.login(session: [1], key: blob)) == nil)
    }

    // MARK: Lock

    @Test func aLockedAgentHasNoKeys() throws {
        let session = Samples.session(agent)
        let (identity, blob) = try Samples.newKey()
        #expect(session.answer(.add(identity, nil)) == .success)
        #expect(session.answer(.unlock(Samples.secret("open"))) == .failure)
        #expect(session.answer(.lock(Samples.secret("open"))) == .success)
        #expect(session.answer(.lock(Samples.secret("again"))) == .failure)
        #expect(keys(session).isEmpty)
        #expect(signature(session, blob, [1]) == nil)
        for request in [.add(identity, nil), .remove(key: blob), .removeAll] as [AgentRequest] {
            #expect(session.answer(request) == .failure)
        }
        #expect(session.answer(.unlock(Samples.secret("wrong"))) == .failure)
        #expect(session.answer(.unlock(Samples.secret("open"))) == .success)
        #expect(keys(session) == [blob])
    }

    @Test func eachWrongPassphraseTakesLonger() throws {
        let added = AddedKeys()
        let (open, wrong) = (Samples.secret("open"), Samples.secret("wrong"))
        try #require(lock(added, open))
        let waits = Mutex<[Duration]>([])
        func unlock(_ passphrase: SharedSecret) -> Bool {
            added.unlock(passphrase.secret) { time in waits.withLock { $0.append(time) } }
        }
        for _ in 1...3 { #expect(!unlock(wrong)) }
        #expect(unlock(open))
        #expect(waits.withLock { $0 } == [.milliseconds(100), .milliseconds(200), .milliseconds(300)])
        #expect(!added.isLocked)
    }

    private func lock(_ added: AddedKeys, _ passphrase: SharedSecret) -> Bool { added.lock(passphrase.secret) }

    // MARK: Others

    @Test func modulesOfOthersAndOfOtherMachinesAreRefused() throws {
        let session = Samples.session(agent)
        let empty = Samples.secret("")
        let own = Array("/usr/lib/libtokenkit-pkcs11.so".utf8)
        #expect(session.answer(.addModule(path: own, pin: empty, nil)) == .success)
        #expect(session.answer(.addModule(path: Array("tokenkit".utf8), pin: empty, nil)) == .success)
        #expect(session.answer(.addModule(path: own, pin: Samples.secret("1234"), nil)) == .failure, "there is no card")
        #expect(session.answer(.addModule(path: own, pin: empty, [.confirmation])) == .failure)
        #expect(session.answer(.addModule(path: Array("/tmp/other.so".utf8), pin: empty, nil)) == .failure)
        #expect(session.answer(.removeModule(path: own, pin: empty)) == .success)
        #expect(session.answer(.extend(name: Array("session-bind@openssh.com".utf8), content: [])) == .failure)
        #expect(session.answer(.addModule(path: own, pin: empty, nil)) == .failure)
        #expect(session.answer(.removeModule(path: own, pin: empty)) == .failure)
    }

    @Test func extensionsAreTold() throws {
        let session = Samples.session(agent)
        var names: [UInt8] = []
        for name in ["query", "session-bind@openssh.com"] { names.append(string: name) }
        let query = Array("query".utf8)
        #expect(session.answer(.extend(name: query, content: [])) == .ofExtension(name: query, content: names))
        #expect(session.answer(.extend(name: Array("other@example.com".utf8), content: [1])) == .extensionFailure)
    }

    @Test func messagesOfNoFormFail() {
        let session = Samples.session(agent)
        for message in [[], [200], [13], [11, 0]] as [[UInt8]] {
            let answer = session.answer(message.span)
            #expect(answer == AgentAnswer.failure.encoded())
        }
    }

    @Test func certificatesAreReadForTheirKey() throws {
        let (identity, blob) = try Samples.newKey()
        var certificate: [UInt8] = []
        certificate.append(string: "ssh-ed25519-cert-v01@openssh.com")
        certificate.append(string: [1, 2])
        certificate.append(string: identity.fields[0].secret.copied())
        certificate += [UInt8](repeating: 0, count: 8)
        #expect(SSHPublicKey(certificate)?.plain == blob)
        #expect(SSHPublicKey(certificate)?.hasCertificate == true)
        let certified = NewIdentity(
            kind: Array("ssh-ed25519-cert-v01@openssh.com".utf8),
            fields: [Samples.shared(certificate)] + identity.fields, comment: [])
        let session = Samples.session(agent)
        #expect(session.answer(.add(certified, nil)) == .success)
        #expect(keys(session) == [certificate])
        let (other, _) = try Samples.newKey()
        let mixed = NewIdentity(
            kind: certified.kind, fields: [Samples.shared(certificate)] + other.fields, comment: [])
        #expect(session.answer(.add(mixed, nil)) == .failure)
        #expect(signature(session, certificate, [1]) != nil)
    }

    // MARK: The machine at the other end

    /// The agent goes on knowing it when the client has closed its connection.
    @Test func aClientIsKnownByTheMachineThatProvedItsKeyToIt() throws {
        let (build, other) = (try PrivateKey.generate(.ed25519), try PrivateKey.generate(.ed25519))
        let bind = Array("session-bind@openssh.com".utf8)
        func bound(_ key: PrivateKey, forwarding isForwarding: Bool = false) throws -> AgentSession {
            let session = Samples.session(agent, process: getpid())
            let content = try Samples.bind(key, session: [1], isForwarding: isForwarding)
            #expect(session.answer(.extend(name: bind, content: content)) == .success)
            return session
        }
        #expect(agent.machine(connectedTo: getpid()) == nil)
        try bound(build).end()
        let machine = try #require(agent.machine(connectedTo: getpid()))
        #expect(try machine.id == SSHPublicKey.fingerprint(of: build.publicKey.openSSH()))
        #expect(machine.name.hasPrefix("host ED25519 SHA256:"))
        #expect(agent.machine(connectedTo: getppid()) == nil)
        // What proves nothing changes nothing, nor does a second proof.
        try bound(other).end()
        #expect(agent.machine(connectedTo: getpid()) == machine)
        let session = Samples.session(agent, process: getpid())
        var content = try Samples.bind(other, session: [1])
        content[content.count - 2] ^= 1
        #expect(session.answer(.extend(name: bind, content: content)) == .failure)
        #expect(agent.machine(connectedTo: getpid()) == machine)
        // A further machine behind the first one is not the one that the client is connected to.
        let forwarded = try bound(build, forwarding: true)
        #expect(try forwarded.answer(.extend(name: bind, content: Samples.bind(other, session: [2]))) == .success)
        #expect(agent.machine(connectedTo: getpid()) == machine)
    }

    @Test func aProcessThatRunsAnotherProgramByNowIsConnectedToNoMachine() throws {
        let input = try ChildProcess.pipe()
        let null = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        let child = try ChildProcess(
            ["sh", "-c", "read line; exec sleep 60"],
            streams: [input.read.fileDescriptor, null.fileDescriptor, null.fileDescriptor])
        defer {
            kill(child.identifier, SIGKILL)
            child.wait()
        }
        let process = child.identifier
        try #require(eventually { ["sh", "dash", "bash"].contains(Executable.name(of: process)) })
        let session = Samples.session(agent, process: process)
        let name = Array("session-bind@openssh.com".utf8)
        let content = try Samples.bind(PrivateKey.generate(.ed25519), session: [1])
        #expect(session.answer(.extend(name: name, content: content)) == .success)
        #expect(agent.machine(connectedTo: process) != nil)
        try input.write.write(contentsOf: [10])
        #expect(eventually { agent.machine(connectedTo: process) == nil })
    }
}
