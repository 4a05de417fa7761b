internal import SecureBytes

extension DistinguishedName {
    /// The most bytes that a name may have as text.
    public static let maximumTextLength = 4096

    /// A name from its text, the most specific part first: `CN=Jo Doe,OU=Desk+OU=Board,O=Example,C=CH` (RFC 4514 §3).
    ///
    /// - Throws: `malformed` for an attribute without a name here or a value, for characters that must be escaped, and for text of more
    ///   than ``maximumTextLength`` bytes.
    public init(text: String) throws(CryptoError) {
        guard text.utf8.count <= DistinguishedName.maximumTextLength else { throw .malformedName }
        var reader = NameReader(text)
        var parts: [[UInt8]] = []
        repeat { parts.append(try reader.part()) } while reader.skip(",")
        guard reader.isAtEnd else { throw .malformedName }
        try self.init(der: DER.sequence(parts.reversed()))
    }
}

extension CryptoError {
    fileprivate static let malformedName = CryptoError(.malformed, "name")
}

/// The kinds of text that attributes have. X.520, RFC 4519, RFC 2985 §5.2.1.
private enum NameAttribute {
    private static let names: [String: OID] = [
        "CN": "2.5.4.3", "SN": "2.5.4.4", "SERIALNUMBER": serialNumber, "C": country, "L": "2.5.4.7", "ST": "2.5.4.8",
        "STREET": "2.5.4.9", "O": "2.5.4.10", "OU": "2.5.4.11", "TITLE": "2.5.4.12", "GN": "2.5.4.42",
        "GIVENNAME": "2.5.4.42", "DC": domainComponent, "UID": "0.9.2342.19200300.100.1.1", "E": emailAddress,
        "EMAILADDRESS": emailAddress,
    ]

    private static let country: OID = "2.5.4.6"
    private static let serialNumber: OID = "2.5.4.5"
    private static let domainComponent: OID = "0.9.2342.19200300.100.1.25"
    private static let emailAddress: OID = "1.2.840.113549.1.9.1"
    private static let printableString: TLVTag = 0x13
    private static let ia5String: TLVTag = 0x16

    /// - Parameter name: of the attribute, or its object identifier.
    static func identifier(_ name: String) -> OID? { names[name.uppercased()] ?? OID(name) }

    /// The DER of a value.
    static func encoded(_ value: [UInt8], of identifier: OID) throws(CryptoError) -> [UInt8] {
        let isASCII = value.allSatisfy { (0x20...0x7E).contains($0) }
        switch identifier {
        case country:
            let isLetters = value.allSatisfy { (0x41...0x5A).contains($0 & ~0x20) }
            guard value.count == 2, isLetters else { throw .malformedName }
            return DER.element(printableString, value)
        case serialNumber:
            let isPrintable = value.allSatisfy { printable.contains($0) }
            guard isPrintable else { throw .malformedName }
            return DER.element(printableString, value)
        case domainComponent, emailAddress:
            guard isASCII else { throw .malformedName }
            return DER.element(ia5String, value)
        default:
            guard let text = String(validating: value, as: UTF8.self) else { throw .malformedName }
            return DER.utf8String(text)
        }
    }

    /// The characters of PrintableString. X.680 §41.4.
    private static let printable = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 '()+,-./:=?".utf8)
}

/// Reads the text of a name from its beginning.
private struct NameReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: String) { rest = Array(text.utf8)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// The DER of a RelativeDistinguishedName: attributes with plus signs between them, in the order of their encodings (X.690 §11.6).
    mutating func part() throws(CryptoError) -> [UInt8] {
        var attributes: [[UInt8]] = []
        repeat { attributes.append(try attribute()) } while skip("+")
        return DER.element(DER.Tag.set, Array(attributes.sorted { $0.lexicographicallyPrecedes($1) }.joined()))
    }

    private mutating func attribute() throws(CryptoError) -> [UInt8] {
        guard let end = rest.firstIndex(of: UInt8(ascii: "=")) else { throw .malformedName }
        let name = String(decoding: Self.trimmed(rest[..<end]), as: UTF8.self)
        guard let identifier = NameAttribute.identifier(name) else { throw .malformedName }
        rest = rest[(end + 1)...].drop { $0 == Self.blank }
        let value = try skip("#") ? encodedValue() : NameAttribute.encoded(textValue(), of: identifier)
        return DER.sequence([DER.objectIdentifier(identifier), value])
    }

    /// A value given by its DER in hexadecimal digits.
    private mutating func encodedValue() throws(CryptoError) -> [UInt8] {
        let digits = rest.prefix { !Self.separators.contains($0) }
        rest = rest[digits.endIndex...]
        guard let der = Hex.decode(String(decoding: Self.trimmed(digits), as: UTF8.self)) else { throw .malformedName }
        var reader = TLVReader(der, .der)
        _ = try reader.read()
        try reader.finish()
        return der
    }

    /// A value without its escapes, and without blanks around it that are not escaped.
    private mutating func textValue() throws(CryptoError) -> [UInt8] {
        var value: [UInt8] = []
        var length = 0
        while let byte = rest.first, !Self.separators.contains(byte) {
            rest.removeFirst()
            guard !Self.forbidden.contains(byte) else { throw .malformedName }
            value.append(byte == UInt8(ascii: "\\") ? try escaped() : byte)
            if byte != Self.blank { length = value.count }
        }
        guard length > 0 else { throw .malformedName }
        return Array(value.prefix(length))
    }

    /// The byte after a backslash: two hexadecimal digits, or a character as it is.
    private mutating func escaped() throws(CryptoError) -> UInt8 {
        let digits = String(decoding: rest.prefix(2), as: UTF8.self)
        if let octets = Hex.decode(digits), let octet = octets.first {
            rest.removeFirst(2)
            return octet
        }
        guard let byte = rest.popFirst(), Self.escapable.contains(byte) else { throw .malformedName }
        return byte
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = text.drop { $0 == blank }
        return start.prefix((start.lastIndex { $0 != blank }).map { $0 + 1 - start.startIndex } ?? 0)
    }

    private static let blank = UInt8(ascii: " ")
    private static let separators = Set(",+".utf8)
    private static let forbidden = Set("\"<>;\0".utf8)
    private static let escapable = Set("\"+,;<>\\ #=".utf8)
}
