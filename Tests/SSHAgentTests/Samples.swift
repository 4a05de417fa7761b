import HostAPI
import KeychainHost
import Platform
import SecureBytes
import SystemCrypto

@testable import SSHAgent

/// Messages and keys of tests.
enum Samples {
    static func secret(_ text: String) -> SharedSecret { SharedSecret(Secret(copying: Array(text.utf8).span)) }
    static func shared(_ bytes: [UInt8]) -> SharedSecret { SharedSecret(Secret(copying: bytes.span)) }

    static let constraints: [KeyConstraint] = [
        .lifetime(seconds: 60), .confirmation,
        .destinations([
            DestinationConstraint(
                from: .init(), to: .init(user: Array("jo".utf8), host: Array("build".utf8), keys: [.init([1, 2, 3])])),
            DestinationConstraint(
                from: .init(host: Array("build".utf8), keys: [.init([1, 2, 3])]),
                to: .init(host: Array("shop".utf8), keys: [.init([4], isAuthority: true), .init([5])])),
        ]),
    ]

    static let identity = NewIdentity(
        kind: Array("ssh-ed25519".utf8), fields: [shared([1, 2]), shared([3, 4])], comment: Array("key".utf8))

    static let requests: [(String, AgentRequest)] = [
        ("list", .listIdentities), ("sign", .sign(key: [1, 2], data: [3, 4, 5], flags: SignatureFlags.rsaSHA256)),
        ("add", .add(identity, nil)), ("addConstrained", .add(identity, constraints)), ("remove", .remove(key: [1])),
        ("removeAll", .removeAll), ("removeAllOfVersion1", .removeAllOfVersion1),
        ("addModule", .addModule(path: Array("/lib/m.so".utf8), pin: secret("123456"), nil)),
        ("addModuleConstrained", .addModule(path: [0x6D], pin: secret(""), [.confirmation])),
        ("removeModule", .removeModule(path: [0x6D], pin: secret("123456"))), ("lock", .lock(secret("open"))),
        ("unlock", .unlock(secret("open"))), ("extend", .extend(name: Array("query".utf8), content: [1, 2])),
    ]

    static let answers: [(String, AgentAnswer)] = [
        ("failure", .failure), ("success", .success),
        ("identities", .identities([.init([1, 2], comment: [0x61]), .init([3], comment: [])])),
        ("signature", .signature([1, 2, 3])), ("extensionFailure", .extensionFailure),
        ("extension", .ofExtension(name: Array("query".utf8), content: [7])),
    ]

    // MARK: Logins

    static func login(
        session: [UInt8], user: String = "jo", key: [UInt8], hostKey: [UInt8]? = nil
    ) -> [UInt8] {
        var data: [UInt8] = []
        data.append(string: session)
        data.append(50)
        let method = hostKey == nil ? "publickey" : "publickey-hostbound-v00@openssh.com"
        for text in [user, "ssh-connection", method] { data.append(string: text) }
        data.append(1)
        data.append(string: "ssh-ed25519")
        data.append(string: key)
        if let hostKey { data.append(string: hostKey) }
        return data
    }

    static func fileSignature(namespace: String) -> [UInt8] {
        var data = Array("SSHSIG".utf8)
        data.append(string: namespace)
        data.append(string: [])
        data.append(string: "sha512")
        data.append(string: [UInt8](repeating: 1, count: 64))
        return data
    }

    /// The content of a request to bind, signed by the host's key.
    ///
    /// - Parameter certificate: a certificate of the key, which is bound in its place.
    static func bind(
        _ key: PrivateKey, certificate: [UInt8]? = nil, session: [UInt8], isForwarding: Bool = false
    ) throws -> [UInt8] {
        let (name, algorithm) = SSHSignature.algorithms(of: key.kind)[0]
        let signature = SSHSignature.encode(try key.sign(message: session, using: algorithm), by: name, key.kind)
        return bind(try certificate ?? key.publicKey.openSSH(), signature, session: session, isForwarding: isForwarding)
    }

    /// A certificate of a machine's key by an authority: OpenSSH's PROTOCOL.certkeys.
    static func certificate(
        of key: PrivateKey, by authority: PrivateKey, principals: [String], type: UInt32 = 2,
        valid: ClosedRange<UInt64> = 0...UInt64.max, options: [UInt8] = []
    ) throws -> [UInt8] {
        let plain = try key.publicKey.openSSH()
        var fields = plain.span
        let kind = String(decoding: try fields.readBytes(), as: UTF8.self)
        var bytes: [UInt8] = []
        bytes.append(string: kind + "-cert-v01@openssh.com")
        bytes.append(string: [1, 2, 3])
        bytes += plain.dropFirst(4 + kind.utf8.count)
        bytes += UInt64(7).bigEndianBytes
        bytes.append(number: type)
        bytes.append(string: "id")
        var names: [UInt8] = []
        for principal in principals { names.append(string: principal) }
        bytes.append(string: names)
        bytes += valid.lowerBound.bigEndianBytes + valid.upperBound.bigEndianBytes
        for part in [options, [], []] { bytes.append(string: part) }
        bytes.append(string: try authority.publicKey.openSSH())
        let (name, algorithm) = SSHSignature.algorithms(of: authority.kind)[0]
        bytes.append(
            string: SSHSignature.encode(try authority.sign(message: bytes, using: algorithm), by: name, authority.kind))
        return bytes
    }

    /// A key in a security key, and its signatures: OpenSSH's PROTOCOL.u2f.
    struct SecurityKey {
        let key: PrivateKey
        let kind: String
        let blob: [UInt8]
        let application = Array("ssh:host".utf8)

        init(_ kind: KeyKind) throws {
            key = try PrivateKey.generate(kind)
            let bare = try key.publicKey.openSSH()
            self.kind = "sk-\(SSHSignature.algorithms(of: kind)[0].name)@openssh.com"
            var blob: [UInt8] = []
            blob.append(string: self.kind)
            blob += bare.dropFirst(4 + self.kind.utf8.count - "sk-@openssh.com".utf8.count)
            blob.append(string: application)
            self.blob = blob
        }

        func sign(_ message: [UInt8]) throws -> [UInt8] {
            let behind = [1, 0, 0, 0, 7] as [UInt8]
            let data =
                try Digest.hash(application, using: .sha256) + behind + Digest.hash(message, using: .sha256)
            let value = try key.sign(message: data, using: SSHSignature.algorithms(of: key.kind)[0].algorithm)
            return SSHSignature.encode(value, by: kind, key.kind) + behind
        }
    }

    /// The content of a request to bind, of any key.
    static func bind(
        _ blob: [UInt8], _ signature: [UInt8], session: [UInt8], isForwarding: Bool = false
    ) -> [UInt8] {
        var content: [UInt8] = []
        for part in [blob, session, signature] { content.append(string: part) }
        content.append(isForwarding ? 1 : 0)
        return content
    }

    /// A new Ed25519 key as a client adds it, and its public half.
    static func newKey() throws -> (identity: NewIdentity, blob: [UInt8]) {
        let key = try PrivateKey.generate(.ed25519)
        let point = key.publicKey.rawRepresentation
        let fields = [shared(point), shared(try key.scalar().copied() + point)]
        return (
            NewIdentity(kind: Array("ssh-ed25519".utf8), fields: fields, comment: Array("new".utf8)),
            try key.publicKey.openSSH()
        )
    }

    /// A host without cards and keychains.
    @Sendable static func emptyHost() -> any InProcessHost {
        let preferences = KeychainPreferences(
            directories: Directories(system: "/nonexistent") { ["HOME": "/nonexistent"][$0] })
        return Host(
            forTokensOf: ProcessKeychains(preferences, drivers: { _ in [] }, readers: { [] }), prompter: nil,
            touchPrompter: nil)
    }

    static func session(
        _ agent: Agent = Agent(emptyHost), process: Int32 = 1, asking prompter: any Prompter = NoPrompter()
    ) -> AgentSession {
        AgentSession(
            agent,
            for: AgentClient(
                named: "ssh", at: "/opt/a\nb/ssh", process: process, { _, _ in emptyHost() }, asking: { prompter }))
    }
}

/// The binds of a connection, as a reference: `#expect` calls no function that changes a value.
final class ConnectionBinds {
    private(set) var value = SessionBinds()

    func bind(_ content: [UInt8]) -> Bool { value.bind(content) }
    func mayList(_ constraints: [DestinationConstraint]) -> Bool { value.mayList(constraints) }
    func maySign(_ constraints: [DestinationConstraint], _ data: SignedData) -> Bool {
        value.maySign(constraints, data)
    }
}
