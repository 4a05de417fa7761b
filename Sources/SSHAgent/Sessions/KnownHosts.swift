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
            if let name { return Purpose.escaped(name) }
        }
        return nil
    }
}
