internal import COpenSSL
public import TokenKit

/// The numbers of an RSA key by which a card takes it over (RFC 8017 §3.2, second form), most significant byte first.
public struct RSAPrimes: ~Copyable, Sendable {
    public let p: Secret
    public let q: Secret
    /// d mod (p − 1)
    public let dP: Secret
    /// d mod (q − 1)
    public let dQ: Secret
    /// q⁻¹ mod p
    public let qInv: Secret

    public init(
        p: consuming Secret, q: consuming Secret, dP: consuming Secret, dQ: consuming Secret, qInv: consuming Secret
    ) {
        self.p = p
        self.q = q
        self.dP = dP
        self.dQ = dQ
        self.qInv = qInv
    }
}

extension PrivateKey {
    /// An RSA key from its primes; modulus and private exponent are computed.
    ///
    /// - Throws: `invalidKey` when the numbers do not belong together.
    public convenience init(
        _ primes: borrowing RSAPrimes, publicExponent: [UInt8] = [0x01, 0x00, 0x01]
    ) throws(CryptoError) {
        try self.init(handle: KeyHandle(primes, publicExponent: publicExponent))
    }

    /// An RSA key from all its numbers, each with however many zeros before it.
    ///
    /// - Throws: `invalidKey` when the numbers do not belong together.
    public convenience init(
        rsaModulus modulus: [UInt8], exponent: [UInt8], privateExponent: borrowing Secret, _ primes: borrowing RSAPrimes
    ) throws(CryptoError) {
        // PKCS #1's RSAPrivateKey, RFC 8017 §A.1.2, whose version comes first.
        let publicNumbers = DER.integer([0]) + DER.integer(modulus) + DER.integer(exponent)
        let content = Secret(copying: publicNumbers.span).appendingInteger(privateExponent)
            .appendingInteger(primes.p).appendingInteger(primes.q).appendingInteger(primes.dP)
            .appendingInteger(primes.dQ).appendingInteger(primes.qInv)
        let head = [DER.Tag.sequence] + DER.length(content.count)
        try self.init(externalRepresentation: Secret(joining: head.span, content.bytes), family: .rsa)
    }

    /// A key on a NIST curve from its scalar, most significant byte first, with however many zeros before it: a big integer of
    /// PKCS #11 has none, and others write as many bytes as a coordinate has (RFC 5915 §3).
    ///
    /// - Throws: `invalidKey` for a scalar that is zero or not below the curve's order, `invalidLength` for a longer one.
    public convenience init(ecScalar scalar: borrowing Secret, curve: KeyKind) throws(CryptoError) {
        try self.init(checking: KeyHandle(ecScalar: scalar, curve: curve))
    }

    /// An Ed25519 or X25519 key from its 32 secret bytes.
    public convenience init(seed: borrowing Secret, kind: KeyKind) throws(CryptoError) {
        guard kind == .ed25519 || kind == .x25519 else { throw CryptoError(.unsupported, "seed of \(kind)") }
        guard seed.count == 32 else { throw CryptoError(.invalidLength, "\(kind) seed") }
        let handle = try unsafe seed.bytes.withPointer { start, count throws(CryptoError) in
            try unsafe KeyHandle("\(kind) seed") { context in
                unsafe EVP_PKEY_new_raw_private_key_ex(context, kind.algorithmName, nil, start, count)
            }
        }
        try self.init(handle: handle)
    }

    /// The primes of an RSA key, as a card wants them: all numbers equally long.
    ///
    /// - Throws: `unsupported` for another kind of key, or one of more than two primes.
    public func rsaPrimes() throws(CryptoError) -> RSAPrimes {
        guard case .rsa = kind, !hasThirdPrime else { throw CryptoError(.unsupported, "primes of \(kind)") }
        let p = try BigNumber(RSAParameter.p, of: handle)
        let q = try BigNumber(RSAParameter.q, of: handle)
        let length = max(p.byteCount, q.byteCount)
        return RSAPrimes(
            p: try p.bytes(length: length), q: try q.bytes(length: length),
            dP: try BigNumber(RSAParameter.dP, of: handle).bytes(length: length),
            dQ: try BigNumber(RSAParameter.dQ, of: handle).bytes(length: length),
            qInv: try BigNumber(RSAParameter.qInv, of: handle).bytes(length: length))
    }

    /// The private exponent of an RSA key.
    ///
    /// - Throws: `unsupported` for another kind of key.
    public func rsaPrivateExponent() throws(CryptoError) -> Secret {
        guard case .rsa = kind else { throw CryptoError(.unsupported, "private exponent of \(kind)") }
        return try BigNumber(OSSL_PKEY_PARAM_RSA_D, of: handle).bytes()
    }

    private var hasThirdPrime: Bool {
        do {
            _ = try BigNumber(RSAParameter.third, of: handle)
            return true
        } catch {
            return false
        }
    }

    /// The scalar of a key on a NIST curve, or the seed of an Ed25519 or X25519 key.
    ///
    /// - Throws: `unsupported` for another kind of key.
    public func scalar() throws(CryptoError) -> Secret {
        guard let length = kind.coordinateLength else { throw CryptoError(.unsupported, "scalar of \(kind)") }
        if kind.isEC { return try BigNumber(OSSL_PKEY_PARAM_PRIV_KEY, of: handle).bytes(length: length) }
        return try unsafe Secret(capacity: length, "\(kind) seed") { _, start, count in
            unsafe EVP_PKEY_get_raw_private_key(handle.pointer, start, &count) == 1
        }
    }
}

extension KeyHandle {
    /// A key of a `PrivateKeyInfo` without the public key: reading it makes OpenSSL compute that.
    convenience init(ecScalar scalar: borrowing Secret, curve: KeyKind) throws(CryptoError) {
        guard let length = curve.coordinateLength, let identifier = curve.curveIdentifier else {
            throw CryptoError(.unsupported, "scalar on \(curve)")
        }
        let number = try BigNumber(scalar.bytes)
        guard number.byteCount <= length else { throw CryptoError(.invalidLength, "EC scalar") }
        let digits = try number.bytes(length: length)
        // ECPrivateKey inside OCTET STRING inside PrivateKeyInfo, from the inside; each part comes before the scalar.
        let key = DER.integer([1]) + [DER.Tag.octetString] + DER.length(length)
        let inner = [DER.Tag.sequence] + DER.length(key.count + length) + key
        let algorithm = DER.sequence([DER.objectIdentifier(.ecPublicKey), DER.objectIdentifier(identifier)])
        let info = DER.integer([0]) + algorithm + [DER.Tag.octetString] + DER.length(inner.count + length) + inner
        let head = [DER.Tag.sequence] + DER.length(info.count + length) + info
        let der = Secret(capacity: head.count + length) { output in
            for byte in head { output.append(byte) }
            let bytes = digits.bytes
            for index in bytes.indices { output.append(bytes[index]) }
        }
        do {
            try self.init(pkcs8: der.bytes)
        } catch {
            throw CryptoError(.invalidKey, "EC scalar", reason: error.reason)
        }
    }

    fileprivate convenience init(_ primes: borrowing RSAPrimes, publicExponent: [UInt8]) throws(CryptoError) {
        let p = try BigNumber(primes.p.bytes)
        let q = try BigNumber(primes.q.bytes)
        let d = try KeyHandle.privateExponent(primes, p: p, q: q, publicExponent: publicExponent)
        let modulus = try p.times(q)
        let modulusBytes = try modulus.bytes()
        let exponentBytes = try d.bytes()
        var parameters = ParameterList()
        parameters.add(OSSL_PKEY_PARAM_RSA_N, integer: modulusBytes.bytes)
        parameters.add(OSSL_PKEY_PARAM_RSA_E, integer: publicExponent.span)
        parameters.add(OSSL_PKEY_PARAM_RSA_D, integer: exponentBytes.bytes)
        parameters.add(RSAParameter.p, integer: primes.p.bytes)
        parameters.add(RSAParameter.q, integer: primes.q.bytes)
        parameters.add(RSAParameter.dP, integer: primes.dP.bytes)
        parameters.add(RSAParameter.dQ, integer: primes.dQ.bytes)
        parameters.add(RSAParameter.qInv, integer: primes.qInv.bytes)
        try self.init("RSA", parameters, hasPrivatePart: true)
    }

    /// d = e⁻¹ mod (p − 1)(q − 1), where the other numbers agree with it.
    private static func privateExponent(
        _ primes: borrowing RSAPrimes, p: borrowing BigNumber, q: borrowing BigNumber, publicExponent: [UInt8]
    ) throws(CryptoError) -> BigNumber {
        let pMinusOne = try p.minusOne()
        let qMinusOne = try q.minusOne()
        let totient = try pMinusOne.times(qMinusOne)
        let e = try BigNumber(publicExponent.span)
        let d = try e.inverse(modulo: totient)

        let dP = try d.remainder(dividingBy: pMinusOne)
        let dQ = try d.remainder(dividingBy: qMinusOne)
        let qInv = try BigNumber(primes.qInv.bytes)
        let product = try q.times(qInv)
        let one = try product.remainder(dividingBy: p)
        let givenDP = try BigNumber(primes.dP.bytes)
        let givenDQ = try BigNumber(primes.dQ.bytes)
        guard dP.equals(givenDP), dQ.equals(givenDQ), one.isOne else { throw CryptoError(.invalidKey, "RSA primes") }
        return d
    }
}

extension OID {
    /// RFC 5480 §2.1.1.
    fileprivate static let ecPublicKey: OID = "1.2.840.10045.2.1"
}

extension KeyKind {
    /// The curve in RFC 5480 §2.1.1.1.
    var curveIdentifier: OID? {
        switch self {
        case .ecP256: "1.2.840.10045.3.1.7"
        case .ecP384: "1.3.132.0.34"
        case .ecP521: "1.3.132.0.35"
        default: nil
        }
    }
}

/// OpenSSL's names for the numbers of `RSAPrimes`; its own macros for them paste strings, which Swift does not see.
private enum RSAParameter {
    static let p = OSSL_PKEY_PARAM_RSA_FACTOR + "1"
    static let q = OSSL_PKEY_PARAM_RSA_FACTOR + "2"
    static let third = OSSL_PKEY_PARAM_RSA_FACTOR + "3"
    static let dP = OSSL_PKEY_PARAM_RSA_EXPONENT + "1"
    static let dQ = OSSL_PKEY_PARAM_RSA_EXPONENT + "2"
    static let qInv = OSSL_PKEY_PARAM_RSA_COEFFICIENT + "1"
}

extension Secret {
    /// The bytes, and behind them a non-negative INTEGER, given most significant byte first.
    fileprivate borrowing func appendingInteger(_ magnitude: borrowing Secret) -> Secret {
        let bytes = magnitude.bytes
        let digits = bytes.extracting((bytes.indices.first { bytes[$0] != 0 } ?? bytes.count)...)
        // One more where it would be negative, or nothing.
        let zero: [UInt8] = digits.isEmpty || digits[0] > 0x7F ? [0] : []
        let head = [DER.Tag.integer] + DER.length(zero.count + digits.count) + zero
        return Secret(joining: Secret(joining: self.bytes, head.span).bytes, digits)
    }
}
