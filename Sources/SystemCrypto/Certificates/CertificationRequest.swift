/// A request for a certificate: filled in, then signed by the key to be certified, in memory or, in two steps, by a card. RFC
/// 2986.
///
///     CertificationRequestInfo ::= SEQUENCE { version INTEGER (0), subject Name, subjectPKInfo, attributes [0] IMPLICIT SET }
public struct CertificationRequest: Sendable {
    public var subject: DistinguishedName
    public var publicKey: PublicKey
    public var subjectAlternativeNames: [GeneralName] = []

    public init(subject: DistinguishedName, publicKey: PublicKey) {
        self.subject = subject
        self.publicKey = publicKey
    }

    /// The bytes that the key signs: the DER of the `CertificationRequestInfo`.
    public var toBeSigned: [UInt8] {
        var attributes: [UInt8] = []
        if !subjectAlternativeNames.isEmpty {
            let names = DER.sequence(subjectAlternativeNames.map(\.encoded))
            let list = DER.sequence([CertificateExtension(.subjectAlternativeName, value: names).encoded])
            // extensionRequest, RFC 2985 §5.4.2
            attributes = DER.sequence([
                DER.objectIdentifier("1.2.840.113549.1.9.14"), DER.element(DER.Tag.set, list),
            ])
        }
        return DER.sequence([
            DER.integer([0]), subject.der, publicKey.spki, DER.element(DER.Tag.context(0), attributes),
        ])
    }

    /// The request with a signature over ``toBeSigned``, in DER.
    ///
    /// - Throws: `unsupported` for a signature algorithm without an identifier in X.509.
    public func assemble(signature: [UInt8], algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        DER.sequence([toBeSigned, try algorithm.identifier(), DER.bitString(signature)])
    }
}
