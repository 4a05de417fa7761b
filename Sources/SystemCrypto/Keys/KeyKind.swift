internal import COpenSSL
internal import SecureBytes

/// The kind of a key pair.
public enum KeyKind: Sendable, Hashable, CustomStringConvertible {
    /// RSA with a modulus of `bits` bits.
    case rsa(bits: Int)
    /// The NIST curves of FIPS 186-5.
    case ecP256, ecP384, ecP521
    /// Signatures of RFC 8032.
    case ed25519
    /// Key agreement of RFC 7748.
    case x25519
    /// Anything else, by OpenSSL's name for it.
    case other(String)

    public var description: String {
        switch self {
        case .rsa(let bits): "RSA \(bits)"
        case .ecP256: "EC P-256"
        case .ecP384: "EC P-384"
        case .ecP521: "EC P-521"
        case .ed25519: "Ed25519"
        case .x25519: "X25519"
        case .other(let name): name
        }
    }

    /// The size in bits: of the modulus, the curve's order, or the encoded key.
    public var bits: Int? {
        switch self {
        case .rsa(let bits): bits
        case .ecP256, .ed25519, .x25519: 256
        case .ecP384: 384
        case .ecP521: 521
        case .other: nil
        }
    }

    /// Whether the key is RSA, with a modulus of any size.
    public var isRSA: Bool { if case .rsa = self { true } else { false } }

    /// Whether the key is on one of the NIST curves.
    public var isEC: Bool { groupName != nil }

    /// Bytes of a coordinate, a scalar, a shared secret or half a signature, on a NIST curve or Curve25519.
    public var coordinateLength: Int? {
        switch self {
        case .rsa, .other: nil
        default: bits.map { ($0 + 7) / 8 }
        }
    }

    /// The public key in the form in which PKCS #11 programs give one on a curve: a DER OCTET STRING of it (§6.3.3), or the key
    /// itself. The lengths tell them apart, since a point may look like an OCTET STRING.
    ///
    /// - Returns: nil for any other length.
    package func point(in encoded: [UInt8]) -> [UInt8]? {
        guard let length = coordinateLength.map({ isEC ? 1 + 2 * $0 : $0 }) else { return nil }
        if encoded.count == length { return encoded }
        let header = TLV.header(DER.Tag.octetString, count: length)
        guard encoded.count == header.count + length, encoded.starts(with: header) else { return nil }
        return Array(encoded.dropFirst(header.count))
    }

    /// The curve's name in OpenSSL.
    var groupName: String? {
        switch self {
        case .ecP256: "prime256v1"
        case .ecP384: "secp384r1"
        case .ecP521: "secp521r1"
        default: nil
        }
    }

    /// The algorithm's name in OpenSSL.
    var algorithmName: String {
        switch self {
        case .rsa: "RSA"
        case .ecP256, .ecP384, .ecP521: "EC"
        case .ed25519: "ED25519"
        case .x25519: "X25519"
        case .other(let name): name
        }
    }

    /// The kind of an OpenSSL key.
    init(of key: KeyHandle) {
        switch key.algorithmName {
        case "RSA": self = .rsa(bits: Int(unsafe EVP_PKEY_get_bits(key.pointer)))
        case "ED25519": self = .ed25519
        case "X25519": self = .x25519
        case "EC": self = KeyKind.curve(of: key)
        default: self = .other(key.algorithmName)
        }
    }

    private static func curve(of key: KeyHandle) -> KeyKind {
        let name = try? unsafe [UInt8](capacity: 64, "curve name") { _, start, count in
            let text = unsafe UnsafeMutableRawPointer(start).assumingMemoryBound(to: CChar.self)
            return unsafe EVP_PKEY_get_group_name(key.pointer, text, count, &count) == 1
        }
        // An explicit curve has no name.
        guard let name else { return .other("EC") }
        let text = String(decoding: name, as: UTF8.self)
        return [KeyKind.ecP256, .ecP384, .ecP521].first { $0.groupName == text } ?? .other("EC \(text)")
    }
}

extension KeyKind {
    /// The `AlgorithmIdentifier` of RFC 8017 §A.1, RFC 5480 §2.1.1 or RFC 8410 §3; nil for other kinds.
    var algorithmIdentifier: [UInt8]? {
        switch self {
        case .rsa: DER.sequence([DER.objectIdentifier(.rsaEncryption), DER.element(DER.Tag.null, [])])
        case .ed25519: DER.sequence([DER.objectIdentifier(.ed25519)])
        case .x25519: DER.sequence([DER.objectIdentifier(.x25519)])
        default:
            curveIdentifier.map { DER.sequence([DER.objectIdentifier(.ecPublicKey), DER.objectIdentifier($0)]) }
        }
    }

    /// The curve in RFC 5480 §2.1.1.1.
    var curveIdentifier: OID? {
        switch self {
        case .ecP256: "1.2.840.10045.3.1.7"
        case .ecP384: "1.3.132.0.34"
        case .ecP521: "1.3.132.0.35"
        default: nil
        }
    }

    /// The NIST curve of that identifier.
    init?(curve identifier: OID?) {
        let curves: [KeyKind] = [.ecP256, .ecP384, .ecP521]
        guard let identifier, let curve = curves.first(where: { $0.curveIdentifier == identifier }) else { return nil }
        self = curve
    }
}

extension OID {
    /// RFC 8017 §A.1.
    static let rsaEncryption: OID = "1.2.840.113549.1.1.1"
    /// RFC 5480 §2.1.1.
    static let ecPublicKey: OID = "1.2.840.10045.2.1"
    // RFC 8410 §3.
    static let x25519: OID = "1.3.101.110"
    static let ed25519: OID = "1.3.101.112"
}
