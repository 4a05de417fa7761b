internal import COpenSSL
public import SecureBytes

// Private keys are written and read (PrivateKey+Import) here and not by OpenSSL, which leaves copies of the DER in memory that it
// frees. Only keys with more than two primes, or on other curves, are left to OpenSSL.

extension PrivateKey {
    /// The DER of the key's PKCS#8 `PrivateKeyInfo`, RFC 5208 §5.
    public func pkcs8() throws(CryptoError) -> Secret {
        guard let algorithm = kind.algorithmIdentifier, !hasThirdPrime else {
            let info = try unsafe Handle("PKCS#8", release: PKCS8_PRIV_KEY_INFO_free) { _ in
                unsafe EVP_PKEY2PKCS8(handle.pointer)
            }
            return try unsafe Secret(encoding: "PKCS#8") { unsafe i2d_PKCS8_PRIV_KEY_INFO(info.pointer, $0) }
        }
        let content = try keyOfPKCS8()
        let key = Secret(DER.Tag.octetString, content.bytes)
        return Secret(DER.Tag.sequence, before: DER.integer([0]) + algorithm, key.bytes)
    }

    /// The key inside PKCS#8. RSA: RFC 8017 §A.1.2. EC: RFC 5915 §3, without the curve, which PKCS#8 has outside. Curve25519: RFC
    /// 8410 §7.
    private func keyOfPKCS8() throws(CryptoError) -> Secret {
        switch kind {
        case .rsa: try pkcs1()
        case .ed25519, .x25519: try scalarInOctets()
        default: try sec1(curve: nil)
        }
    }

    /// The DER of the key in its algorithm's own format: RSA PKCS#1 (RFC 8017 §A.1.2), EC SEC 1 (RFC 5915).
    ///
    /// - Throws: `unsupported` for other keys, which have no such format.
    public func algorithmEncoding() throws(CryptoError) -> Secret {
        switch kind {
        case .rsa where hasThirdPrime:
            try unsafe Secret(encoding: "private key") { unsafe i2d_PrivateKey(handle.pointer, $0) }
        case .rsa: try pkcs1()
        case .ecP256, .ecP384, .ecP521: try sec1(curve: kind.curveIdentifier)
        default: throw CryptoError(.unsupported, "PKCS#1 or SEC 1 of \(kind)")
        }
    }

    private func pkcs1() throws(CryptoError) -> Secret {
        guard let (modulus, exponent) = publicKey.rsaComponents else {
            throw CryptoError(.unsupported, "PKCS#1 of \(kind)")
        }
        let primes = try rsaPrimes()
        let privateExponent = try rsaPrivateExponent()
        let empty: [UInt8] = []
        let numbers = Secret(copying: empty.span).appendingInteger(privateExponent)
            .appendingInteger(primes.p).appendingInteger(primes.q).appendingInteger(primes.dP)
            .appendingInteger(primes.dQ).appendingInteger(primes.qInv)
        let before = DER.integer([0]) + DER.integer(modulus) + DER.integer(exponent)
        return Secret(DER.Tag.sequence, before: before, numbers.bytes)
    }

    private func sec1(curve: OID?) throws(CryptoError) -> Secret {
        let scalar = try scalarInOctets()
        let curve = curve.map { DER.element(DER.Tag.context(0), DER.objectIdentifier($0)) } ?? []
        let point = DER.element(DER.Tag.context(1), DER.bitString(publicKey.rawRepresentation))
        return Secret(DER.Tag.sequence, before: DER.integer([1]), scalar.bytes, after: curve + point)
    }

    private func scalarInOctets() throws(CryptoError) -> Secret {
        let scalar = try scalar()
        return Secret(DER.Tag.octetString, scalar.bytes)
    }

    /// The DER of a PKCS#8 `EncryptedPrivateKeyInfo`: PBES2 with PBKDF2-HMAC-SHA-256 and AES-256-CBC, RFC 8018 §6.2.
    public func encryptedPKCS8(
        password: borrowing Secret, iterations: Int32 = 600_000
    ) throws(CryptoError) -> [UInt8] {
        let cipher = try unsafe Handle("PKCS#8", release: EVP_CIPHER_free) { context in
            unsafe EVP_CIPHER_fetch(context, "AES-256-CBC", nil)
        }
        guard let length = Int32(exactly: password.count) else { throw CryptoError(.invalidLength, "password") }
        let plain = try pkcs8()
        let info = try Handle(privateKeyInfo: plain.bytes)
        return try unsafe password.bytes.withPointer { start, _ throws(CryptoError) in
            let encrypted = try unsafe Handle("PKCS#8", release: X509_SIG_free) { context in
                let password = unsafe UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
                return unsafe PKCS8_encrypt_ex(
                    -1, cipher.pointer, password, length, nil, 0, max(iterations, 1), info.pointer, context, nil)
            }
            return try unsafe [UInt8](encoding: "PKCS#8") { unsafe i2d_X509_SIG(encrypted.pointer, $0) }
        }
    }
}

extension Handle {
    /// OpenSSL's form of a PKCS#8 `PrivateKeyInfo`, which is wiped when it is freed. Wraps `d2i_PKCS8_PRIV_KEY_INFO`.
    init(privateKeyInfo der: Span<UInt8>) throws(CryptoError) {
        try unsafe self.init("PKCS#8", parsing: der, release: PKCS8_PRIV_KEY_INFO_free) {
            unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1)
        }
    }
}

extension Secret {
    /// One element of DER, whose content is `before`, a secret, and `after`.
    fileprivate init(_ tag: TLVTag, before: [UInt8] = [], _ secret: Span<UInt8>, after: [UInt8] = []) {
        let head = TLV.header(tag, count: before.count + secret.count + after.count) + before
        self.init(capacity: head.count + secret.count + after.count) { output in
            output.append(head)
            output.append(secret)
            output.append(after)
        }
    }

    /// The bytes, followed by a non-negative INTEGER, given most significant byte first.
    fileprivate borrowing func appendingInteger(_ magnitude: borrowing Secret) -> Secret {
        let bytes = magnitude.bytes
        let digits = bytes.extracting((bytes.indices.first { bytes[$0] != 0 } ?? bytes.count)...)
        // One zero byte more where the number would be negative, or has no bytes.
        let zero: [UInt8] = digits.isEmpty || digits[0] > 0x7F ? [0] : []
        let integer = Secret(DER.Tag.integer, before: zero, digits)
        return Secret(joining: self.bytes, integer.bytes)
    }
}
