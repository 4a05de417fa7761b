internal import COpenSSL
public import SecureBytes

extension PrivateKey {
    /// A key from a file: PEM or DER of PKCS#8, PKCS#1 or SEC 1, or OpenSSH's own format.
    ///
    /// - Throws: `malformed` for anything else, `passwordRequired` for an encrypted key; `invalidKey` where the public
    ///   half in the file is not the private one's.
    public convenience init(encoded: borrowing Secret) throws(CryptoError) {
        try self.init(encoded, password: nil)
    }

    /// A key from a file that may be encrypted: PEM or DER of PKCS#8, encrypted PKCS#8, PKCS#1 or SEC 1, or OpenSSH's own format.
    ///
    /// - Throws: `malformed` for anything else, `wrongPassword`; `invalidKey` where the public half in the file is not
    ///   the private one's.
    public convenience init(encoded: borrowing Secret, password: borrowing Secret) throws(CryptoError) {
        try self.init(encoded, password: password.clone())
    }

    private convenience init(_ encoded: borrowing Secret, password: borrowing Secret?) throws(CryptoError) {
        guard PEM.isPEM(encoded.bytes) else {
            try self.init(der: encoded.bytes, password: password)
            return
        }
        let reader = try PEMReader(encoded.bytes)
        while let block = try reader.next() {
            guard block.isPrivateKey else { continue }
            try self.init(reading: block, password: password)
            return
        }
        throw CryptoError(.malformed, "private key")
    }

    /// A key from one block of a PEM text that is not encrypted.
    ///
    /// - Throws: as ``init(encoded:)``.
    public convenience init(_ block: borrowing PEMBlock) throws(CryptoError) {
        try self.init(reading: block, password: nil)
    }

    /// A key from one block of a PEM text that may be encrypted.
    ///
    /// - Throws: as ``init(encoded:password:)``.
    public convenience init(_ block: borrowing PEMBlock, password: borrowing Secret) throws(CryptoError) {
        try self.init(reading: block, password: password.clone())
    }

    private convenience init(reading block: borrowing PEMBlock, password: borrowing Secret?) throws(CryptoError) {
        if block.label == OpenSSHPrivateKey.pemLabel {
            try self.init(handle: OpenSSHPrivateKey.read(block.der.bytes, password: password).handle)
        } else if block.isEncrypted {
            try self.init(encrypted: block, password: password)
        } else {
            try self.init(der: block.der.bytes, password: password)
        }
    }

    private convenience init(encrypted block: borrowing PEMBlock, password: borrowing Secret?) throws(CryptoError) {
        switch password {
        case .none:
            try block.checkEncryption()
            throw CryptoError(.passwordRequired, "private key")
        case .some(let password):
            let der = try block.decrypted(password: password)
            // For one wrong password in 256, the padding looks right.
            guard PrivateKeyFormat(der.bytes) != nil else { throw CryptoError(.wrongPassword, "encrypted PEM") }
            try self.init(der: der.bytes, password: nil)
        }
    }

    private convenience init(der: Span<UInt8>, password: borrowing Secret?) throws(CryptoError) {
        let handle: KeyHandle
        switch PrivateKeyFormat(der) {
        case .pkcs8: handle = try KeyHandle(pkcs8: der)
        case .pkcs1: handle = try KeyHandle(pkcs1: der)
        case .sec1: handle = try KeyHandle(sec1: der, curve: nil)
        case .encryptedPKCS8:
            switch password {
            case .some(let password): handle = try KeyHandle(encryptedPKCS8: der, password: password)
            case .none: throw CryptoError(.passwordRequired, "private key")
            }
        case nil: throw CryptoError(.malformed, "private key")
        }
        try self.init(checking: handle)
    }

    /// A key whose halves come from outside and must belong together.
    convenience init(checking handle: KeyHandle) throws(CryptoError) {
        // RSA's check takes a while, and Curve25519 keys carry no public half of their own.
        if handle.algorithmName == "EC" { try handle.checkParts() }
        try self.init(handle: handle)
    }

    /// Checks that the numbers of an RSA key from outside belong together, which takes a while. Other keys are checked when they
    /// are read.
    ///
    /// - Throws: `invalidKey`.
    public func checkParts() throws(CryptoError) {
        if case .rsa = kind { try handle.checkParts() }
    }
}

/// The formats of a private key's DER, told apart by their first elements.
enum PrivateKeyFormat {
    case pkcs8, encryptedPKCS8, pkcs1, sec1

    init?(_ der: Span<UInt8>) {
        var outer = der
        guard var fields = try? outer.readDER(DER.Tag.sequence), outer.isEmpty, !fields.isEmpty else { return nil }
        if fields.nextDERTag == DER.Tag.sequence {
            self = .encryptedPKCS8
            return
        }
        guard (try? fields.readDER(DER.Tag.integer)) != nil else { return nil }
        switch fields.nextDERTag {
        case DER.Tag.sequence: self = .pkcs8
        case DER.Tag.integer: self = .pkcs1
        case DER.Tag.octetString: self = .sec1
        default: return nil
        }
    }
}

extension KeyHandle {
    /// Wraps `EVP_PKEY_private_check` and `EVP_PKEY_pairwise_check`.
    fileprivate func checkParts() throws(CryptoError) {
        let operation = try makeContext("private key")
        try unsafe OpenSSL.check("private key", failing: .invalidKey) { _ in
            unsafe EVP_PKEY_private_check(operation.pointer) == 1 ? EVP_PKEY_pairwise_check(operation.pointer) : 0
        }
    }

    /// A key from its PKCS#8 `PrivateKeyInfo` (RFC 5208 §5), or `OneAsymmetricKey`, which may have the public key at its end
    /// (RFC 5958 §2).
    fileprivate convenience init(pkcs8 der: Span<UInt8>) throws(CryptoError) {
        let info = try PrivateKeyInfo(der)
        switch info.algorithm {
        case .rsaEncryption: try self.init(pkcs1: info.key.bytes)
        case .ecPublicKey where KeyKind(curve: info.parameter) != nil:
            try self.init(sec1: info.key.bytes, curve: info.parameter)
        case .ed25519, .x25519:
            let seed = try info.seed()
            try self.init(seed: seed, kind: info.algorithm == .ed25519 ? .ed25519 : .x25519)
        default:
            let info = try Handle(privateKeyInfo: der)
            try unsafe self.init("PKCS#8", failing: .malformed) { context in
                unsafe EVP_PKCS82PKEY_ex(info.pointer, context, nil)
            }
        }
        guard let expected = info.publicKey else { return }
        let actual = try PublicKey(handle: self).rawRepresentation
        guard expected.count == actual.count, actual.indices.allSatisfy({ expected[$0] == actual[$0] }) else {
            throw CryptoError(.invalidKey, "PKCS#8")
        }
    }

    /// Wraps `PKCS8_decrypt_ex`.
    fileprivate convenience init(
        encryptedPKCS8 der: Span<UInt8>, password: borrowing Secret
    ) throws(CryptoError) {
        let encrypted = try unsafe Handle("PKCS#8", parsing: der, release: X509_SIG_free) {
            unsafe d2i_X509_SIG(nil, $0, $1)
        }
        // Everything before PBES2 may need RC2 or single DES.
        if KeyHandle.encryption(of: encrypted) != NID_pbes2 { _ = OpenSSL.hasLegacyAlgorithms }
        guard let length = Int32(exactly: password.count) else { throw CryptoError(.invalidLength, "password") }
        let info = try unsafe password.bytes.withPointer { start, _ throws(CryptoError) in
            try unsafe Handle("PKCS#8", failing: .wrongPassword, release: PKCS8_PRIV_KEY_INFO_free) { context in
                let password = unsafe UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
                return unsafe PKCS8_decrypt_ex(encrypted.pointer, password, length, context, nil)
            }
        }
        try self.init(info)
    }

    private static func encryption(of encrypted: borrowing Handle) -> Int32 {
        var algorithm: UnsafePointer<X509_ALGOR>?
        unsafe X509_SIG_get0(encrypted.pointer, &algorithm, nil)
        return unsafe OBJ_obj2nid(algorithm?.pointee.algorithm)
    }

    /// The key of a PKCS#8 `PrivateKeyInfo` that OpenSSL has decrypted.
    convenience init(_ info: borrowing Handle) throws(CryptoError) {
        try unsafe self.init(info: info.pointer)
    }

    /// The key of an OpenSSL `PKCS8_PRIV_KEY_INFO`. Wraps `i2d_PKCS8_PRIV_KEY_INFO`.
    convenience init(info: OpaquePointer) throws(CryptoError) {
        let der = try unsafe Secret(encoding: "PKCS#8") { unsafe i2d_PKCS8_PRIV_KEY_INFO(info, $0) }
        try self.init(pkcs8: der.bytes)
    }

    /// A key in the format of its algorithm, for keys that only OpenSSL can read. Wraps `d2i_PrivateKey_ex`.
    private convenience init(_ der: Span<UInt8>, type: Int32) throws(CryptoError) {
        try unsafe self.init("private key", parsing: der) { unsafe d2i_PrivateKey_ex(type, nil, $0, $1, $2, nil) }
    }

    /// A key from its PKCS#1 `RSAPrivateKey`, RFC 8017 §A.1.2.
    fileprivate convenience init(pkcs1 der: Span<UInt8>) throws(CryptoError) {
        var outer = der
        var fields = try outer.readDER(DER.Tag.sequence)
        let version = try fields.readDERInteger()
        guard version.count == 1, version[0] <= 1 else { throw CryptoError(.malformed, "PKCS#1 version") }
        guard version[0] == 0 else {
            // There are more primes at the end.
            try self.init(der, type: EVP_PKEY_RSA)
            return
        }
        let modulus = try fields.readDERInteger()
        let exponent = try fields.readDERInteger()
        let privateExponent = Secret(copying: try fields.readDERInteger())
        let primes = RSAPrimes(
            p: Secret(copying: try fields.readDERInteger()), q: Secret(copying: try fields.readDERInteger()),
            dP: Secret(copying: try fields.readDERInteger()), dQ: Secret(copying: try fields.readDERInteger()),
            qInv: Secret(copying: try fields.readDERInteger()))
        guard outer.isEmpty, fields.isEmpty else { throw CryptoError(.malformed, "DER trailing bytes") }
        try self.init(
            modulus: Array(copying: modulus), exponent: Array(copying: exponent),
            privateExponent: privateExponent, primes)
    }

    /// - Parameter curve: the curve beside the key in PKCS#8; nil for none.
    /// - Throws: `invalidKey` for a public key of another scalar.
    fileprivate convenience init(sec1 der: Span<UInt8>, curve: OID?) throws(CryptoError) {
        let key = try SEC1PrivateKey(der)
        let identifier = curve ?? key.curve
        guard key.curve == nil || key.curve == identifier else { throw CryptoError(.malformed, "EC curve") }
        guard let curve = KeyKind(curve: identifier) else {
            try self.init(der, type: EVP_PKEY_EC)
            return
        }
        try self.init(ecScalar: key.scalar, curve: curve)
        guard let point = key.point else { return }
        guard try PublicKey(ecPoint: point, curve: curve) == PublicKey(handle: self) else {
            throw CryptoError(.invalidKey, "SEC 1 key")
        }
    }
}
