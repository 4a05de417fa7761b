internal import SecureBytes

/// The use of a signature, as the data that are signed tell.
enum SignedData: Equatable {
    case login(Login)
    /// A signature over a file, a commit or anything else: OpenSSH's PROTOCOL.sshsig. Its namespace tells which.
    case signature(namespace: [UInt8])
    /// Data of no known form. The client may have any reason to have them signed.
    case other

    /// A login at a server: RFC 4252 §7, or with the server's key OpenSSH's PROTOCOL, `publickey-hostbound-v00@openssh.com`.
    struct Login: Equatable {
        let session: [UInt8]
        let user: [UInt8]
        /// The public half or certificate with which the client logs in.
        let key: [UInt8]
        /// The server's key; nil in the older form.
        let hostKey: [UInt8]?
    }

    init(_ data: [UInt8]) {
        if let login = try? SignedData.login(data.span) {
            self = .login(login)
        } else if let namespace = try? SignedData.namespace(data.span) {
            self = .signature(namespace: namespace)
        } else {
            self = .other
        }
    }

    private static let userauthRequest: UInt8 = 50
    private static let magic = Array("SSHSIG".utf8)

    private static func login(_ data: Span<UInt8>) throws(MalformedMessage) -> Login {
        var rest = data
        let session = try rest.readBytes()
        guard !session.isEmpty, try rest.readByte() == userauthRequest else { throw MalformedMessage() }
        let (user, service, method) = (try rest.readBytes(), try rest.readBytes(), try rest.readBytes())
        guard service.elementsEqual("ssh-connection".utf8), try rest.readFlag() else { throw MalformedMessage() }
        _ = try rest.readString()
        let key = try rest.readBytes()
        let hostKey: [UInt8]?
        switch String(decoding: method, as: UTF8.self) {
        case "publickey": hostKey = nil
        case "publickey-hostbound-v00@openssh.com": hostKey = try rest.readBytes()
        default: throw MalformedMessage()
        }
        try rest.finish()
        return Login(session: session, user: user, key: key, hostKey: hostKey)
    }

    private static func namespace(_ data: Span<UInt8>) throws(MalformedMessage) -> [UInt8] {
        guard data.count > magic.count, magic.indices.allSatisfy({ data[$0] == magic[$0] }) else {
            throw MalformedMessage()
        }
        var rest = data.extracting(magic.count...)
        let namespace = try rest.readBytes()
        // A reserved field, the name of the hash function and the digest follow.
        for _ in 0..<3 { _ = try rest.readString() }
        try rest.finish()
        return namespace
    }
}
