internal import SecureBytes

/// A limit of the use of an added key: RFC 9987 §3.2.7.
package enum KeyConstraint: Sendable, Equatable {
    /// The key is removed after so many seconds.
    case lifetime(seconds: UInt32)
    /// Each use is asked for.
    case confirmation
    /// The key signs in only on these ways. OpenSSH's PROTOCOL.agent, `restrict-destination-v00@openssh.com`.
    case destinations([DestinationConstraint])

    private static let extensionName = Array("restrict-destination-v00@openssh.com".utf8)

    private enum Kind: UInt8 {
        case lifetime = 1
        case confirmation = 2
        case ofExtension = 255
    }

    /// Reads constraints up to the end of a message. One that is unknown makes the message malformed, since the key would be used without it;
    /// so does one that is there twice, or allows nothing.
    @_lifetime(rest: copy rest)
    static func all(_ rest: inout Span<UInt8>) throws(MalformedMessage) -> [KeyConstraint] {
        var constraints: [KeyConstraint] = []
        var kinds: Set<Kind> = []
        while !rest.isEmpty {
            let kind = Kind(rawValue: try rest.readByte())
            if let kind { guard kinds.insert(kind).inserted else { throw MalformedMessage() } }
            switch kind {
            case .lifetime: constraints.append(.lifetime(seconds: try rest.readNumber()))
            case .confirmation: constraints.append(.confirmation)
            case .ofExtension:
                guard try rest.readBytes() == extensionName else { throw MalformedMessage() }
                constraints.append(.destinations(try destinations(rest.readString())))
            case nil: throw MalformedMessage()
            }
        }
        return constraints
    }

    private static func destinations(_ bytes: Span<UInt8>) throws(MalformedMessage) -> [DestinationConstraint] {
        var (rest, destinations) = (bytes, [DestinationConstraint]())
        while !rest.isEmpty {
            guard destinations.count < DestinationConstraint.maximumCount else { throw MalformedMessage() }
            destinations.append(try DestinationConstraint(parsing: rest.readString()))
        }
        guard !destinations.isEmpty else { throw MalformedMessage() }
        return destinations
    }

    func append(to message: inout [UInt8]) {
        switch self {
        case .lifetime(let seconds):
            message.append(Kind.lifetime.rawValue)
            message.append(number: seconds)
        case .confirmation: message.append(Kind.confirmation.rawValue)
        case .destinations(let destinations):
            message.append(Kind.ofExtension.rawValue)
            message.append(string: KeyConstraint.extensionName)
            var list: [UInt8] = []
            for destination in destinations { list.append(string: destination.encoded()) }
            message.append(string: list)
        }
    }
}

/// A step on which a key may be used, from one machine to the next.
package struct DestinationConstraint: Sendable, Equatable {
    /// An end of the step.
    package struct Hop: Sendable, Equatable {
        /// A pattern of users; empty for any.
        package var user: [UInt8]
        /// The name of the machine; empty for the machine of the agent.
        package var host: [UInt8]
        package var keys: [HostKey]

        package init(user: [UInt8] = [], host: [UInt8] = [], keys: [HostKey] = []) {
            (self.user, self.host, self.keys) = (user, host, keys)
        }
    }

    package struct HostKey: Sendable, Equatable {
        package let key: [UInt8]
        /// Whether the key is that of an authority, whose certificates the host shows.
        package let isAuthority: Bool

        package init(_ key: [UInt8], isAuthority: Bool = false) { (self.key, self.isAuthority) = (key, isAuthority) }
    }

    package let from: Hop
    package let to: Hop

    static let maximumCount = 1024
    /// In bytes, of a user's name and of a pattern of them.
    static let maximumUserLength = 1024
    private static let maximumKeys = 1024

    package init(from: Hop, to: Hop) { (self.from, self.to) = (from, to) }

    fileprivate init(parsing bytes: Span<UInt8>) throws(MalformedMessage) {
        var rest = bytes
        from = try DestinationConstraint.hop(rest.readString())
        to = try DestinationConstraint.hop(rest.readString())
        try DestinationConstraint.skipReserved(&rest)
        try rest.finish()
        // A step begins at a machine with keys or at the agent's own, and leads to one with keys.
        guard from.host.isEmpty == from.keys.isEmpty, from.user.isEmpty, !to.host.isEmpty, !to.keys.isEmpty else {
            throw MalformedMessage()
        }
    }

    private static func hop(_ bytes: Span<UInt8>) throws(MalformedMessage) -> Hop {
        var rest = bytes
        var hop = Hop(user: try rest.readBytes(), host: try rest.readBytes())
        guard hop.user.count <= maximumUserLength else { throw MalformedMessage() }
        try skipReserved(&rest)
        while !rest.isEmpty {
            guard hop.keys.count < maximumKeys else { throw MalformedMessage() }
            let key = try rest.readBytes()
            hop.keys.append(HostKey(key, isAuthority: try rest.readFlag()))
        }
        return hop
    }

    @_lifetime(rest: copy rest)
    private static func skipReserved(_ rest: inout Span<UInt8>) throws(MalformedMessage) {
        try rest.readString().finish()
    }

    fileprivate func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        for hop in [from, to] {
            var part: [UInt8] = []
            part.append(string: hop.user)
            part.append(string: hop.host)
            part.append(string: [])
            for key in hop.keys {
                part.append(string: key.key)
                part.append(key.isAuthority ? 1 : 0)
            }
            bytes.append(string: part)
        }
        bytes.append(string: [])
        return bytes
    }
}
