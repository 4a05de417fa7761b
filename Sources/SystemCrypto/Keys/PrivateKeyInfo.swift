internal import SecureBytes

/// A private key in the format of PKCS#8, RFC 5208 §5, with the public key that RFC 5958 §2 adds.
///
///     OneAsymmetricKey ::= SEQUENCE {
///         version INTEGER { v1(0), v2(1) }, privateKeyAlgorithm AlgorithmIdentifier, privateKey OCTET STRING,
///         attributes [0] IMPLICIT Attributes OPTIONAL, publicKey [1] IMPLICIT BIT STRING OPTIONAL }
struct PrivateKeyInfo: ~Copyable {
    let algorithm: OID
    /// The algorithm's parameters where they are an object identifier, such as a curve's.
    let parameter: OID?
    /// The key, in the format of the algorithm.
    let key: Secret
    let publicKey: [UInt8]?

    init(_ der: Span<UInt8>) throws(CryptoError) {
        var outer = der
        var fields = try outer.readDER(DER.Tag.sequence)
        guard outer.isEmpty else { throw CryptoError(.malformed, "DER trailing bytes") }
        let version = try fields.readDER(DER.Tag.integer)
        guard version.count == 1, version[0] <= 1 else { throw CryptoError(.malformed, "PKCS#8 version") }
        var identifier = try fields.readDER(DER.Tag.sequence)
        let algorithm = try identifier.readDER(DER.Tag.objectIdentifier)
        var parameter: OID?
        if identifier.nextDERTag == DER.Tag.objectIdentifier {
            let name = try identifier.readDER(DER.Tag.objectIdentifier)
            parameter = OID(content: Array(copying: name))
        }
        let key = Secret(copying: try fields.readDER(DER.Tag.octetString))
        if fields.nextDERTag == DER.Tag.context(0) { _ = try fields.readDER(DER.Tag.context(0)) }
        var publicKey: [UInt8]?
        if !fields.isEmpty {
            let bits = try fields.readDER(DER.Tag.context(1, constructed: false))
            publicKey = bits.indices.dropFirst().map { bits[$0] }
        }
        guard fields.isEmpty else { throw CryptoError(.malformed, "DER trailing bytes") }
        self.algorithm = OID(content: Array(copying: algorithm))
        self.parameter = parameter
        self.key = key
        self.publicKey = publicKey
    }

    /// The 32 bytes of a key on Curve25519, RFC 8410 §7.
    func seed() throws(CryptoError) -> Secret {
        var content = key.bytes
        let seed = try content.readDER(DER.Tag.octetString)
        guard content.isEmpty, seed.count == 32 else { throw CryptoError(.malformed, "PKCS#8 of Curve25519") }
        return Secret(copying: seed)
    }
}
