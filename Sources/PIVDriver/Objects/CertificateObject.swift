internal import SecureBytes
package import TokenKit

/// A certificate as the card stores it. SP 800-73-5 part 1 table 10.
///
///     70 certificate · 71 CertInfo · 72 MSCUID · FE
package struct CertificateObject: Hashable, Sendable {
    /// The certificate in DER, unpacked where it was compressed.
    package let certificate: [UInt8]

    /// The most bytes that a compressed certificate may unpack to.
    package static let maximumLength = 65_536

    /// Reads the object's content; nil where it holds no certificate.
    package static func parse(_ content: [UInt8]) throws(TokenError) -> CertificateObject? {
        let fields = try PIVFormat.parsing("certificate object") { () throws(TLVError) in
            var reader = TLVReader(content)
            return try reader.fields()
        }
        guard let stored = fields[0x70], !stored.isEmpty else { return nil }
        guard isCompressed(stored, information: fields[0x71]?.first ?? 0) else {
            return CertificateObject(certificate: stored)
        }
        return CertificateObject(certificate: try Inflate.unpack(stored, limit: maximumLength))
    }

    /// Whether the certificate is compressed. A clear header of gzip or DER overrides the flag, which is `01`, or `80` from early
    /// writers.
    private static func isCompressed(_ stored: [UInt8], information: UInt8) -> Bool {
        if stored.starts(with: [0x1F, 0x8B]) { return true }
        if stored.starts(with: [0x30]), stored.count > 1, stored[1] >= 0x80 { return false }
        return information & 0x03 == 0x01 || information & 0x80 != 0
    }
}
