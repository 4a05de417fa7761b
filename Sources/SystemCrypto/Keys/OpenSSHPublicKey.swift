internal import COpenSSL
internal import TokenKit

extension PublicKey {
    /// A key from its line in a `.pub` file or in `authorized_keys` without options: the kind, the key in Base64, a comment.
    ///
    /// - Throws: `malformed` for anything else, `unsupported` for kinds of keys that are not known here.
    public init(openSSHLine line: [UInt8]) throws(CryptoError) {
        let words = line.split(whereSeparator: { [0x20, 0x09, 0x0A, 0x0D].contains($0) })
        guard words.count >= 2, line.count <= PublicKey.maximumLineLength else { throw PublicKey.malformedLine }
        let blob = try PublicKey.decodedBase64(words[1])
        var rest = blob.span
        let kind = OpenSSHPrivateKey.text(try rest.readSSHString())
        guard words[0].elementsEqual(kind.utf8) else { throw PublicKey.malformedLine }
        try self.init(openSSH: kind, &rest)
        guard rest.isEmpty else { throw PublicKey.malformedLine }
    }

    /// What follows the kind: RFC 4253 §6.6, RFC 5656 §3.1 and RFC 8709 §4.
    @_lifetime(rest: copy rest)
    private init(openSSH kind: String, _ rest: inout Span<UInt8>) throws(CryptoError) {
        switch kind {
        case "ssh-rsa":
            let exponent = PublicKey.bytes(try rest.readSSHString())
            try self.init(rsaModulus: PublicKey.bytes(rest.readSSHString()), exponent: exponent)
        case "ssh-ed25519": try self.init(raw: PublicKey.bytes(rest.readSSHString()), kind: .ed25519)
        default:
            guard let curve = OpenSSHPrivateKey.curves.first(where: { kind == "ecdsa-sha2-\($0.value)" }) else {
                throw CryptoError(.unsupported, "OpenSSH key of type '\(DisplayText.escaped(kind))'")
            }
            guard OpenSSHPrivateKey.text(try rest.readSSHString()) == curve.value else { throw PublicKey.malformedLine }
            try self.init(ecPoint: PublicKey.bytes(rest.readSSHString()), curve: curve.key)
        }
    }

    private static let maximumLineLength = 1 << 16
    private static let malformedLine = CryptoError(.malformed, "OpenSSH public key")

    private static func bytes(_ span: Span<UInt8>) -> [UInt8] { span.indices.map { span[$0] } }

    /// Wraps `EVP_DecodeBlock`.
    private static func decodedBase64(_ text: ArraySlice<UInt8>) throws(CryptoError) -> [UInt8] {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { throw malformedLine }
        return try unsafe [UInt8](capacity: text.count, "OpenSSH public key", failing: .malformed) { _, output, count in
            let length = unsafe EVP_DecodeBlock(output, Array(text), Int32(text.count))
            count = Int(length) - padding
            return count >= 0
        }
    }
}
