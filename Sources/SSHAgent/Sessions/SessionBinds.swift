internal import SecureBytes

/// The SSH connections that a connection to the agent belongs to: OpenSSH's PROTOCOL.agent, `session-bind@openssh.com`.
///
/// Each but the last one forwards the agent to a further machine. The rules are those of OpenSSH's agent.
struct SessionBinds {
    /// A machine at the other end of an SSH connection, which has proved to have its key.
    struct Bind: Equatable {
        let hostKey: [UInt8]
        let session: [UInt8]
        /// Whether the agent is forwarded to the machine, which may then send requests.
        let isForwarding: Bool
        /// The certificate of the host key; nil for one without.
        let certificate: HostCertificate?

        /// A text that no other machine has.
        var machineID: String { SSHPublicKey.fingerprint(of: SSHPublicKey(hostKey)?.plain ?? hostKey) }
    }

    private(set) var binds: [Bind] = []
    /// Whether a client has tried to bind, with success or not.
    private(set) var wasAttempted = false
    /// Whether an attempt failed. A machine is missing among the binds then: its host key may be of a kind that is unknown here.
    private(set) var hasFailed = false
    /// Whether requests may come from another machine. An attempt without success also counts.
    private(set) var isForwarded = false

    static let maximumCount = 16
    private static let maximumSessionLength = 128

    /// A request to bind.
    ///
    /// - Returns: false where the machine does not prove its key, or the order is not one that SSH has.
    mutating func bind(_ content: [UInt8]) -> Bool {
        wasAttempted = true
        let isBound = add(content)
        if !isBound { hasFailed = true }
        return isBound
    }

    private mutating func add(_ content: [UInt8]) -> Bool {
        guard let (bind, signature) = try? SessionBinds.parse(content.span) else {
            isForwarded = true
            return false
        }
        if bind.isForwarding { isForwarded = true }
        guard bind.session.count <= SessionBinds.maximumSessionLength, let key = SSHPublicKey(bind.hostKey),
            key.verify(signature, of: bind.session), key.hasCertificate == (bind.certificate != nil)
        else { return false }
        for known in binds {
            // Nothing follows a login.
            guard known.isForwarding else { return false }
            if known.session == bind.session { return known.hostKey == bind.hostKey }
        }
        guard binds.count < SessionBinds.maximumCount else { return false }
        binds.append(bind)
        return true
    }

    private static func parse(
        _ content: Span<UInt8>
    ) throws(MalformedMessage) -> (Bind, signature: [UInt8]) {
        var rest = content
        let (hostKey, session, signature) = (try rest.readBytes(), try rest.readBytes(), try rest.readBytes())
        let bind = Bind(
            hostKey: hostKey, session: session, isForwarding: try rest.readFlag(),
            certificate: HostCertificate(hostKey))
        try rest.finish()
        return (bind, signature)
    }

    /// The machines that the agent is forwarded to, in their order.
    var forwarders: [Bind] { binds.filter(\.isForwarding) }

    /// The keys of all machines that the agent is forwarded to, in their order, as a text; nil where one of the machines is unknown.
    ///
    /// Each of these machines can send requests in the name of the last one. A certificate does not count, since a new one makes no other
    /// machine.
    var originID: String? {
        guard isForwarded, !hasFailed, !forwarders.isEmpty else { return nil }
        return forwarders.map(\.machineID).joined(separator: " ")
    }

    /// The machine that the client itself is connected to: the only one so far. Nil for any other order.
    var direct: Bind? { hasFailed || binds.count != 1 ? nil : binds[0] }

    /// Whether a login is one at the machine that was bound last. Without a bind there is nothing to compare.
    func admit(_ login: SignedData.Login) -> Bool {
        guard let last = binds.last else { return true }
        guard login.session == last.session else { return false }
        // The older form shows no key, and is known to lead to the first machine alone.
        guard let hostKey = login.hostKey else { return binds.count == 1 }
        return hostKey == last.hostKey
    }

    // MARK: Constraints

    /// Whether a key with constraints may be shown to the client.
    func mayList(_ constraints: [DestinationConstraint]) -> Bool { permits(constraints, user: nil) }

    /// Whether a key with constraints may sign. Only logins can be told to go where they may.
    func maySign(_ constraints: [DestinationConstraint], _ data: SignedData) -> Bool {
        guard !binds.isEmpty, case .login(let login) = data, admit(login) else { return false }
        return permits(constraints, user: login.user)
    }

    private func permits(_ constraints: [DestinationConstraint], user: [UInt8]?) -> Bool {
        guard !hasFailed else { return false }
        guard let last = binds.last else { return !wasAttempted }
        var from: Bind?
        for (index, bind) in binds.enumerated() {
            let isLast = index == binds.count - 1
            // A signature is for a login, and only forwarding leads on to a further machine.
            guard isLast ? !(bind.isForwarding && user != nil) : bind.isForwarding else { return false }
            guard constraints.contains(where: { $0.permits(from, bind, user: isLast ? user : nil) }) else {
                return false
            }
            from = bind
        }
        // A machine is shown the keys that may be used beyond it.
        return !last.isForwarding || constraints.contains { $0.permits(last, nil, user: nil) }
    }
}

extension DestinationConstraint {
    /// Whether the step is one that the constraint permits.
    ///
    /// - Parameters:
    ///   - source: the machine that the step comes from; nil for the agent's own machine.
    ///   - destination: the machine that the step leads to; nil for any.
    ///   - user: the user there; nil for any.
    fileprivate func permits(_ source: SessionBinds.Bind?, _ destination: SessionBinds.Bind?, user: [UInt8]?) -> Bool {
        guard source.map(from.has) ?? from.keys.isEmpty, destination.map(to.has) ?? true else { return false }
        guard let user, !to.user.isEmpty else { return true }
        // The time of a comparison is limited by the product of both lengths.
        guard user.count <= DestinationConstraint.maximumUserLength else { return false }
        return Pattern.matches(user[...], to.user[...])
    }
}

extension DestinationConstraint.Hop {
    /// Whether the hop is at a machine: one with one of its keys or, of a machine that shows a certificate, one that an authority of its has
    /// certified under its name. OpenSSH's agent compares a certified key with authorities alone, too.
    fileprivate func has(_ machine: SessionBinds.Bind) -> Bool {
        guard let certificate = machine.certificate else {
            return keys.contains { !$0.isAuthority && $0.key == machine.hostKey }
        }
        return keys.contains { $0.isAuthority && $0.key == certificate.authority } && certificate.isValid()
            && certificate.names(host)
    }
}

/// Patterns of OpenSSH, ssh_config(5): `*` for any characters, `?` for one.
enum Pattern {
    static func matches(_ text: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
        var (text, pattern) = (text, pattern)
        var retry: (text: ArraySlice<UInt8>, pattern: ArraySlice<UInt8>)?
        while true {
            if pattern.first == UInt8(ascii: "*") {
                pattern = pattern.dropFirst()
                retry = (text, pattern)
            } else if let first = text.first, let wanted = pattern.first, wanted == first || wanted == UInt8(ascii: "?")
            {
                (text, pattern) = (text.dropFirst(), pattern.dropFirst())
            } else if text.isEmpty, pattern.isEmpty {
                return true
            } else if let last = retry, !last.text.isEmpty {
                (text, pattern) = (last.text.dropFirst(), last.pattern)
                retry = (text, pattern)
            } else {
                return false
            }
        }
    }
}
