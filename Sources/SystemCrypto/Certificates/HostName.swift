internal import Glibc

/// Names of hosts in certificates, RFC 6125 §6.4.
package enum HostName {
    /// Whether a name in a certificate matches the host. A `*` in the name matches only the first label.
    package static func matches(_ host: String, _ pattern: String) -> Bool {
        let labels = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        let expected = pattern.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count == expected.count, !labels.contains("") else { return false }
        guard expected.first == "*" else { return labels == expected }
        return expected.count > 2 && labels.dropFirst() == expected.dropFirst()
    }

    /// Whether a certificate may have the name for a host: labels of RFC 1123 §2.1, of which the first may be a `*` where two
    /// others follow. An IP address is not such a name.
    package static func isPattern(_ name: String) -> Bool {
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let plain = labels.first == "*" && labels.count > 2 ? labels.dropFirst() : labels[...]
        return name.utf8.count <= 253 && plain.allSatisfy(isLabel) && plain.last?.contains { !$0.isNumber } == true
    }

    /// Whether the text is an e-mail address of RFC 5280 §4.2.1.6: a printable local part, and a host.
    package static func isAddress(_ address: String) -> Bool {
        guard let at = address.lastIndex(of: "@"), at != address.startIndex else { return false }
        let host = String(address[address.index(after: at)...])
        return address[..<at].utf8.allSatisfy { (0x21...0x7E).contains($0) } && !host.hasPrefix("*") && isPattern(host)
    }

    /// Whether the text is a URI of RFC 5280 §4.2.1.6: ASCII characters that are seen, with a scheme (RFC 3986 §3.1) and something after it.
    package static func isURI(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), let first = text.utf8.first else { return false }
        let scheme = text.utf8[..<colon]
        let isScheme = scheme.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
            default: false
            }
        }
        return isScheme && (0x41...0x5A).contains(first & ~0x20) && text.utf8.index(after: colon) != text.utf8.endIndex
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The octets of a host that is an IP address, as certificates have them (RFC 5280 §4.2.1.6); nil for a name.
    static func octets(ofAddress host: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var octets = [UInt8](repeating: 0, count: count)
            if unsafe inet_pton(family, host, &octets) == 1 { return octets }
        }
        return nil
    }

    private static func isLabel(_ label: Substring) -> Bool {
        let isPlain = label.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
            default: false
            }
        }
        return isPlain && (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
    }
}
