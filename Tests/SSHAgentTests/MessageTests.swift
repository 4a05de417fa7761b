import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import SSHAgent

/// Messages of the agent's protocol, as values and as bytes.
@Suite struct MessageTests {
    @Test func requestsAreReadAsTheyWereWritten() throws {
        for (name, request) in Samples.requests {
            let bytes = request.encoded()
            #expect(try AgentRequest.parse(bytes.span) == request, "\(name)")
            // An extension has any content.
            guard name != "extend" else { continue }
            for count in bytes.indices {
                let part = Array(bytes[..<count])
                // Constraints may end anywhere between two of them.
                let read = try? AgentRequest.parse(part.span)
                #expect(read == nil || read?.encoded() == part, "\(name) \(count)")
            }
            let longer = bytes + [0]
            #expect(throws: MalformedMessage.self, "\(name)") { try AgentRequest.parse(longer.span) }
        }
    }

    @Test func answersAreReadAsTheyWereWritten() throws {
        for (name, answer) in Samples.answers {
            let bytes = answer.encoded()
            #expect(try AgentAnswer(parsing: bytes.span) == answer, "\(name)")
            for count in bytes.indices where name != "extension" {
                let part = Array(bytes[..<count])
                #expect(throws: MalformedMessage.self, "\(name) \(count)") { try AgentAnswer(parsing: part.span) }
            }
        }
    }

    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP256, .ecP384, .ecP521, .ed25519])
    func theMessageThatAddsAKeyIsOneThatTheAgentReads(kind: KeyKind) throws {
        let key = try PrivateKey.generate(kind)
        let message = try AgentRequest.addition(of: key, comment: "own")
        let bytes = message.copied()
        #expect(UInt32(bigEndianBytes: bytes.prefix(4)) == UInt32(bytes.count - 4))
        let body = Array(bytes.dropFirst(4))
        guard case .add(let identity, nil) = try AgentRequest.parse(body.span) else {
            Issue.record("no message that adds a key")
            return
        }
        let added = try AddedKey(identity, [])
        #expect(try added.blob == key.publicKey.openSSH())
        #expect(added.comment == Array("own".utf8))
        #expect(throws: CryptoError.self) {
            _ = try AgentRequest.addition(of: PrivateKey.generate(.x25519), comment: "")
        }
    }

    /// A message is kept like a secret where a part of it is read as one.
    @Test func messagesWithSecretsAreKnownByTheirKind() {
        let secret: Set = [
            "add", "addConstrained", "addModule", "addModuleConstrained", "removeModule", "lock", "unlock",
        ]
        for (name, request) in Samples.requests {
            #expect(AgentRequest.mayHaveSecret(kind: request.encoded()[0]) == secret.contains(name), "\(name)")
        }
        #expect(!AgentRequest.mayHaveSecret(kind: 200))
    }

    @Test func otherKindsOfMessagesAreNone() throws {
        for kind in [0, 1, 7, 12, 24, 28, 255] as [UInt8] {
            let bytes = [kind, 0, 0, 0]
            #expect(try AgentRequest.parse(bytes.span) == nil)
        }
    }

    @Test func unknownConstraintsAreRefused() throws {
        var bytes = AgentRequest.add(Samples.identity, []).encoded() + [255]
        bytes.append(string: "other@example.com")
        #expect(throws: MalformedMessage.self) { try AgentRequest.parse(bytes.span) }
        let unknown = AgentRequest.add(Samples.identity, []).encoded() + [3]
        #expect(throws: MalformedMessage.self) { try AgentRequest.parse(unknown.span) }
    }

    /// A step needs a machine that it leads to, and no user at its beginning.
    @Test func stepsWithoutAMachineAreRefused() throws {
        let target = DestinationConstraint.Hop(host: [0x61], keys: [.init([1])])
        for (from, to) in [
            (.init(), .init()), (.init(user: [0x62]), target), (.init(host: [0x61]), target),
            (.init(keys: [.init([1])]), target), (.init(), .init(host: [0x61])),
        ] as [(DestinationConstraint.Hop, DestinationConstraint.Hop)] {
            let bytes = AgentRequest.add(
                Samples.identity, [.destinations([DestinationConstraint(from: from, to: to)])]
            ).encoded()
            #expect(throws: MalformedMessage.self) { try AgentRequest.parse(bytes.span) }
        }
    }

    /// The seeds of the fuzz targets are these samples. With TOKENKIT_WRITE_SEEDS they are written anew.
    @Test func eachMessageHasASeed() throws {
        var seeds: [String: [UInt8]] = [:]
        for (name, request) in Samples.requests { seeds["agentRequest/\(name)"] = request.encoded() }
        for (name, answer) in Samples.answers { seeds["agentAnswer/\(name)"] = answer.encoded() }
        var messages: [UInt8] = []
        let login = Samples.login(session: [1, 2], key: [3], hostKey: [4])
        let all =
            Samples.requests.map(\.1) + [
                .sign(key: [3], data: login, flags: 0),
                .sign(key: [3], data: Samples.fileSignature(namespace: "git"), flags: 0),
                .extend(
                    name: Array("session-bind@openssh.com".utf8),
                    content: [0, 0, 0, 1, 1, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1]),
            ]
        for message in all.map({ $0.encoded() }) {
            messages += [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
        }
        seeds["agentSession/all"] = messages
        let folder = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds")
        if ProcessInfo.processInfo.environment["TOKENKIT_WRITE_SEEDS"] != nil {
            for (name, bytes) in seeds {
                let file = folder.appending(path: name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(bytes).write(to: file)
            }
        }
        for (name, bytes) in seeds {
            #expect(try Data(contentsOf: folder.appending(path: name)) == Data(bytes), "\(name)")
        }
    }
}
