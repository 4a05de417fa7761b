internal import SecureBytes

/// An elliptic curve key in the format of SEC 1, RFC 5915 §3.
///
///     ECPrivateKey ::= SEQUENCE {
///         version INTEGER { ecPrivkeyVer1(1) }, privateKey OCTET STRING,
///         parameters [0] EXPLICIT ECParameters OPTIONAL, publicKey [1] EXPLICIT BIT STRING OPTIONAL }
///
/// OpenSSL would read the key in its default context, and compute a missing public key there, with that context's random numbers.
/// Only keys on curves other than NIST's are left to it.
struct SEC1PrivateKey: ~Copyable {
    let scalar: Secret
    /// The named curve.
    let curve: OID?
    /// The public key's point.
    let point: [UInt8]?

    init(_ der: Span<UInt8>) throws(CryptoError) {
        var outer = der
        var fields = try outer.readDER(DER.Tag.sequence)
        guard outer.isEmpty else { throw CryptoError(.malformed, "DER trailing bytes") }
        let version = try fields.readDER(DER.Tag.integer)
        guard version.count == 1, version[0] == 1 else { throw CryptoError(.malformed, "SEC 1 version") }
        let scalar = Secret(copying: try fields.readDER(DER.Tag.octetString))
        let curve = try SEC1PrivateKey.curve(&fields)
        let point = try SEC1PrivateKey.point(&fields)
        guard fields.isEmpty else { throw CryptoError(.malformed, "DER trailing bytes") }
        self.scalar = scalar
        self.curve = curve
        self.point = point
    }

    @_lifetime(fields: copy fields)
    private static func curve(_ fields: inout Span<UInt8>) throws(CryptoError) -> OID? {
        guard fields.nextDERTag == DER.Tag.context(0) else { return nil }
        var parameters = try fields.readDER(DER.Tag.context(0))
        let identifier = try parameters.readDER(DER.Tag.objectIdentifier)
        return OID(content: Array(copying: identifier))
    }

    @_lifetime(fields: copy fields)
    private static func point(_ fields: inout Span<UInt8>) throws(CryptoError) -> [UInt8]? {
        guard fields.nextDERTag == DER.Tag.context(1) else { return nil }
        var wrapper = try fields.readDER(DER.Tag.context(1))
        let bits = try wrapper.readDER(DER.Tag.bitString)
        return bits.indices.dropFirst().map { bits[$0] }
    }
}
