internal import SecureBytes

/// Public keys in OpenSSH's text form, one on each line: a `.pub` file, or `authorized_keys`, sshd(8).
public enum OpenSSHPublicKeys {
    /// Whether a text has such a line, valid or not: a kind, and the beginning that the Base64 of every kind has.
    public static func areIn(_ text: [UInt8]) -> Bool {
        lines(of: text).contains { kindIndex(in: words(of: $0)) != nil }
    }

    /// The keys of all lines. Blank lines, and lines that begin with `#`, are ignored.
    ///
    /// - Throws: `malformed` for any other line; `unsupported` for unknown kinds of keys, and for options before a kind, which
    ///   nothing here would obey. The error names the line.
    public static func parse(_ text: [UInt8]) throws(CryptoError) -> [PublicKey] {
        var keys: [PublicKey] = []
        for (index, line) in lines(of: text).enumerated() {
            let words = words(of: line)
            guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
            do throws(CryptoError) {
                guard line.count <= maximumLineLength else { throw PublicKey.malformedLine }
                if let index = kindIndex(in: words), index > 0 {
                    throw CryptoError(.unsupported, "options before an OpenSSH public key")
                }
                keys.append(try PublicKey(openSSHWords: words))
            } catch {
                throw CryptoError(error.code, "line \(index + 1), \(error.operation)", reason: error.reason)
            }
        }
        return keys
    }

    /// The line of a key: its kind, the key in Base64, and a comment where it is not empty.
    ///
    /// - Throws: `unsupported` for kinds of keys that SSH does not use.
    public static func line(_ key: PublicKey, comment: String = "") throws(CryptoError) -> String {
        let blob = try key.openSSH()
        // The first string of the key, behind its length of four bytes, is the kind.
        let kind = String(decoding: blob.dropFirst(4).prefix { $0 >= 0x20 }, as: UTF8.self)
        let words = [kind, Base64.encode(blob), DisplayText.line(comment)]
        return words.filter { !$0.isEmpty }.joined(separator: " ") + "\n"
    }

    private static let maximumLineLength = 1 << 16

    private static func lines(of text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.split(separator: 0x0A, omittingEmptySubsequences: false)
    }

    private static func words(of line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        line.split { [0x20, 0x09, 0x0D].contains($0) }
    }

    /// The index of the kind in a line. The blob behind it begins with a small length, so that its Base64 begins with three zero
    /// digits, `AAA`.
    private static func kindIndex(in words: [ArraySlice<UInt8>]) -> Int? {
        words.indices.dropLast().first { index in
            kinds.contains { words[index].starts(with: $0.utf8) } && words[index + 1].starts(with: "AAA".utf8)
        }
    }

    private static let kinds = ["ssh-", "ecdsa-sha2-", "sk-"]
}

extension PublicKey {
    /// A key in SSH's wire format, as ``openSSH()`` gives it.
    ///
    /// - Throws: `malformed`; `unsupported` for other kinds of keys than ``openSSH()`` gives.
    public init(openSSH blob: [UInt8]) throws(CryptoError) {
        var rest = blob.span
        let kind = OpenSSHPrivateKey.text(try rest.readSSHString())
        try self.init(openSSH: kind, &rest)
        guard rest.isEmpty else { throw PublicKey.malformedLine }
    }

    /// - Parameter words: the kind, the key in Base64, and the words of a comment.
    fileprivate init(openSSHWords words: [ArraySlice<UInt8>]) throws(CryptoError) {
        guard words.count >= 2 else { throw PublicKey.malformedLine }
        let blob = try PublicKey.blob(words[1])
        var rest = blob.bytes
        let kind = OpenSSHPrivateKey.text(try rest.readSSHString())
        guard words[0].elementsEqual(kind.utf8) else { throw PublicKey.malformedLine }
        try self.init(openSSH: kind, &rest)
        guard rest.isEmpty else { throw PublicKey.malformedLine }
    }

    /// Reads the fields behind the kind: RFC 4253 §6.6, RFC 5656 §3.1 and RFC 8709 §4.
    @_lifetime(rest: copy rest)
    private init(openSSH kind: String, _ rest: inout Span<UInt8>) throws(CryptoError) {
        switch kind {
        case "ssh-rsa":
            let exponent = Array(copying: try rest.readSSHString())
            try self.init(rsaModulus: Array(copying: rest.readSSHString()), exponent: exponent)
        case "ssh-ed25519": try self.init(raw: Array(copying: rest.readSSHString()), kind: .ed25519)
        default:
            guard let curve = OpenSSHPrivateKey.curves.first(where: { kind == "ecdsa-sha2-\($0.value)" }) else {
                throw CryptoError(.unsupported, "OpenSSH key of type '\(DisplayText.escaped(kind))'")
            }
            guard OpenSSHPrivateKey.text(try rest.readSSHString()) == curve.value else { throw PublicKey.malformedLine }
            try self.init(ecPoint: Array(copying: rest.readSSHString()), curve: curve.key)
        }
    }

    private static func blob(_ digits: ArraySlice<UInt8>) throws(CryptoError) -> Secret {
        do { return try Base64.decode(digits.span) } catch { throw malformedLine }
    }

    fileprivate static let malformedLine = CryptoError(.malformed, "OpenSSH public key")
}
