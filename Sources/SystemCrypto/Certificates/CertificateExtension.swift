internal import SecureBytes

/// An extension of a certificate, RFC 5280 §4.1.2.9.
public struct CertificateExtension: Sendable, Hashable {
    public let identifier: OID
    /// Whether a reader that does not know the extension must refuse the certificate.
    public let isCritical: Bool
    /// The DER inside the extension's octet string.
    public let value: [UInt8]

    public init(_ identifier: OID, isCritical: Bool = false, value: [UInt8]) {
        self.identifier = identifier
        self.isCritical = isCritical
        self.value = value
    }

    init(parsing element: TLV) throws(CryptoError) {
        var fields = try element.reader
        let identifier = OID(content: try fields.read(DER.Tag.objectIdentifier).value)
        let critical = try fields.readOptional(DER.Tag.boolean)
        let value = try fields.read(DER.Tag.octetString)
        try fields.finish()
        self.init(identifier, isCritical: critical.map { $0.content.first != 0 } ?? false, value: value.value)
    }

    /// The most extensions that are read from a file.
    public static let maximumCount = 64

    /// The extensions of a file: `Extension`s, or an `Extensions` of them, in DER or as blocks of PEM of any label.
    ///
    /// - Throws: `malformed` for anything else, none, or more than ``maximumCount``.
    public static func all(in file: [UInt8]) throws(CryptoError) -> [CertificateExtension] {
        var extensions: [CertificateExtension] = []
        guard PEM.isPEM(file.span) else {
            try append(file, to: &extensions)
            return extensions
        }
        let reader = try PEMReader(file.span)
        while let block = try reader.next() { try append(block.der.copied(), to: &extensions) }
        guard !extensions.isEmpty else { throw CryptoError(.malformed, "extensions") }
        return extensions
    }

    private static func append(_ der: [UInt8], to extensions: inout [CertificateExtension]) throws(CryptoError) {
        var reader = TLVReader(der, .der)
        repeat {
            let element = try reader.read(DER.Tag.sequence)
            // An Extension begins with its identifier, and Extensions with an Extension.
            if element.content.first == 0x06 {
                extensions.append(try CertificateExtension(parsing: element))
            } else {
                var list = try element.reader
                repeat {
                    extensions.append(try CertificateExtension(parsing: list.read(DER.Tag.sequence)))
                } while !list.isAtEnd && extensions.count <= maximumCount
            }
            guard extensions.count <= maximumCount else { throw CryptoError(.malformed, "too many extensions") }
        } while !reader.isAtEnd
    }

    package var encoded: [UInt8] {
        let critical = isCritical ? DER.element(DER.Tag.boolean, [0xFF]) : []
        return DER.sequence([DER.objectIdentifier(identifier), critical, DER.octetString(value)])
    }
}

extension OID {
    static let subjectKeyIdentifier: OID = "2.5.29.14"
    static let keyUsage: OID = "2.5.29.15"
    static let subjectAlternativeName: OID = "2.5.29.17"
    static let basicConstraints: OID = "2.5.29.19"
    static let authorityKeyIdentifier: OID = "2.5.29.35"
    static let extendedKeyUsage: OID = "2.5.29.37"

    /// The user principal name among a certificate's alternative names.
    public static let userPrincipalName: OID = "1.3.6.1.4.1.311.20.2.3"
    /// Extended key usages, RFC 5280 §4.2.1.12, RFC 4945 §5.1.3.12 and, the last two, Microsoft and FPKI.
    public static let serverAuthentication: OID = "1.3.6.1.5.5.7.3.1"
    public static let clientAuthentication: OID = "1.3.6.1.5.5.7.3.2"
    public static let codeSigning: OID = "1.3.6.1.5.5.7.3.3"
    public static let emailProtection: OID = "1.3.6.1.5.5.7.3.4"
    public static let anyExtendedKeyUsage: OID = "2.5.29.37.0"
    public static let timeStamping: OID = "1.3.6.1.5.5.7.3.8"
    public static let ocspSigning: OID = "1.3.6.1.5.5.7.3.9"
    public static let ipsecIKE: OID = "1.3.6.1.5.5.7.3.17"
    public static let smartCardLogon: OID = "1.3.6.1.4.1.311.20.2.2"
    public static let pivCardAuthentication: OID = "2.16.840.1.101.3.6.8"
}

/// The uses of a certificate's key, RFC 5280 §4.2.1.3, with the RFC's bit numbers.
public struct KeyUsage: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    public static let digitalSignature = KeyUsage(rawValue: 1 << 0)
    public static let nonRepudiation = KeyUsage(rawValue: 1 << 1)
    public static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
    public static let dataEncipherment = KeyUsage(rawValue: 1 << 3)
    public static let keyAgreement = KeyUsage(rawValue: 1 << 4)
    public static let keyCertSign = KeyUsage(rawValue: 1 << 5)
    public static let crlSign = KeyUsage(rawValue: 1 << 6)
    public static let encipherOnly = KeyUsage(rawValue: 1 << 7)
    public static let decipherOnly = KeyUsage(rawValue: 1 << 8)

    init(parsing value: [UInt8]) throws(CryptoError) {
        var reader = TLVReader(value, .der)
        let content = try reader.read(DER.Tag.bitString).content
        try reader.finish()
        var bits: UInt16 = 0
        for (index, byte) in content.dropFirst().prefix(2).enumerated() {
            // Bit 0 is the highest of the first byte.
            for bit in 0..<8 where byte & (0x80 >> UInt8(bit)) != 0 { bits |= 1 << UInt16(8 * index + bit) }
        }
        rawValue = bits
    }

    /// The DER of the bit string, without zeros at its end (X.690 §11.2.2).
    var encoded: [UInt8] {
        let length = UInt16.bitWidth - rawValue.leadingZeroBitCount
        var bytes = [UInt8](repeating: 0, count: (length + 7) / 8)
        for bit in 0..<length where rawValue & (1 << UInt16(bit)) != 0 { bytes[bit / 8] |= 0x80 >> UInt8(bit % 8) }
        return DER.element(DER.Tag.bitString, [UInt8(bytes.count * 8 - length)] + bytes)
    }
}
