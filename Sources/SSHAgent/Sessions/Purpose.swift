internal import HostAPI
internal import SecureBytes

/// The purpose of a signature in words that complete "PIN to …".
struct Purpose {
    /// The use of the signature.
    let use: String
    /// The machine that sends the request, and those on the way there; nil for none.
    let machine: String?

    private static let maximumLength = 64
    static let unknownMachine = "an unknown machine"

    /// - Parameter binds: the machines that the client's connection leads to.
    init(of data: SignedData, _ binds: SessionBinds, _ hosts: KnownHosts) {
        use = Purpose.use(data, binds, hosts)
        machine = binds.isForwarded ? Purpose.machine(binds, hosts) : nil
    }

    /// The last machine that the agent is forwarded to, and those on the way there, each of which can send requests in its name.
    static func machine(_ binds: SessionBinds, _ hosts: KnownHosts) -> String {
        let names = binds.forwarders.reversed().map { name(of: $0.hostKey, hosts) }
        guard !names.isEmpty else { return unknownMachine }
        return names.joined(separator: ", over ") + (binds.hasFailed ? ", and \(unknownMachine)" : "")
    }

    /// The name of a machine, or its key where it is not among the known ones.
    static func name(of hostKey: [UInt8], _ hosts: KnownHosts) -> String {
        hosts.name(of: hostKey) ?? host(hostKey, hosts)
    }

    var words: String { use + (machine.map { ", forwarded from \($0)" } ?? "") }

    private static func use(_ data: SignedData, _ binds: SessionBinds, _ hosts: KnownHosts) -> String {
        switch data {
        case .login(let login):
            let key = login.hostKey ?? binds.binds.last?.hostKey
            return "log in with ssh as \(quoted(login.user))\(key.map { " at \(host($0, hosts))" } ?? "")"
        case .signature(let namespace):
            let subject = namespace.elementsEqual("git".utf8) ? "a git commit or tag" : "a file"
            return "sign \(subject) with ssh (namespace \(quoted(namespace)))"
        case .other: return "sign data of no known form with ssh"
        }
    }

    private static func host(_ key: [UInt8], _ hosts: KnownHosts) -> String {
        let description = SSHPublicKey(key)?.description ?? SSHPublicKey.fingerprint(of: key)
        return hosts.name(of: key).map { "\($0) (\(description))" } ?? "host \(description)"
    }

    // MARK: Names

    /// A name that another machine has chosen, in quotation marks that it cannot end.
    private static func quoted(_ name: [UInt8]) -> String { "'\(escaped(name) { $0 == "'" || $0 == "\\" })'" }

    /// A name in one line of limited length, with each character escaped that is not shown as itself, or is special.
    static func escaped(
        _ name: some Collection<UInt8>, _ isSpecial: (Unicode.Scalar) -> Bool = { _ in false }
    ) -> String {
        var (text, length) = ("", 0)
        for scalar in String(decoding: name.prefix(4 * maximumLength), as: UTF8.self).unicodeScalars {
            let part =
                isSpecial(scalar) ? "\\" + Hex.encode(Array(String(scalar).utf8)) : DisplayText.escaped(String(scalar))
            length += part.unicodeScalars.count
            guard length <= maximumLength else { return text + "…" }
            text += part
        }
        return text
    }
}

/// The question whether a key may be used.
struct UseQuestion {
    let purpose: Purpose
    /// The name of the key.
    let key: String
    let client: AgentClient

    /// The question in lines, for a single use. The first one has no text that another program or machine has chosen.
    var lines: [String] {
        ["Allow one use of a key with ssh?"] + question(offersAlways: false).lines(from: purpose.machine)
    }

    /// The question about a use by another machine. No answer holds from now on where one of the machines on the way is not shown.
    func ofMachine(offersAlways: Bool) -> AccessQuestion {
        let machine = purpose.machine ?? Purpose.unknownMachine
        return question(offersAlways: offersAlways && AccessQuestion.showsWhole(machine: machine), from: machine)
    }

    private func question(offersAlways: Bool, from machine: String? = nil) -> AccessQuestion {
        AccessQuestion(
            .sign, of: DisplayText.escaped(key),
            by: .init(name: DisplayText.escaped(client.name), path: DisplayText.escaped(client.path)),
            for: purpose.use, offersAlways: offersAlways, from: machine)
    }
}
