/// A certificate to be made: filled in, then signed by a key in memory or, in two steps, by a card.
///
///     let builder = try CertificateBuilder(commonName: "Jo", publicKey: key.publicKey, notBefore: now, notAfter: later)
///     let certificate = try builder.selfSigned(by: key)
public struct CertificateBuilder: Sendable {
    public var subject: DistinguishedName
    /// The issuer; nil for the subject itself.
    public var issuer: DistinguishedName?
    public var publicKey: PublicKey
    /// The non-negative serial number, most significant byte first.
    public var serialNumber: [UInt8]
    /// In seconds since 1970.
    public var notBefore: Int64
    /// In seconds since 1970.
    public var notAfter: Int64
    public var isCA = false
    /// Whether the certificate has the basic constraints at all, which say whether it is a CA's.
    public var hasConstraints = true
    public var keyUsage: KeyUsage = []
    public var extendedKeyUsage: [OID] = []
    public var subjectAlternativeNames: [GeneralName] = []
    /// The identifier of the issuer's key, where it is not the subject's own.
    public var authorityKeyIdentifier: [UInt8]?
    /// Further extensions, after the others.
    public var extensions: [CertificateExtension] = []

    /// A certificate with a random serial number of 16 bytes.
    public init(
        subject: DistinguishedName, publicKey: PublicKey, notBefore: Int64, notAfter: Int64
    ) throws(CryptoError) {
        self.subject = subject
        self.publicKey = publicKey
        self.notBefore = notBefore
        self.notAfter = notAfter
        serialNumber = try RandomBytes.make(count: 16)
    }

    /// A certificate whose subject is only a common name.
    public init(
        commonName: String, publicKey: PublicKey, notBefore: Int64, notAfter: Int64
    ) throws(CryptoError) {
        let subject = try DistinguishedName(commonName: commonName)
        try self.init(subject: subject, publicKey: publicKey, notBefore: notBefore, notAfter: notAfter)
    }

    /// The certificate, issued by its own subject.
    public func selfSigned(
        by key: PrivateKey, digest: DigestAlgorithm = .sha256
    ) throws(CryptoError) -> Certificate {
        let algorithm = try CertificateBuilder.signatureAlgorithm(of: key.publicKey, digest: digest)
        let message = try toBeSigned(using: algorithm)
        return try CertificateBuilder.assemble(
            message, signature: key.sign(message: message, using: algorithm), algorithm: algorithm)
    }

    /// The certificate, issued by another's subject and key.
    public func issued(
        by authority: Certificate, key: PrivateKey, digest: DigestAlgorithm = .sha256
    ) throws(CryptoError) -> Certificate {
        var builder = self
        builder.issuer = authority.subject
        builder.authorityKeyIdentifier = authority.subjectKeyIdentifier
        return try builder.selfSigned(by: key, digest: digest)
    }

    /// The bytes that the issuer signs: the DER of the `TBSCertificate`.
    ///
    /// - Throws: `unsupported` for a signature algorithm without an identifier in X.509.
    public func toBeSigned(using algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        let version = DER.element(DER.Tag.context(0), DER.integer([2]))
        let validity = DER.sequence([try CertificateTime.encode(notBefore), try CertificateTime.encode(notAfter)])
        let list = DER.sequence(allExtensions.map(\.encoded))
        return DER.sequence([
            version, DER.integer(serialNumber), try algorithm.identifier(), (issuer ?? subject).der, validity,
            subject.der, publicKey.spki, DER.element(DER.Tag.context(3), list),
        ])
    }

    /// The certificate from the result of `toBeSigned` and a signature over it.
    public static func assemble(
        _ toBeSigned: [UInt8], signature: [UInt8], algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> Certificate {
        try Certificate(der: DER.sequence([toBeSigned, try algorithm.identifier(), DER.bitString(signature)]))
    }

    /// The algorithm by which a kind of key signs certificates.
    public static func signatureAlgorithm(
        of key: PublicKey, digest: DigestAlgorithm
    ) throws(CryptoError) -> SignatureAlgorithm {
        switch key.kind {
        case .rsa: return .rsaPKCS1(digest)
        case .ecP256, .ecP384, .ecP521: return .ecdsa(digest)
        case .ed25519: return .ed25519
        case .x25519, .other: throw CryptoError(.unsupported, "certificate signed with \(key.kind)")
        }
    }

    private var allExtensions: [CertificateExtension] {
        var list: [CertificateExtension] = []
        if hasConstraints {
            let constraints = DER.sequence(isCA ? [DER.element(DER.Tag.boolean, [0xFF])] : [])
            list.append(CertificateExtension(.basicConstraints, isCritical: true, value: constraints))
        }
        list.append(CertificateExtension(.subjectKeyIdentifier, value: DER.octetString(publicKey.keyHash)))
        if let authorityKeyIdentifier {
            let identifier = DER.element(DER.Tag.context(0, constructed: false), authorityKeyIdentifier)
            list.append(CertificateExtension(.authorityKeyIdentifier, value: DER.sequence([identifier])))
        }
        if !keyUsage.isEmpty {
            list.append(CertificateExtension(.keyUsage, isCritical: true, value: keyUsage.encoded))
        }
        if !extendedKeyUsage.isEmpty {
            let purposes = DER.sequence(extendedKeyUsage.map(DER.objectIdentifier))
            list.append(CertificateExtension(.extendedKeyUsage, value: purposes))
        }
        if !subjectAlternativeNames.isEmpty {
            let names = DER.sequence(subjectAlternativeNames.map(\.encoded))
            list.append(CertificateExtension(.subjectAlternativeName, isCritical: subject.isEmpty, value: names))
        }
        return list + extensions
    }
}

extension SignatureAlgorithm {
    /// The DER of the `AlgorithmIdentifier` in a certificate, RFC 3279 §2.2, RFC 4055 §5, RFC 5758 §3, RFC 8410 §3.
    func identifier() throws(CryptoError) -> [UInt8] {
        switch self {
        case .rsaPKCS1(let digest?): DER.sequence([DER.objectIdentifier(digest.rsaSignatureIdentifier), [0x05, 0x00]])
        case .ecdsa(let digest?, .x962): DER.sequence([DER.objectIdentifier(digest.ecdsaSignatureIdentifier)])
        case .ed25519: DER.sequence([DER.objectIdentifier("1.3.101.112")])
        case .rsaRaw, .rsaPKCS1(nil), .ecdsa, .rsaPSS: throw CryptoError(.unsupported, "certificate signature")
        }
    }
}

extension DigestAlgorithm {
    fileprivate var rsaSignatureIdentifier: OID {
        switch self {
        case .sha1: "1.2.840.113549.1.1.5"
        case .sha224: "1.2.840.113549.1.1.14"
        case .sha256: "1.2.840.113549.1.1.11"
        case .sha384: "1.2.840.113549.1.1.12"
        case .sha512: "1.2.840.113549.1.1.13"
        }
    }

    fileprivate var ecdsaSignatureIdentifier: OID {
        switch self {
        case .sha1: "1.2.840.10045.4.1"
        case .sha224: "1.2.840.10045.4.3.1"
        case .sha256: "1.2.840.10045.4.3.2"
        case .sha384: "1.2.840.10045.4.3.3"
        case .sha512: "1.2.840.10045.4.3.4"
        }
    }
}
