internal import COpenSSL
internal import SecureBytes

/// An immutable public key, which was checked when it was made.
public struct PublicKey: Sendable, Hashable {
    /// The algorithm and size.
    public let kind: KeyKind
    /// The DER of the key's `SubjectPublicKeyInfo`, RFC 5280 §4.1.2.7.
    public let spki: [UInt8]
    /// The key without its algorithm: RSA the DER of a PKCS#1 `RSAPublicKey`, EC `04‖X‖Y`, Ed25519 and X25519 32 bytes.
    public let rawRepresentation: [UInt8]
    /// SHA-1 of `rawRepresentation`, by which keychains pair keys with certificates (`klbl`, `pkhh`).
    public let keyHash: [UInt8]
    let handle: KeyHandle

    /// The key of a DER `SubjectPublicKeyInfo`.
    ///
    /// - Throws: `malformed` for anything else, bytes after it, a point off its curve, or an unknown algorithm.
    public init(spki: [UInt8]) throws(CryptoError) {
        if let known = PublicKeyCache[spki] {
            self = known
            return
        }
        try self.init(handle: KeyHandle(spki: spki), spki: spki)
        PublicKeyCache.insert(self)
    }

    /// The SHA-1 of the key's bits in a `SubjectPublicKeyInfo`, which is ``keyHash`` except for unusual encodings. The key is not
    /// decoded, which would take OpenSSL far longer. Nil for another structure.
    public static func keyHash(ofBitsIn spki: [UInt8]) -> [UInt8]? {
        do throws(CryptoError) {
            var outer = TLVReader(spki, .der)
            var info = try outer.read(DER.Tag.sequence).reader
            try outer.finish()
            _ = try info.read(DER.Tag.sequence)
            let bits = try info.read(DER.Tag.bitString).content
            try info.finish()
            // The first byte is the number of unused bits.
            return bits.first == 0 ? try Digest.hash(Array(bits.dropFirst()), using: .sha1) : nil
        } catch {
            return nil
        }
    }

    /// An RSA key from its numbers, most significant byte first.
    public init(rsaModulus modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        let (modulus, exponent) = (Array(modulus.drop { $0 == 0 }), Array(exponent.drop { $0 == 0 }))
        guard let last = modulus.last, let lastOfExponent = exponent.last, last & 1 == 1, lastOfExponent & 1 == 1,
            modulus.count <= PublicKey.maximumModulusLength, exponent.count <= modulus.count
        else { throw CryptoError(.malformed, "RSA public key") }
        var parameters = ParameterList()
        parameters.add(OSSL_PKEY_PARAM_RSA_N, integer: modulus.span)
        parameters.add(OSSL_PKEY_PARAM_RSA_E, integer: exponent.span)
        try self.init(handle: KeyHandle("RSA", parameters, hasPrivatePart: false))
    }

    /// A key on a NIST curve from its point, `04‖X‖Y` (SEC 1 §2.3.3).
    ///
    /// - Throws: `malformed` for a point that is not on the curve, `unsupported` for another kind of key.
    public init(ecPoint point: [UInt8], curve: KeyKind) throws(CryptoError) {
        guard let group = curve.groupName, let length = curve.coordinateLength else {
            throw CryptoError(.unsupported, "point on \(curve)")
        }
        guard point.count == 1 + 2 * length, point.first == 0x04 else { throw CryptoError(.malformed, "EC point") }
        var parameters = ParameterList()
        parameters.add(OSSL_PKEY_PARAM_GROUP_NAME, text: group)
        parameters.add(OSSL_PKEY_PARAM_PUB_KEY, octets: point.span)
        try self.init(handle: KeyHandle("EC", parameters, hasPrivatePart: false))
    }

    /// An Ed25519 or X25519 key from its 32 bytes.
    public init(raw bytes: [UInt8], kind: KeyKind) throws(CryptoError) {
        guard kind == .ed25519 || kind == .x25519 else { throw CryptoError(.unsupported, "raw \(kind) key") }
        guard bytes.count == 32 else { throw CryptoError(.malformed, "\(kind) public key") }
        let handle = try unsafe bytes.span.withPointer { start, count throws(CryptoError) in
            try unsafe KeyHandle("\(kind) public key", failing: .malformed) { context in
                unsafe EVP_PKEY_new_raw_public_key_ex(context, kind.algorithmName, nil, start, count)
            }
        }
        try self.init(handle: handle)
    }

    /// The public half of an OpenSSL key.
    init(handle: KeyHandle) throws(CryptoError) {
        let spki = try unsafe [UInt8](encoding: "public key") { unsafe i2d_PUBKEY(handle.pointer, $0) }
        // The DER is read again, so that the new handle has no private half.
        try self.init(handle: KeyHandle(spki: spki), spki: spki)
    }

    private init(handle: KeyHandle, spki: [UInt8]) throws(CryptoError) {
        self.handle = handle
        self.spki = spki
        kind = KeyKind(of: handle)
        rawRepresentation = try PublicKey.rawRepresentation(of: handle, kind: kind, spki: spki)
        keyHash = try Digest.hash(rawRepresentation, using: .sha1)
    }

    /// The modulus and the exponent of an RSA key, most significant byte first, without leading zeros.
    public var rsaComponents: (modulus: [UInt8], exponent: [UInt8])? {
        guard case .rsa = kind, let modulus = try? handle.integer(OSSL_PKEY_PARAM_RSA_N),
            let exponent = try? handle.integer(OSSL_PKEY_PARAM_RSA_E)
        else { return nil }
        return (modulus, exponent)
    }

    /// The key as PEM.
    public var pem: String { PEM.encode(spki, label: "PUBLIC KEY") }

    public static func == (left: PublicKey, right: PublicKey) -> Bool {
        left.spki == right.spki
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(spki)
    }

    /// In bytes: 16384 bits, OpenSSL's own limit.
    static let maximumModulusLength = 2048

    private static func rawRepresentation(
        of handle: KeyHandle, kind: KeyKind, spki: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        var outer = TLVReader(spki, .der)
        var info = try outer.read(DER.Tag.sequence).reader
        _ = try info.read(DER.Tag.sequence)
        let bits = try info.read(DER.Tag.bitString).content
        guard kind.isEC, bits.dropFirst().first != 0x04 else { return Array(bits.dropFirst()) }
        // A certificate may hold a compressed point; the hash is of the uncompressed one.
        let x = try handle.integer(OSSL_PKEY_PARAM_EC_PUB_X, length: kind.coordinateLength)
        let y = try handle.integer(OSSL_PKEY_PARAM_EC_PUB_Y, length: kind.coordinateLength)
        return [0x04] + x + y
    }
}

extension KeyHandle {
    /// Wraps `OSSL_DECODER_from_data`.
    convenience init(spki: [UInt8]) throws(CryptoError) {
        let algorithm = try KeyHandle.algorithm(of: spki)
        try unsafe self.init("public key", failing: .malformed) { context in
            unsafe spki.span.withPointer { start, count in
                unsafe copenssl_read_public_key(context, algorithm, start, count)
            }
        }
    }

    /// The object identifier of the algorithm in a `SubjectPublicKeyInfo` that fills the bytes.
    private static func algorithm(of spki: [UInt8]) throws(CryptoError) -> String {
        var outer = TLVReader(spki, .der)
        var info = try outer.read(DER.Tag.sequence).reader
        try outer.finish()
        var algorithm = try info.read(DER.Tag.sequence).reader
        return OID(content: try algorithm.read(DER.Tag.objectIdentifier).value).description
    }
}
