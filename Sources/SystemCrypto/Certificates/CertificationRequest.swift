internal import COpenSSL
internal import SecureBytes

/// A request for a certificate: filled in, then signed by the key to be certified, in memory or, in two steps, by a card. RFC
/// 2986.
///
///     CertificationRequestInfo ::= SEQUENCE { version INTEGER (0), subject Name, subjectPKInfo, attributes [0] IMPLICIT SET }
public struct CertificationRequest: Sendable {
    public var subject: DistinguishedName
    public var publicKey: PublicKey
    public var subjectAlternativeNames: [GeneralName] = []
    public var extendedKeyUsage: [OID] = []
    /// Further extensions, after the others.
    public var extensions: [CertificateExtension] = []

    public init(subject: DistinguishedName, publicKey: PublicKey) {
        self.subject = subject
        self.publicKey = publicKey
    }

    /// The bytes that the key signs: the DER of the `CertificationRequestInfo`.
    public var toBeSigned: [UInt8] {
        var attributes: [UInt8] = []
        let extensions = allExtensions
        if !extensions.isEmpty {
            let list = DER.sequence(extensions.map(\.encoded))
            // extensionRequest, RFC 2985 §5.4.2
            attributes = DER.sequence([
                DER.objectIdentifier("1.2.840.113549.1.9.14"), DER.element(DER.Tag.set, list),
            ])
        }
        return DER.sequence([
            DER.integer([0]), subject.der, publicKey.spki, DER.element(DER.Tag.context(0), attributes),
        ])
    }

    /// All extensions that the request asks for.
    public var allExtensions: [CertificateExtension] {
        var list: [CertificateExtension] = []
        if !extendedKeyUsage.isEmpty {
            let purposes = DER.sequence(extendedKeyUsage.map(DER.objectIdentifier))
            list.append(CertificateExtension(.extendedKeyUsage, value: purposes))
        }
        if !subjectAlternativeNames.isEmpty {
            let names = DER.sequence(subjectAlternativeNames.map(\.encoded))
            list.append(CertificateExtension(.subjectAlternativeName, value: names))
        }
        return list + extensions
    }

    /// The request with a signature over ``toBeSigned``, in DER.
    ///
    /// - Throws: `unsupported` for a signature algorithm without an identifier in X.509.
    public func assemble(signature: [UInt8], algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        DER.sequence([toBeSigned, try algorithm.identifier(), DER.bitString(signature)])
    }
}

extension CertificationRequest {
    /// The key of a request in DER, once its signature has shown that its maker has the key. Wraps `X509_REQ_verify_ex`.
    ///
    /// - Throws: `malformed` for anything else, bytes after it, or a signature that is not the key's.
    public static func provenKey(of der: [UInt8]) throws(CryptoError) -> PublicKey {
        var outer = TLVReader(der, .der)
        var request = try outer.read(DER.Tag.sequence).reader
        var fields = try request.read(DER.Tag.sequence).reader
        _ = try fields.read(DER.Tag.integer)
        _ = try fields.read(DER.Tag.sequence)
        let key = try PublicKey(spki: fields.read(DER.Tag.sequence).encoded())
        let parsed = try unsafe Handle("request", parsing: der.span, release: X509_REQ_free) {
            unsafe d2i_X509_REQ(nil, $0, $1)
        }
        let isProven = try unsafe OpenSSL.call("request") { context in
            unsafe X509_REQ_verify_ex(parsed.pointer, key.handle.pointer, context, nil) == 1
        }
        guard isProven else { throw CryptoError(.malformed, "request's signature") }
        return key
    }
}
