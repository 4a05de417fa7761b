internal import Platform
internal import SecureBytes
internal import SystemCrypto

/// The names of servers by their keys, in the user's `known_hosts`: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT". A hashed name cannot be told.
struct KnownHosts {
    private let text: [UInt8]

    private static let maximumLength = 4 << 20

    /// - Parameter folder: the user's folder `.ssh`; nil for none.
    init(in folder: String?) {
        text = folder.flatMap { OwnFile.read("\($0)/known_hosts", limit: KnownHosts.maximumLength) } ?? []
    }

    init(_ text: [UInt8]) { self.text = text }

    /// The first name of a host; nil where none is known.
    func name(of key: [UInt8]) -> String? {
        let digits = Array(Base64.encode(key).utf8)
        for line in text.split(separator: 0x0A) {
            let words = line.split { $0 == 0x20 || $0 == 0x09 }
            // Lines that begin with a mark are about authorities and revoked keys.
            guard words.count >= 3, words[2].elementsEqual(digits), let mark = words[0].first,
                mark != UInt8(ascii: "@"), mark != UInt8(ascii: "#"), mark != UInt8(ascii: "|")
            else { continue }
            let name = words[0].split(separator: UInt8(ascii: ",")).first { name in
                !name.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "!") }
            }
            if let name { return Purpose.text(Array(name)) }
        }
        return nil
    }
}

/// The purpose of a signature in words that complete "PIN to …". All names are another machine's choice.
enum Purpose {
    private static let maximumLength = 64

    /// A name in one line of limited length.
    static func text(_ bytes: [UInt8]) -> String {
        let text = DisplayText.line(String(decoding: bytes.prefix(4 * maximumLength), as: UTF8.self))
        return text.count > maximumLength ? text.prefix(maximumLength) + "…" : text
    }

    /// - Parameter binds: the machines that the client's connection leads to.
    static func words(for data: SignedData, _ binds: SessionBinds, _ hosts: @autoclosure () -> KnownHosts) -> String {
        let hosts = hosts()
        return use(data, binds, hosts) + origin(binds, hosts)
    }

    private static func use(_ data: SignedData, _ binds: SessionBinds, _ hosts: KnownHosts) -> String {
        switch data {
        case .login(let login):
            let key = login.hostKey ?? binds.binds.last?.hostKey
            return "log in with ssh as \(text(login.user))\(key.map { " at \(host($0, hosts))" } ?? "")"
        case .signature(let namespace):
            let name = text(namespace)
            let subject = name == "git" ? "a git commit or tag" : "a file"
            return "sign \(subject) with ssh (namespace \(name))"
        case .other: return "sign data of no known form with ssh"
        }
    }

    /// The last machine that the agent is forwarded to, which sends the request.
    private static func origin(_ binds: SessionBinds, _ hosts: KnownHosts) -> String {
        guard binds.isForwarded else { return "" }
        guard let last = binds.forwarders.last else { return ", forwarded from an unknown machine" }
        return ", forwarded from \(hosts.name(of: last.hostKey) ?? host(last.hostKey, hosts))"
    }

    private static func host(_ key: [UInt8], _ hosts: KnownHosts) -> String {
        let description = SSHPublicKey(key)?.description ?? SSHPublicKey.fingerprint(of: key)
        return hosts.name(of: key).map { "\($0) (\(description))" } ?? "host \(description)"
    }
}
