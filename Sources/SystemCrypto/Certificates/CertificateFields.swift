internal import SecureBytes

/// The fields of a certificate's DER.
///
///     TBSCertificate ::= SEQUENCE {
///         version [0] EXPLICIT INTEGER DEFAULT v1, serialNumber INTEGER, signature AlgorithmIdentifier, issuer Name,
///         validity SEQUENCE { notBefore Time, notAfter Time }, subject Name, subjectPublicKeyInfo,
///         issuerUniqueID [1] IMPLICIT OPTIONAL, subjectUniqueID [2] IMPLICIT OPTIONAL,
///         extensions [3] EXPLICIT SEQUENCE OF Extension OPTIONAL }
struct CertificateFields {
    let version: Int
    let serialNumber: [UInt8]
    let issuer: [UInt8]
    let notBefore: Int64
    let notAfter: Int64
    let subject: [UInt8]
    let spki: [UInt8]
    /// The bits of the public key.
    let keyBits: [UInt8]
    let extensions: [CertificateExtension]

    init(_ der: [UInt8]) throws(CryptoError) {
        var outer = TLVReader(der, .der)
        var certificate = try outer.read(DER.Tag.sequence).reader
        var fields = try certificate.read(DER.Tag.sequence).reader

        version = try CertificateFields.version(fields.readOptional(DER.Tag.context(0)))
        serialNumber = try fields.read(DER.Tag.integer).value
        _ = try fields.read(DER.Tag.sequence)
        issuer = try fields.read(DER.Tag.sequence).encoded()
        var validity = try fields.read(DER.Tag.sequence).reader
        notBefore = try CertificateTime.decode(validity.read())
        notAfter = try CertificateTime.decode(validity.read())
        subject = try fields.read(DER.Tag.sequence).encoded()

        let info = try fields.read(DER.Tag.sequence)
        spki = info.encoded()
        var infoFields = try info.reader
        _ = try infoFields.read(DER.Tag.sequence)
        keyBits = Array(try infoFields.read(DER.Tag.bitString).content.dropFirst())

        _ = try fields.readOptional(DER.Tag.context(1, constructed: false))
        _ = try fields.readOptional(DER.Tag.context(2, constructed: false))
        extensions = try CertificateFields.extensions(fields.readOptional(DER.Tag.context(3)))
        try fields.finish()
    }

    /// The DER of the subject, without reading the other fields.
    static func subject(of der: [UInt8]) throws(CryptoError) -> [UInt8] {
        var outer = TLVReader(der, .der)
        var certificate = try outer.read(DER.Tag.sequence).reader
        var fields = try certificate.read(DER.Tag.sequence).reader
        _ = try fields.readOptional(DER.Tag.context(0))
        _ = try fields.read(DER.Tag.integer)
        // Signature algorithm, issuer, validity.
        for _ in 0..<3 { _ = try fields.read(DER.Tag.sequence) }
        return try fields.read(DER.Tag.sequence).encoded()
    }

    private static func version(_ element: TLV?) throws(CryptoError) -> Int {
        guard var reader = try element?.reader else { return 1 }
        let number = try reader.read(DER.Tag.integer).content
        guard let only = number.first, number.count == 1, only < 0x7F else { throw CryptoError(.malformed, "version") }
        return Int(only) + 1
    }

    private static func extensions(_ element: TLV?) throws(CryptoError) -> [CertificateExtension] {
        guard var outer = try element?.reader else { return [] }
        var list = try outer.read(DER.Tag.sequence).reader
        var extensions: [CertificateExtension] = []
        while !list.isAtEnd { extensions.append(try CertificateExtension(parsing: list.read(DER.Tag.sequence))) }
        return extensions
    }
}
