internal import SecureBytes
internal import SystemCrypto

/// The form of a kind of key in SSH's messages.
struct SSHKeyFormat: Equatable {
    /// The kind of the key itself, also of one with a certificate.
    let plainKind: String
    let hasCertificate: Bool
    /// The kind of the same key outside a security key; nil for a key that is in none. OpenSSH's PROTOCOL.u2f.
    let kindInSecurityKey: String?

    private static let certificateSuffix = "-cert-v01@openssh.com"
    private static let kinds = [
        "ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
    ]
    private static let securityKeySuffix = "@openssh.com"
    private static let securityKeyKinds = [
        "sk-ssh-ed25519@openssh.com": "ssh-ed25519", "sk-ecdsa-sha2-nistp256@openssh.com": "ecdsa-sha2-nistp256",
    ]

    /// - Returns: nil for a kind that this agent does not know.
    init?(kind: some Sequence<UInt8>) {
        let name = String(decoding: Array(kind), as: UTF8.self)
        hasCertificate = name.hasSuffix(SSHKeyFormat.certificateSuffix)
        let stem = hasCertificate ? String(name.dropLast(SSHKeyFormat.certificateSuffix.count)) : name
        // A certificate's kind has the suffix once, a security key's own kind without a certificate too.
        plainKind = hasCertificate && stem.hasPrefix("sk-") ? stem + SSHKeyFormat.securityKeySuffix : stem
        kindInSecurityKey = SSHKeyFormat.securityKeyKinds[plainKind]
        guard kindInSecurityKey != nil || SSHKeyFormat.kinds.contains(plainKind) else { return nil }
    }

    /// The fields of the public half, behind the kind. Those of a security key end with its application.
    var publicFieldCount: Int {
        ((kindInSecurityKey ?? plainKind) == "ssh-ed25519" ? 1 : 2) + (kindInSecurityKey == nil ? 0 : 1)
    }

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
    /// The application of a key in a security key, which signs it with each message; nil for other keys. OpenSSH's PROTOCOL.u2f.
    let application: [UInt8]?

    /// - Returns: nil for anything but a key of a kind that this agent knows.
    init?(_ blob: [UInt8]) {
        guard let (plain, format) = try? SSHPublicKey.plain(blob),
            let (bare, application) = try? SSHPublicKey.bare(plain, format), let key = try? PublicKey(openSSH: bare)
        else { return nil }
        (self.plain, self.hasCertificate, self.key) = (plain, format.hasCertificate, key)
        self.application = application
    }

    /// The key as it is outside a security key, and its application.
    private static func bare(
        _ plain: [UInt8], _ format: SSHKeyFormat
    ) throws(MalformedMessage) -> (key: [UInt8], application: [UInt8]?) {
        guard let kind = format.kindInSecurityKey else { return (plain, nil) }
        var rest = plain.span
        _ = try rest.readString()
        var key: [UInt8] = []
        key.append(string: kind)
        for _ in 1..<format.publicFieldCount { key.append(string: try rest.readBytes()) }
        let application = try rest.readBytes()
        try rest.finish()
        return (key, application)
    }

    /// The key of OpenSSH's PROTOCOL.certkeys: `string kind, string nonce`, the public half's fields, and what is certified.
    private static func plain(_ blob: [UInt8]) throws(MalformedMessage) -> (key: [UInt8], SSHKeyFormat) {
        var rest = blob.span
        guard let format = SSHKeyFormat(kind: try rest.readBytes()) else { throw MalformedMessage() }
        guard format.hasCertificate else { return (blob, format) }
        _ = try rest.readString()
        var plain: [UInt8] = []
        plain.append(string: format.plainKind)
        for _ in 0..<format.publicFieldCount { plain.append(string: try rest.readBytes()) }
        // The serial number is the first thing that is certified.
        _ = try rest.readLongNumber()
        return (plain, format)
    }

    // MARK: For people

    /// The kind and the fingerprint, as OpenSSH shows them.
    var description: String {
        let name = SSHPublicKey.name(of: key.kind) + (application == nil ? "" : "-SK")
        return "\(name) \(SSHPublicKey.fingerprint(of: plain))"
    }

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
    static func fixedWidth(_ value: [UInt8], _ kind: KeyKind) -> [UInt8]? {
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
