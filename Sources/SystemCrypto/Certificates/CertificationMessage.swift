internal import SecureBytes

/// The messages that a key signs about itself, whatever it is for: they show that their maker has it.
public enum CertificationMessage {
    /// Whether a message asks for a certificate of a key, or is a certificate that the key issues to itself.
    ///
    ///     CertificationRequestInfo ::= SEQUENCE { version INTEGER, subject Name, subjectPKInfo, … }      RFC 2986 §4.1
    ///     TBSCertificate ::= SEQUENCE { version [0], serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo, … }
    ///                                                                                                  RFC 5280 §4.1
    ///
    /// - Parameter key: a SubjectPublicKeyInfo in DER.
    public static func isAbout(_ key: [UInt8], _ message: [UInt8]) -> Bool {
        guard var reader = try? TLVReader.only(DER.Tag.sequence, in: message).children(),
            let fields = try? reader.all()
        else { return false }
        let tags = fields.map(\.tag)
        if tags.starts(with: [DER.Tag.integer, DER.Tag.sequence, DER.Tag.sequence]) {
            return fields[0].value == [0] && fields[2].encoded() == key
        }
        let certificate = [DER.Tag.context(0), DER.Tag.integer] + [TLVTag](repeating: DER.Tag.sequence, count: 5)
        guard tags.starts(with: certificate) else { return false }
        return fields[3].encoded() == fields[5].encoded() && fields[6].encoded() == key
    }
}
