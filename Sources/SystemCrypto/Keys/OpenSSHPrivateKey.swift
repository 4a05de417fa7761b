internal import COpenSSL
public import SecureBytes

/// OpenSSH's own format of private keys, its file `PROTOCOL.key`.
///
///     "openssh-key-v1" 00, string cipher, string kdf, string kdfoptions, uint32 number of keys,
///     string publickey, string { uint32 check, uint32 check, key, string comment, padding 1, 2, 3, … }
enum OpenSSHPrivateKey {
    static let pemLabel = "OPENSSH PRIVATE KEY"
    private static let magic = Array("openssh-key-v1".utf8) + [0]

    /// Reads a file of one key.
    ///
    /// - Throws: `malformed`, `passwordRequired`, `wrongPassword`; `unsupported` for an unknown key type or encryption.
    static func read(_ bytes: Span<UInt8>, password: borrowing Secret?) throws(CryptoError) -> PrivateKey {
        guard bytes.count > magic.count, magic.indices.allSatisfy({ bytes[$0] == magic[$0] }) else { throw malformed }
        var rest = bytes.extracting(magic.count...)
        let names = (cipher: text(try rest.readSSHString()), derivation: text(try rest.readSSHString()))
        // Other ciphers may have further data behind the section.
        guard names == ("none", "none") || names == ("aes256-ctr", "bcrypt") else {
            throw CryptoError(.unsupported, "OpenSSH key encrypted with '\(DisplayText.escaped(names.cipher))'")
        }
        let options = try rest.readSSHString()
        guard try rest.readUInt32() == 1 else { throw CryptoError(.unsupported, "OpenSSH file of several keys") }
        _ = try rest.readSSHString()
        let section = try rest.readSSHString()
        guard rest.isEmpty else { throw malformed }
        guard names.cipher != "none" else { return try key(in: section) }
        switch password {
        case .none: throw CryptoError(.passwordRequired, "OpenSSH key")
        case .some(let password):
            let opened = try Encryption(parsing: options).apply(.decrypt, to: section, password: password)
            return try key(in: opened.bytes, isDecrypted: true)
        }
    }

    /// AES-256 in counter mode under a key from a password.
    private struct Encryption {
        let salt: [UInt8]
        let rounds: UInt32

        init(salt: [UInt8], rounds: UInt32) {
            self.salt = salt
            self.rounds = rounds
        }

        init(parsing options: Span<UInt8>) throws(CryptoError) {
            var rest = options
            let salt = try rest.readSSHString()
            self.salt = Array(copying: salt)
            rounds = try rest.readUInt32()
            guard rest.isEmpty else { throw OpenSSHPrivateKey.malformed }
        }

        func encoded() -> [UInt8] {
            UInt32(truncatingIfNeeded: salt.count).bigEndianBytes + salt + rounds.bigEndianBytes
        }

        func apply(
            _ direction: CipherContext.Direction, to section: Span<UInt8>, password: borrowing Secret
        ) throws(CryptoError) -> Secret {
            let derived = try BcryptPBKDF.deriveKey(password: password, salt: salt, rounds: rounds, count: 48)
            let vector = derived.bytes.extracting(last: 16)
            let context = try CipherContext(
                "AES-256-CTR", direction, key: Secret(copying: derived.bytes.extracting(first: 32)),
                initializationVector: Array(copying: vector))
            return try unsafe Secret(capacity: section.count, "OpenSSH key") { _, start, count in
                unsafe context.finish(section, into: start) == count
            }
        }
    }

    private static func key(in section: Span<UInt8>, isDecrypted: Bool = false) throws(CryptoError) -> PrivateKey {
        var rest = section
        guard try rest.readUInt32() == rest.readUInt32() else {
            // The number is there twice to detect a wrong password.
            throw isDecrypted ? CryptoError(.wrongPassword, "OpenSSH key") : malformed
        }
        let key = try OpenSSHPrivateKey.key(&rest)
        _ = try rest.readSSHString()
        guard rest.count < 256, rest.indices.allSatisfy({ rest[$0] == UInt8($0 + 1) }) else { throw malformed }
        return key
    }

    /// Reads the kind of a key and its numbers.
    @_lifetime(rest: copy rest)
    fileprivate static func key(_ rest: inout Span<UInt8>) throws(CryptoError) -> PrivateKey {
        let type = text(try rest.readSSHString())
        switch type {
        case "ssh-ed25519": return try ed25519(&rest)
        case "ssh-rsa": return try rsa(&rest)
        default:
            guard let curve = curves.first(where: { type == "ecdsa-sha2-\($0.value)" })?.key else {
                throw CryptoError(.unsupported, "OpenSSH key of type '\(DisplayText.escaped(type))'")
            }
            return try ec(curve, &rest)
        }
    }

    @_lifetime(rest: copy rest)
    private static func ed25519(_ rest: inout Span<UInt8>) throws(CryptoError) -> PrivateKey {
        let point = try rest.readSSHString()
        let both = try rest.readSSHString()
        guard both.count == 64 else { throw malformed }
        let key = try PrivateKey(seed: Secret(copying: both.extracting(..<32)), kind: .ed25519)
        try require(key, point)
        return key
    }

    @_lifetime(rest: copy rest)
    private static func ec(_ curve: KeyKind, _ rest: inout Span<UInt8>) throws(CryptoError) -> PrivateKey {
        guard text(try rest.readSSHString()) == curves[curve] else { throw malformed }
        let point = try rest.readSSHString()
        let key = try PrivateKey(ecScalar: Secret(copying: rest.readSSHString()), curve: curve)
        try require(key, point)
        return key
    }

    @_lifetime(rest: copy rest)
    private static func rsa(_ rest: inout Span<UInt8>) throws(CryptoError) -> PrivateKey {
        let modulus = try BigNumber(rest.readSSHString())
        let e = try rest.readSSHString()
        for _ in 0..<2 { _ = try rest.readSSHString() }
        let p = try BigNumber(rest.readSSHString())
        let q = try BigNumber(rest.readSSHString())
        guard modulus.byteCount <= PublicKey.maximumModulusLength, modulus.equals(try p.times(q)) else {
            throw CryptoError(.invalidKey, "OpenSSH RSA key")
        }
        let d = try BigNumber(e).inverse(modulo: p.minusOne().times(q.minusOne()))
        let primes = RSAPrimes(
            p: try p.bytes(), q: try q.bytes(), dP: try d.remainder(dividingBy: p.minusOne()).bytes(),
            dQ: try d.remainder(dividingBy: q.minusOne()).bytes(), qInv: try q.inverse(modulo: p).bytes())
        return try PrivateKey(primes, publicExponent: Array(copying: e))
    }

    private static func require(_ key: PrivateKey, _ point: Span<UInt8>) throws(CryptoError) {
        let expected = key.publicKey.rawRepresentation
        guard point.count == expected.count, point.indices.allSatisfy({ point[$0] == expected[$0] }) else {
            throw CryptoError(.invalidKey, "OpenSSH key")
        }
    }

    static func text(_ bytes: Span<UInt8>) -> String {
        String(decoding: Array(copying: bytes), as: UTF8.self)
    }

    static let curves: [KeyKind: String] = [.ecP256: "nistp256", .ecP384: "nistp384", .ecP521: "nistp521"]
    private static let malformed = CryptoError(.malformed, "OpenSSH key")

    // MARK: - Writing

    /// The maximum length of the comment, in bytes.
    private static let maximumComment = 1024
    /// The maximum length of a key's section: seven numbers, each at most as long as the longest modulus.
    fileprivate static let maximumLength = 8 * PublicKey.maximumModulusLength

    /// Rounds of the key derivation, as OpenSSH writes them since 9.4.
    static let standardRounds: UInt32 = 24

    /// The bytes of a file, for a PEM block with ``pemLabel``.
    ///
    /// - Parameter password: encrypts the file; nil for an unencrypted one.
    /// - Throws: `unsupported` for kinds of keys that SSH does not use.
    static func write(
        _ key: PrivateKey, comment: String, password: borrowing Secret?, rounds: UInt32
    ) throws(CryptoError) -> Secret {
        let section = try Secret(capacity: maximumLength) { output throws(CryptoError) in
            let check = try RandomBytes.make(count: 4)
            output.append(check + check)
            try append(key, to: &output)
            output.append(lengthPrefixed: Array(comment.utf8.prefix(maximumComment)).span)
            // The padding to whole blocks of AES.
            for number in UInt8(1)..<16 where output.count % 16 != 0 { output.append(number) }
        }
        let publicBlob = try publicBlob(of: key.publicKey)
        switch password {
        case .none: return file(["none", "none"], options: [], publicBlob, section)
        case .some(let password):
            let encryption = Encryption(salt: try RandomBytes.make(count: 16), rounds: rounds)
            let sealed = try encryption.apply(.encrypt, to: section.bytes, password: password)
            return file(["aes256-ctr", "bcrypt"], options: encryption.encoded(), publicBlob, sealed)
        }
    }

    private static func file(
        _ names: [String], options: [UInt8], _ publicBlob: [UInt8], _ section: borrowing Secret
    ) -> Secret {
        Secret(capacity: magic.count + options.count + publicBlob.count + section.count + 64) { output in
            output.append(magic)
            for name in names { output.append(lengthPrefixed: Array(name.utf8).span) }
            output.append(lengthPrefixed: options.span)
            output.append(bigEndian: UInt32(1))
            output.append(lengthPrefixed: publicBlob.span)
            output.append(lengthPrefixed: section.bytes)
        }
    }

    /// The public key as SSH writes it, RFC 4253 §6.6, RFC 5656 §3.1 and RFC 8709 §4.
    static func publicBlob(of key: PublicKey) throws(CryptoError) -> [UInt8] {
        let point = key.rawRepresentation
        let blob = Secret(capacity: point.count + 128) { output in
            switch (key.kind, key.rsaComponents) {
            case (.rsa, let numbers?):
                output.append(lengthPrefixed: Array("ssh-rsa".utf8).span)
                output.appendSSHInteger(numbers.exponent.span)
                output.appendSSHInteger(numbers.modulus.span)
            case (.ed25519, _):
                output.append(lengthPrefixed: Array("ssh-ed25519".utf8).span)
                output.append(lengthPrefixed: point.span)
            default:
                guard let curve = curves[key.kind] else { return }
                output.append(lengthPrefixed: Array("ecdsa-sha2-\(curve)".utf8).span)
                output.append(lengthPrefixed: Array(curve.utf8).span)
                output.append(lengthPrefixed: point.span)
            }
        }
        guard !blob.isEmpty else { throw CryptoError(.unsupported, "OpenSSH key of kind \(key.kind)") }
        return Array(copying: blob.bytes)
    }

    fileprivate static func append(_ key: PrivateKey, to output: inout OutputSpan<UInt8>) throws(CryptoError) {
        let point = key.publicKey.rawRepresentation
        switch (key.kind, key.publicKey.rsaComponents) {
        case (.rsa, let numbers?):
            let primes = try key.rsaPrimes()
            let d = try BigNumber(OSSL_PKEY_PARAM_RSA_D, of: key.handle).bytes()
            output.append(lengthPrefixed: Array("ssh-rsa".utf8).span)
            output.appendSSHInteger(numbers.modulus.span)
            output.appendSSHInteger(numbers.exponent.span)
            output.appendSSHInteger(d.bytes)
            output.appendSSHInteger(primes.qInv.bytes)
            output.appendSSHInteger(primes.p.bytes)
            output.appendSSHInteger(primes.q.bytes)
        case (.ed25519, _):
            let seed = try key.scalar()
            let both = Secret(capacity: 64) { output in
                output.append(seed.bytes)
                output.append(point.span)
            }
            output.append(lengthPrefixed: Array("ssh-ed25519".utf8).span)
            output.append(lengthPrefixed: point.span)
            output.append(lengthPrefixed: both.bytes)
        default:
            guard let curve = curves[key.kind] else {
                throw CryptoError(.unsupported, "OpenSSH key of kind \(key.kind)")
            }
            let scalar = try key.scalar()
            output.append(lengthPrefixed: Array("ecdsa-sha2-\(curve)".utf8).span)
            output.append(lengthPrefixed: Array(curve.utf8).span)
            output.append(lengthPrefixed: point.span)
            output.appendSSHInteger(scalar.bytes)
        }
    }
}

extension PrivateKey {
    /// A key from its kind and its numbers, as OpenSSH's files and the protocol of agents have them.
    ///
    /// - Throws: `malformed`, `invalidKey` for numbers that do not belong together, `unsupported` for another kind of key.
    public convenience init(openSSHFields fields: borrowing Secret) throws(CryptoError) {
        var rest = fields.bytes
        let key = try OpenSSHPrivateKey.key(&rest)
        guard rest.isEmpty else { throw CryptoError(.malformed, "OpenSSH key") }
        try self.init(handle: key.handle)
    }

    /// The kind of the key and its numbers, from which ``init(openSSHFields:)`` makes it.
    ///
    /// - Throws: `unsupported` for kinds of keys that SSH does not use.
    public func openSSHFields() throws(CryptoError) -> Secret {
        try Secret(capacity: OpenSSHPrivateKey.maximumLength) { output throws(CryptoError) in
            try OpenSSHPrivateKey.append(self, to: &output)
        }
    }
}

// RFC 4251 §5.
extension Span where Element == UInt8 {
    mutating func readUInt32() throws(CryptoError) -> UInt32 {
        guard let number = readBigEndian(UInt32.self) else { throw CryptoError(.malformed, "OpenSSH key") }
        return number
    }

    /// The bytes of a `string`, or of an `mpint`, which is never negative in a key.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func readSSHString() throws(CryptoError) -> Span<UInt8> {
        guard let content = readLengthPrefixed() else { throw CryptoError(.malformed, "OpenSSH key") }
        return content
    }
}

extension OutputSpan where Element == UInt8 {
    /// A non-negative `mpint`: no needless zeros, and one zero byte before a first bit that would be a sign.
    fileprivate mutating func appendSSHInteger(_ bytes: Span<UInt8>) {
        let first = bytes.indices.first { bytes[$0] != 0 } ?? bytes.count
        let number = bytes.extracting(first...)
        let needsZero = !number.isEmpty && number[0] > 0x7F
        append(bigEndian: UInt32(truncatingIfNeeded: number.count + (needsZero ? 1 : 0)))
        if needsZero { append(0) }
        append(number)
    }
}
