internal import SecureBytes

/// The answer to a request: RFC 9987 §3.
package enum AgentAnswer: Sendable, Equatable {
    case failure
    case success
    case identities([Identity])
    case signature([UInt8])
    /// An extension that the agent does not have, or that fails.
    case extensionFailure
    case ofExtension(name: [UInt8], content: [UInt8])

    /// A key, by its public half or a certificate of it.
    package struct Identity: Sendable, Equatable {
        package let key: [UInt8]
        package let comment: [UInt8]

        package init(_ key: [UInt8], comment: [UInt8]) { (self.key, self.comment) = (key, comment) }
    }

    private enum Kind: UInt8 {
        case failure = 5
        case success = 6
        case identities = 12
        case signature = 14
        case extensionFailure = 28
        case ofExtension = 29
    }

    /// The bytes that the identities of a list may have together: clients take messages of 256 KiB.
    static let maximumListLength = AgentRequest.maximumLength - 5

    /// The message, without the length before it.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8]
        switch self {
        case .failure: bytes = [Kind.failure.rawValue]
        case .success: bytes = [Kind.success.rawValue]
        case .identities(let identities):
            bytes = [Kind.identities.rawValue]
            bytes.append(number: UInt32(clamping: identities.count))
            for identity in identities {
                bytes.append(string: identity.key)
                bytes.append(string: identity.comment)
            }
        case .signature(let signature):
            bytes = [Kind.signature.rawValue]
            bytes.append(string: signature)
        case .extensionFailure: bytes = [Kind.extensionFailure.rawValue]
        case .ofExtension(let name, let content):
            bytes = [Kind.ofExtension.rawValue]
            bytes.append(string: name)
            bytes += content
        }
        return bytes
    }

    /// Reads a message, without the length before it; for clients.
    package init(parsing message: Span<UInt8>) throws(MalformedMessage) {
        var rest = message
        switch Kind(rawValue: try rest.readByte()) {
        case .failure: self = .failure
        case .success: self = .success
        case .identities:
            let count = try rest.readNumber()
            // Each has two lengths of four bytes.
            guard count <= rest.count / 8 else { throw MalformedMessage() }
            var identities: [Identity] = []
            for _ in 0..<count { identities.append(Identity(try rest.readBytes(), comment: try rest.readBytes())) }
            self = .identities(identities)
        case .signature: self = .signature(try rest.readBytes())
        case .extensionFailure: self = .extensionFailure
        case .ofExtension:
            self = .ofExtension(name: try rest.readBytes(), content: Array(copying: rest))
            return
        case nil: throw MalformedMessage()
        }
        try rest.finish()
    }

    /// The fingerprint of a key, as OpenSSH shows it.
    package static func fingerprint(of key: [UInt8]) -> String { SSHPublicKey.fingerprint(of: key) }
}
