internal import COpenSSL
public import SecureBytes

/// The numbers of an RSA key for its import into a card (RFC 8017 §3.2, second form), most significant byte first.
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

    /// An RSA key from all its numbers, each with any number of leading zeros.
    ///
    /// - Throws: `invalidKey` when the numbers do not belong together.
    public convenience init(
        rsaModulus modulus: [UInt8], exponent: [UInt8], privateExponent: borrowing Secret, _ primes: borrowing RSAPrimes
    ) throws(CryptoError) {
        try self.init(
            handle: KeyHandle(modulus: modulus, exponent: exponent, privateExponent: privateExponent, primes))
        try checkParts()
    }

    /// A key on a NIST curve from its scalar, most significant byte first, with any number of leading zeros: a big integer of
    /// PKCS #11 has none, and others write as many bytes as a coordinate has (RFC 5915 §3).
    ///
    /// - Throws: `invalidKey` for a scalar that is zero or not below the curve's order, `invalidLength` for a longer one.
    public convenience init(ecScalar scalar: borrowing Secret, curve: KeyKind) throws(CryptoError) {
        try self.init(checking: KeyHandle(ecScalar: scalar, curve: curve))
    }

    /// An Ed25519 or X25519 key from its 32 secret bytes.
    public convenience init(seed: borrowing Secret, kind: KeyKind) throws(CryptoError) {
        try self.init(handle: KeyHandle(seed: seed, kind: kind))
    }

    /// The primes of an RSA key in a card's form, with all numbers equally long.
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

    /// Whether the key is RSA with more than two primes.
    var hasThirdPrime: Bool {
        guard case .rsa = kind else { return false }
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
            // EVP_PKEY_get_raw_private_key leaves a copy in memory that it frees.
            unsafe EVP_PKEY_get_octet_string_param(
                handle.pointer, OSSL_PKEY_PARAM_PRIV_KEY, start, count, &count) == 1
        }
    }
}

extension KeyHandle {
    /// An Ed25519 or X25519 key, whose public half is computed. Wraps `EVP_PKEY_new_raw_private_key_ex`.
    convenience init(seed: borrowing Secret, kind: KeyKind) throws(CryptoError) {
        guard kind == .ed25519 || kind == .x25519 else { throw CryptoError(.unsupported, "seed of \(kind)") }
        guard seed.count == 32 else { throw CryptoError(.invalidLength, "\(kind) seed") }
        // The initialiser's own closure cannot capture the span.
        let key = try unsafe seed.bytes.withPointer { start, count throws(CryptoError) in
            try unsafe OpenSSL.call("\(kind) seed") { context in
                unsafe EVP_PKEY_new_raw_private_key_ex(context, kind.algorithmName, nil, start, count)
            }
        }
        try unsafe self.init("\(kind) seed") { _ in unsafe key }
    }

    /// A key on a NIST curve, whose public half is computed.
    convenience init(ecScalar scalar: borrowing Secret, curve: KeyKind) throws(CryptoError) {
        guard let length = curve.coordinateLength, let group = curve.groupName else {
            throw CryptoError(.unsupported, "scalar on \(curve)")
        }
        let number = try BigNumber(scalar.bytes)
        guard number.byteCount <= length else { throw CryptoError(.invalidLength, "EC scalar") }
        do {
            let digits = try number.bytes(length: length)
            let point = try curve.publicPoint(of: number)
            var parameters = ParameterList()
            parameters.add(OSSL_PKEY_PARAM_GROUP_NAME, text: group)
            parameters.add(OSSL_PKEY_PARAM_PUB_KEY, octets: point.span)
            parameters.add(OSSL_PKEY_PARAM_PRIV_KEY, integer: digits.bytes)
            try self.init("EC", parameters, hasPrivatePart: true)
        } catch {
            throw CryptoError(.invalidKey, "EC scalar", reason: error.reason)
        }
    }

    /// An RSA key of two primes from all its numbers, which are not checked.
    convenience init(
        modulus: [UInt8], exponent: [UInt8], privateExponent: borrowing Secret, _ primes: borrowing RSAPrimes
    ) throws(CryptoError) {
        var parameters = ParameterList()
        parameters.add(OSSL_PKEY_PARAM_RSA_N, integer: modulus.span)
        parameters.add(OSSL_PKEY_PARAM_RSA_E, integer: exponent.span)
        parameters.add(OSSL_PKEY_PARAM_RSA_D, integer: privateExponent.bytes)
        parameters.add(RSAParameter.p, integer: primes.p.bytes)
        parameters.add(RSAParameter.q, integer: primes.q.bytes)
        parameters.add(RSAParameter.dP, integer: primes.dP.bytes)
        parameters.add(RSAParameter.dQ, integer: primes.dQ.bytes)
        parameters.add(RSAParameter.qInv, integer: primes.qInv.bytes)
        try self.init("RSA", parameters, hasPrivatePart: true)
    }

    fileprivate convenience init(_ primes: borrowing RSAPrimes, publicExponent: [UInt8]) throws(CryptoError) {
        let p = try BigNumber(primes.p.bytes)
        let q = try BigNumber(primes.q.bytes)
        let d = try KeyHandle.privateExponent(primes, p: p, q: q, publicExponent: publicExponent)
        let modulus = try p.times(q).bytes()
        let privateExponent = try d.bytes()
        let digits = modulus.bytes
        try self.init(
            modulus: Array(copying: digits), exponent: publicExponent, privateExponent: privateExponent,
            primes)
    }

    /// The private exponent d = e⁻¹ mod (p − 1)(q − 1), after a check of the other numbers.
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

extension KeyKind {
    /// The public key on a NIST curve that belongs to a private one, as an uncompressed point. Wraps `EC_POINT_mul`.
    fileprivate func publicPoint(of scalar: borrowing BigNumber) throws(CryptoError) -> [UInt8] {
        guard let length = coordinateLength, let name = groupName else {
            throw CryptoError(.unsupported, "point on \(self)")
        }
        let intermediates = try unsafe Handle("EC point", release: BN_CTX_free) { unsafe BN_CTX_new_ex($0) }
        let group = try unsafe Handle("EC point", release: EC_GROUP_free) { context in
            unsafe EC_GROUP_new_by_curve_name_ex(context, nil, OBJ_sn2nid(name))
        }
        let point = try unsafe Handle("EC point", release: EC_POINT_free) { _ in unsafe EC_POINT_new(group.pointer) }
        try unsafe OpenSSL.check("EC point") { _ in
            unsafe EC_POINT_mul(group.pointer, point.pointer, scalar.pointer, nil, nil, intermediates.pointer)
        }
        return try unsafe [UInt8](capacity: 1 + 2 * length, "EC point") { _, start, count in
            count = unsafe EC_POINT_point2oct(
                group.pointer, point.pointer, POINT_CONVERSION_UNCOMPRESSED, start, count, intermediates.pointer)
            return count > 1
        }
    }
}

/// OpenSSL's names for the numbers of `RSAPrimes`. Its own macros for them concatenate strings, which Swift does not import.
private enum RSAParameter {
    static let p = OSSL_PKEY_PARAM_RSA_FACTOR + "1"
    static let q = OSSL_PKEY_PARAM_RSA_FACTOR + "2"
    static let third = OSSL_PKEY_PARAM_RSA_FACTOR + "3"
    static let dP = OSSL_PKEY_PARAM_RSA_EXPONENT + "1"
    static let dQ = OSSL_PKEY_PARAM_RSA_EXPONENT + "2"
    static let qInv = OSSL_PKEY_PARAM_RSA_COEFFICIENT + "1"
}
