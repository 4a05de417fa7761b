internal import COpenSSL
public import SecureBytes

/// The kind of a key whose bytes do not tell it themselves.
public enum KeyFamily: Sendable, Hashable, CaseIterable {
    case rsa, ec, ed25519, x25519

    /// The curve with points of this length, `04‖X‖Y`; nil for no such curve.
    static func curve(pointLength: Int) -> KeyKind? {
        [KeyKind.ecP256, .ecP384, .ecP521].first { $0.coordinateLength.map { 1 + 2 * $0 } == pointLength }
    }
}

extension PrivateKey {
    /// RSA the DER of a PKCS#1 `RSAPrivateKey`, EC `04‖X‖Y‖K`, else the 32 secret bytes: `SecKeyCopyExternalRepresentation`.
    public func externalRepresentation() throws(CryptoError) -> Secret {
        if case .rsa = kind { return try algorithmEncoding() }
        let scalar = try scalar()
        let point = kind.isEC ? publicKey.rawRepresentation : []
        return Secret(capacity: point.count + scalar.count) { output in
            output.append(point)
            output.append(scalar.bytes)
        }
    }

    /// A key from its ``externalRepresentation()``.
    ///
    /// - Throws: `malformed` for other bytes, `invalidKey` where the point is not the scalar's, or the numbers of an RSA key
    ///   do not belong together.
    public convenience init(externalRepresentation bytes: borrowing Secret, family: KeyFamily) throws(CryptoError) {
        switch family {
        case .rsa:
            guard PrivateKeyFormat(bytes.bytes) == .pkcs1 else { throw CryptoError(.malformed, "RSA private key") }
            try self.init(encoded: bytes)
            try checkParts()
        case .ec: try self.init(point: bytes)
        case .ed25519: try self.init(seed: bytes, kind: .ed25519)
        case .x25519: try self.init(seed: bytes, kind: .x25519)
        }
    }

    private convenience init(point bytes: borrowing Secret) throws(CryptoError) {
        // Three coordinates and the byte before the first.
        let length = (bytes.count - 1) / 3
        guard let curve = KeyFamily.curve(pointLength: 1 + 2 * length), bytes.count == 1 + 3 * length else {
            throw CryptoError(.malformed, "EC private key")
        }
        let span = bytes.bytes
        try self.init(ecScalar: Secret(copying: span.extracting((1 + 2 * length)...)), curve: curve)
        let point = publicKey.rawRepresentation
        guard point.indices.allSatisfy({ span[$0] == point[$0] }) else {
            throw CryptoError(.invalidKey, "EC private key")
        }
    }

    /// The PEM text of OpenSSH's own format, unencrypted.
    ///
    /// - Throws: `unsupported` for kinds of keys that SSH does not use.
    public func openSSH(comment: String = "") throws(CryptoError) -> Secret {
        let file = try OpenSSHPrivateKey.write(
            self, comment: comment, password: nil, rounds: OpenSSHPrivateKey.standardRounds)
        return PEM.encode(file, label: OpenSSHPrivateKey.pemLabel)
    }

    /// The PEM text of OpenSSH's own format, under a password.
    ///
    /// - Throws: `unsupported` for kinds of keys that SSH does not use, `invalidLength` for an empty password.
    public func encryptedOpenSSH(
        comment: String = "", password: borrowing Secret, rounds: UInt32 = 24
    ) throws(CryptoError) -> Secret {
        let file = try OpenSSHPrivateKey.write(self, comment: comment, password: password.clone(), rounds: rounds)
        return PEM.encode(file, label: OpenSSHPrivateKey.pemLabel)
    }
}

extension PublicKey {
    /// The key in SSH's wire format, which begins with its kind. `authorized_keys` has the kind and then the Base64 of these
    /// bytes.
    ///
    /// - Throws: `unsupported` for kinds of keys that SSH does not use.
    public func openSSH() throws(CryptoError) -> [UInt8] {
        try OpenSSHPrivateKey.publicBlob(of: self)
    }

    /// A key from its ``rawRepresentation``.
    ///
    /// - Throws: `malformed` for other bytes.
    public init(externalRepresentation bytes: [UInt8], family: KeyFamily) throws(CryptoError) {
        switch family {
        case .rsa:
            var outer = TLVReader(bytes, .der)
            var numbers = try outer.read(DER.Tag.sequence).reader
            let modulus = try numbers.read(DER.Tag.integer).content
            let exponent = try numbers.read(DER.Tag.integer).content
            try numbers.finish()
            try outer.finish()
            try self.init(rsaModulus: Array(modulus), exponent: Array(exponent))
        case .ec:
            guard let curve = KeyFamily.curve(pointLength: bytes.count) else {
                throw CryptoError(.malformed, "EC public key")
            }
            try self.init(ecPoint: bytes, curve: curve)
        case .ed25519: try self.init(raw: bytes, kind: .ed25519)
        case .x25519: try self.init(raw: bytes, kind: .x25519)
        }
    }
}
