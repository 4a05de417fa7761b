internal import SecureBytes

/// A set of certificates without signed content, as in `.p7b` files. RFC 5652 §5.1, "degenerate".
///
///     ContentInfo ::= SEQUENCE { contentType OID, [0] EXPLICIT SignedData }
///     SignedData ::= SEQUENCE { version, digestAlgorithms SET, encapContentInfo SEQUENCE { eContentType },
///         certificates [0] IMPLICIT SET OPTIONAL, crls [1] IMPLICIT SET OPTIONAL, signerInfos SET }
public enum CertificateSet {
    /// The most certificates that are read from a file.
    public static let maximumCount = 10_000

    /// The certificates of a PKCS#7 message, in its order. A signed message has those of its signers.
    ///
    /// - Throws: `malformed` for anything else. Other kinds of certificates in the message are ignored.
    public static func parse(_ der: [UInt8]) throws(CryptoError) -> [Certificate] {
        var outer = TLVReader(der, .der)
        var info = try outer.read(DER.Tag.sequence).reader
        try outer.finish()
        guard try info.read(DER.Tag.objectIdentifier).value == signedData.content else {
            throw CryptoError(.malformed, "PKCS#7 content type")
        }
        var content = try info.read(DER.Tag.context(0)).reader
        var message = try content.read(DER.Tag.sequence).reader
        _ = try message.read(DER.Tag.integer)
        _ = try message.read(DER.Tag.set)
        _ = try message.read(DER.Tag.sequence)
        guard var list = try message.readOptional(DER.Tag.context(0))?.reader else { return [] }
        var certificates: [Certificate] = []
        while !list.isAtEnd {
            let element = try list.read()
            guard element.tag == DER.Tag.sequence else { continue }
            guard certificates.count < maximumCount else { throw CryptoError(.malformed, "PKCS#7 with too many") }
            certificates.append(try Certificate(der: element.encoded()))
        }
        return certificates
    }

    /// A message with only the certificates.
    public static func encode(_ certificates: [Certificate]) -> [UInt8] {
        // RFC 5652 §11.6 requires a set in the order of its encodings.
        let sorted = certificates.map(\.der).sorted { $0.lexicographicallyPrecedes($1) }
        let message = DER.sequence([
            DER.integer([1]), DER.element(DER.Tag.set, []), DER.sequence([DER.objectIdentifier(data)]),
            DER.element(DER.Tag.context(0), Array(sorted.joined())), DER.element(DER.Tag.set, []),
        ])
        return DER.sequence([DER.objectIdentifier(signedData), DER.element(DER.Tag.context(0), message)])
    }

    private static let data: OID = "1.2.840.113549.1.7.1"
    private static let signedData: OID = "1.2.840.113549.1.7.2"
}
