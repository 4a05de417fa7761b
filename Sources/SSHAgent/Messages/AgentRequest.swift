package import SecureBytes
package import SystemCrypto

/// A request to an agent: RFC 9987 §3, and OpenSSH's PROTOCOL.agent.
package enum AgentRequest: Sendable, Equatable {
    case listIdentities
    /// Has a key sign; ``SignatureFlags`` chooses the hash function of RSA.
    case sign(key: [UInt8], data: [UInt8], flags: UInt32)
    /// Adds a private key. Nil constraints come as the message without any.
    case add(NewIdentity, [KeyConstraint]?)
    case remove(key: [UInt8])
    case removeAll
    /// The same in the protocol of SSH 1, which `ssh-add -D` sends as well.
    case removeAllOfVersion1
    /// Adds the keys of a PKCS #11 module, by its path.
    case addModule(path: [UInt8], pin: SharedSecret, [KeyConstraint]?)
    case removeModule(path: [UInt8], pin: SharedSecret)
    case lock(SharedSecret)
    case unlock(SharedSecret)
    case extend(name: [UInt8], content: [UInt8])

    /// Bytes that a message may have, OpenSSH's limit.
    package static let maximumLength = 256 << 10

    private enum Kind: UInt8 {
        case removeAllOfVersion1 = 9
        case listIdentities = 11
        case sign = 13
        case add = 17
        case remove = 18
        case removeAll = 19
        case addModule = 20
        case removeModule = 21
        case lock = 22
        case unlock = 23
        case addConstrained = 25
        case addModuleConstrained = 26
        case extend = 27
    }

    /// Whether a message that begins with a byte may have a private key, a PIN or a passphrase.
    package static func mayHaveSecret(kind: UInt8) -> Bool {
        switch Kind(rawValue: kind) {
        case .add, .addConstrained, .addModule, .addModuleConstrained, .removeModule, .lock, .unlock: true
        case .listIdentities, .sign, .remove, .removeAll, .removeAllOfVersion1, .extend, nil: false
        }
    }

    /// Reads a message, without the length before it.
    ///
    /// - Returns: nil for a kind of message that this agent does not have.
    package static func parse(_ message: Span<UInt8>) throws(MalformedMessage) -> AgentRequest? {
        var rest = message
        guard let kind = Kind(rawValue: try rest.readByte()) else { return nil }
        let request = try parse(kind, &rest)
        try rest.finish()
        return request
    }

    @_lifetime(rest: copy rest)
    private static func parse(_ kind: Kind, _ rest: inout Span<UInt8>) throws(MalformedMessage) -> AgentRequest {
        switch kind {
        case .listIdentities: return .listIdentities
        case .sign:
            let (key, data) = (try rest.readBytes(), try rest.readBytes())
            return .sign(key: key, data: data, flags: try rest.readNumber())
        case .add: return .add(try NewIdentity(&rest), nil)
        case .addConstrained:
            let identity = try NewIdentity(&rest)
            return .add(identity, try KeyConstraint.all(&rest))
        case .remove: return .remove(key: try rest.readBytes())
        case .removeAll: return .removeAll
        case .removeAllOfVersion1: return .removeAllOfVersion1
        case .addModule, .addModuleConstrained:
            let (path, pin) = (try rest.readBytes(), try rest.readSecret())
            return .addModule(path: path, pin: pin, kind == .addModule ? nil : try KeyConstraint.all(&rest))
        case .removeModule:
            let path = try rest.readBytes()
            return .removeModule(path: path, pin: try rest.readSecret())
        case .lock: return .lock(try rest.readSecret())
        case .unlock: return .unlock(try rest.readSecret())
        case .extend:
            let name = try rest.readBytes()
            let content = Array(copying: rest)
            rest = rest.extracting(rest.count...)
            return .extend(name: name, content: content)
        }
    }

    /// The message, without the length before it; for clients. It has the secrets of the request.
    package func encoded() -> [UInt8] {
        switch self {
        case .listIdentities: return message(.listIdentities)
        case .sign(let key, let data, let flags):
            return message(.sign) {
                $0.append(string: key)
                $0.append(string: data)
                $0.append(number: flags)
            }
        case .add(let identity, let constraints):
            return message(constraints == nil ? .add : .addConstrained) {
                identity.append(to: &$0)
                for constraint in constraints ?? [] { constraint.append(to: &$0) }
            }
        case .remove(let key): return message(.remove) { $0.append(string: key) }
        case .removeAll: return message(.removeAll)
        case .removeAllOfVersion1: return message(.removeAllOfVersion1)
        case .addModule(let path, let pin, let constraints):
            return message(constraints == nil ? .addModule : .addModuleConstrained) {
                $0.append(string: path)
                $0.append(string: pin.secret.copied())
                for constraint in constraints ?? [] { constraint.append(to: &$0) }
            }
        case .removeModule(let path, let pin):
            return message(.removeModule) {
                $0.append(string: path)
                $0.append(string: pin.secret.copied())
            }
        case .lock(let secret): return message(.lock) { $0.append(string: secret.secret.copied()) }
        case .unlock(let secret): return message(.unlock) { $0.append(string: secret.secret.copied()) }
        case .extend(let name, let content):
            return message(.extend) {
                $0.append(string: name)
                $0 += content
            }
        }
    }

    /// The message that adds a key without constraints, behind its length; for clients.
    ///
    /// - Throws: `unsupported` for kinds of keys that SSH does not use.
    package static func addition(of key: PrivateKey, comment: String) throws(CryptoError) -> Secret {
        let (fields, comment) = (SharedSecret(try key.openSSHFields()), Array(comment.utf8))
        return Secret(capacity: 9 + fields.secret.count + comment.count) { output in
            output.append(bigEndian: UInt32(clamping: 5 + fields.secret.count + comment.count))
            output.append(Kind.add.rawValue)
            append(fields.secret, to: &output)
            output.append(lengthPrefixed: comment.span)
        }
    }

    private static func append(_ fields: borrowing Secret, to output: inout OutputSpan<UInt8>) {
        output.append(fields.bytes)
    }

    private func message(_ kind: Kind, _ content: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        var bytes = [kind.rawValue]
        content(&bytes)
        return bytes
    }
}

/// The flags of a request for a signature, RFC 9987 §3.6.1. Without one of the two, RSA would sign with SHA-1.
package enum SignatureFlags {
    package static let rsaSHA256: UInt32 = 2
    package static let rsaSHA512: UInt32 = 4

    /// Whether this agent has all the flags: with others, the client would get another signature than it wants. The flag 1 chose a form of
    /// DSA's signatures before SSH 2 was standardised, and no client that is maintained sets it. OpenSSH's agent ignores such flags.
    static func areKnown(_ flags: UInt32) -> Bool { flags & ~(rsaSHA256 | rsaSHA512) == 0 }
}

/// A private key that a client adds, with a certificate of it or without.
package struct NewIdentity: Sendable, Equatable {
    /// The kind of key, `ssh-ed25519`.
    package let kind: [UInt8]
    /// The numbers of the key, in the order in which the kind has them; of a key with a certificate, the certificate is the first one.
    package let fields: [SharedSecret]
    package let comment: [UInt8]

    package init(kind: [UInt8], fields: [SharedSecret], comment: [UInt8]) {
        (self.kind, self.fields, self.comment) = (kind, fields, comment)
    }

    @_lifetime(rest: copy rest)
    init(_ rest: inout Span<UInt8>) throws(MalformedMessage) {
        kind = try rest.readBytes()
        // A key in a security key signs there, and not here.
        guard let format = SSHKeyFormat(kind: kind), format.kindInSecurityKey == nil else { throw MalformedMessage() }
        var fields: [SharedSecret] = []
        for _ in 0..<format.privateFieldCount { fields.append(try rest.readSecret()) }
        self.fields = fields
        comment = try rest.readBytes()
    }

    func append(to message: inout [UInt8]) {
        message.append(string: kind)
        for field in fields { message.append(string: field.secret.copied()) }
        message.append(string: comment)
    }
}
