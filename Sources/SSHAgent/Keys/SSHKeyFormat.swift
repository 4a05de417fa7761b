internal import SecureBytes
internal import SystemCrypto

/// The form of a kind of key in SSH's messages.
struct SSHKeyFormat: Equatable {
    /// The kind of the key itself, also of one with a certificate.
    let plainKind: String
    let hasCertificate: Bool

    private static let certificateSuffix = "-cert-v01@openssh.com"
    private static let kinds = [
        "ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
    ]

    /// - Returns: nil for a kind that this agent does not have.
    init?(kind: some Sequence<UInt8>) {
        let name = String(decoding: Array(kind), as: UTF8.self)
        hasCertificate = name.hasSuffix(SSHKeyFormat.certificateSuffix)
        plainKind = hasCertificate ? String(name.dropLast(SSHKeyFormat.certificateSuffix.count)) : name
        guard SSHKeyFormat.kinds.contains(plainKind) else { return nil }
    }

    /// The fields of the public half, behind the kind.
    var publicFieldCount: Int { plainKind == "ssh-ed25519" ? 1 : 2 }

    /// The fields of the private key behind the kind, as the agent's protocol has them. A certificate takes the place of the public half, but
    /// for Ed25519, whose public half follows it.
    var privateFieldCount: Int {
        switch plainKind {
        case "ssh-ed25519": hasCertificate ? 3 : 2
        case "ssh-rsa": hasCertificate ? 5 : 6
        default: hasCertificate ? 2 : 3
        }
    }
}

/// A public key in SSH's form, with a certificate of it or without.
struct SSHPublicKey: Equatable {
    let key: PublicKey
    /// The key alone, without its certificate.
    let plain: [UInt8]
    let hasCertificate: Bool

    /// - Returns: nil for anything but a key of a kind that this agent has.
    init?(_ blob: [UInt8]) {
        guard let (plain, hasCertificate) = try? SSHPublicKey.plain(blob), let key = try? PublicKey(openSSH: plain)
        else {
            return nil
        }
        (self.plain, self.hasCertificate, self.key) = (plain, hasCertificate, key)
    }

    /// The key of OpenSSH's PROTOCOL.certkeys: `string kind, string nonce`, the public half's fields, and what is certified.
    private static func plain(_ blob: [UInt8]) throws(MalformedMessage) -> (key: [UInt8], hasCertificate: Bool) {
        var rest = blob.span
        guard let format = SSHKeyFormat(kind: try rest.readBytes()) else { throw MalformedMessage() }
        guard format.hasCertificate else { return (blob, false) }
        _ = try rest.readString()
        var plain: [UInt8] = []
        plain.append(string: format.plainKind)
        for _ in 0..<format.publicFieldCount { plain.append(string: try rest.readBytes()) }
        // The serial number is the first thing that is certified.
        _ = try rest.readLongNumber()
        return (plain, true)
    }

    // MARK: For people

    /// The kind and the fingerprint, as OpenSSH shows them.
    var description: String { "\(SSHPublicKey.name(of: key.kind)) \(SSHPublicKey.fingerprint(of: plain))" }

    private static func name(of kind: KeyKind) -> String {
        switch kind {
        case .rsa: "RSA"
        case .ed25519: "ED25519"
        default: "ECDSA"
        }
    }

    static func fingerprint(of blob: [UInt8]) -> String {
        let digest = (try? Digest.hash(blob, using: .sha256)) ?? []
        return "SHA256:" + Base64.encode(digest).filter { $0 != "=" }
    }

    // MARK: Signatures

    /// Whether a signature in SSH's form is the key's over a message: RFC 4253 §6.6, RFC 5656 §3.1.2, RFC 8332 and RFC 8709. RSA with SHA-1
    /// counts as wrong.
    func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        var rest = signature.span
        guard let name = try? rest.readBytes(), let value = try? rest.readBytes(), rest.isEmpty,
            let algorithm = SSHSignature.algorithms(of: key.kind).first(where: { name.elementsEqual($0.name.utf8) })
        else { return false }
        guard key.kind.isEC else {
            return (try? key.verify(value, message: message, using: algorithm.algorithm)) == true
        }
        guard let fixed = SSHSignature.fixedWidth(value, key.kind) else { return false }
        return (try? key.verify(fixed, message: message, using: algorithm.algorithm)) == true
    }
}

/// Signatures in SSH's form.
enum SSHSignature {
    /// The ways in which a kind of key signs, the best first.
    static func algorithms(of kind: KeyKind) -> [(name: String, algorithm: SignatureAlgorithm)] {
        switch kind {
        case .rsa: [("rsa-sha2-512", .rsaPKCS1(.sha512)), ("rsa-sha2-256", .rsaPKCS1(.sha256))]
        case .ecP256: [("ecdsa-sha2-nistp256", .ecdsa(.sha256, .rfc4754))]
        case .ecP384: [("ecdsa-sha2-nistp384", .ecdsa(.sha384, .rfc4754))]
        case .ecP521: [("ecdsa-sha2-nistp521", .ecdsa(.sha512, .rfc4754))]
        case .ed25519: [("ssh-ed25519", .ed25519)]
        default: []
        }
    }

    /// The way that a request's flags choose; nil for RSA with SHA-1, and for a kind of key that SSH does not have.
    static func algorithm(_ kind: KeyKind, flags: UInt32) -> (name: String, algorithm: SignatureAlgorithm)? {
        guard case .rsa = kind else { return algorithms(of: kind).first }
        // OpenSSH prefers SHA-256 where a client sets both.
        let name =
            flags & SignatureFlags.rsaSHA256 != 0
            ? "rsa-sha2-256" : flags & SignatureFlags.rsaSHA512 != 0 ? "rsa-sha2-512" : nil
        return algorithms(of: kind).first { $0.name == name }
    }

    /// - Parameter value: of ECDSA r‖s.
    static func encode(_ value: [UInt8], by name: String, _ kind: KeyKind) -> [UInt8] {
        var signature: [UInt8] = []
        signature.append(string: name)
        guard kind.isEC else {
            signature.append(string: value)
            return signature
        }
        var numbers: [UInt8] = []
        numbers.append(integer: value.prefix(value.count / 2))
        numbers.append(integer: value.suffix(value.count / 2))
        signature.append(string: numbers)
        return signature
    }

    /// r‖s of the two integers of an ECDSA signature; nil for anything else.
    fileprivate static func fixedWidth(_ value: [UInt8], _ kind: KeyKind) -> [UInt8]? {
        var rest = value.span
        guard let length = kind.coordinateLength, let r = try? rest.readBytes(), let s = try? rest.readBytes(),
            rest.isEmpty
        else { return nil }
        var fixed: [UInt8] = []
        for number in [r, s] {
            let digits = number.drop { $0 == 0 }
            guard digits.count <= length else { return nil }
            fixed += [UInt8](repeating: 0, count: length - digits.count) + digits
        }
        return fixed
    }
}
