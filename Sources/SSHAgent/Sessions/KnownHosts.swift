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

    private struct Line {
        /// "@cert-authority" or "@revoked"; nil for a line about a host's own key.
        let mark: String?
        let names: [ArraySlice<UInt8>]
        let key: ArraySlice<UInt8>

        init?(_ line: ArraySlice<UInt8>) {
            var words = line.split { $0 == 0x20 || $0 == 0x09 }[...]
            mark = words.first?.first == UInt8(ascii: "@") ? String(decoding: words.removeFirst(), as: UTF8.self) : nil
            guard words.count >= 3, let names = words.first, let first = names.first, first != UInt8(ascii: "#") else {
                return nil
            }
            // The names of a hashed line are unknown.
            self.names = first == UInt8(ascii: "|") ? [] : names.split(separator: UInt8(ascii: ","))
            key = words[words.startIndex + 2]
        }
    }

    private func lines(about key: [UInt8]) -> some Sequence<Line> {
        let digits = Array(Base64.encode(key).utf8)
        return text.split(separator: 0x0A).lazy.compactMap(Line.init).filter { $0.key.elementsEqual(digits) }
    }

    /// The first name of a host; nil where none is known. A host that shows a certificate has the names in it that a line grants its
    /// authority.
    func name(of key: [UInt8]) -> String? {
        guard let certificate = HostCertificate(key) else {
            let names = lines(about: key).filter { $0.mark == nil }.lazy.flatMap(\.names)
            return names.first { !KnownHosts.isPattern($0) }.map { Purpose.escaped($0) }
        }
        let lines = Array(lines(about: certificate.authority))
        guard certificate.isValid(), !lines.contains(where: { $0.mark == "@revoked" }) else { return nil }
        let granted = lines.filter { $0.mark == "@cert-authority" }.map(\.names)
        return certificate.principals.first { name in
            !KnownHosts.isPattern(name[...]) && granted.contains { KnownHosts.grant($0, name) }
        }.map { Purpose.escaped($0) }
    }

    private static func isPattern(_ name: ArraySlice<UInt8>) -> Bool {
        name.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "!") }
    }

    /// Whether a name is one of a list of patterns, of which those behind an exclamation mark take names out.
    private static func grant(_ patterns: [ArraySlice<UInt8>], _ name: [UInt8]) -> Bool {
        guard name.count <= DestinationConstraint.maximumUserLength else { return false }
        var isGranted = false
        for pattern in patterns where pattern.count <= DestinationConstraint.maximumUserLength {
            let isExclusion = pattern.first == UInt8(ascii: "!")
            let pattern = host(isExclusion ? pattern.dropFirst() : pattern)
            guard Pattern.matches(name[...], pattern) else { continue }
            if isExclusion { return false }
            isGranted = true
        }
        return isGranted
    }

    /// The name in a pattern with a port, `[name]:port`, which certificates do not have.
    private static func host(_ pattern: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard pattern.first == UInt8(ascii: "["), let end = pattern.firstIndex(of: UInt8(ascii: "]")) else {
            return pattern
        }
        return pattern[..<end].dropFirst()
    }
}
