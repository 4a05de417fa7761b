internal import SecureBytes

/// The form of X.501 names that keychain items are found by.
///
///     Name ::= SEQUENCE OF RelativeDistinguishedName
///     RelativeDistinguishedName ::= SET OF SEQUENCE { type OBJECT IDENTIFIER, value ANY }
///
/// Keychain semantics 1.10: the content without the outer header; in values of type PrintableString letters are upper
/// case and blanks are trimmed and never repeated. Values of other types stay as they are.
package enum NormalizedName {
    private static let sequence: TLVTag = 0x30
    private static let printableString: TLVTag = 0x13

    /// The normalised content of a name, given in DER with or without its outer header.
    ///
    /// - Returns: nil if the bytes are no name.
    package static func content(of name: [UInt8]) -> [UInt8]? {
        try? normalizedContent(of: name)
    }

    private static func normalizedContent(of name: [UInt8]) throws(TLVError) -> [UInt8] {
        let isWhole = name.first == UInt8(truncatingIfNeeded: sequence.rawValue)
        var sets = TLVReader(isWhole ? try TLVReader.only(sequence, in: name).value : name)
        var content: [UInt8] = []
        while let set = try sets.next() {
            guard set.tag == 0x31 else { throw TLVError(.missing, tag: 0x31) }
            content += TLV(set.tag, try normalizedAttributes(of: set)).encoded()
        }
        return content
    }

    private static func normalizedAttributes(of set: TLV) throws(TLVError) -> [TLV] {
        var reader = try set.children()
        var attributes: [TLV] = []
        while !reader.isAtEnd {
            var fields = try reader.require(sequence).children()
            let type = try fields.require(0x06)
            guard let value = try fields.next() else { throw TLVError(.missing) }
            try fields.end()
            attributes.append(TLV(sequence, [type, normalized(value)]))
        }
        return attributes
    }

    private static func normalized(_ value: TLV) -> TLV {
        guard value.tag == printableString else { return value }
        let words = value.value.split(separator: UInt8(ascii: " "))
        let text = words.map { $0.map(upperCased) }.joined(separator: [UInt8(ascii: " ")])
        return TLV(printableString, Array(text))
    }

    private static func upperCased(_ character: UInt8) -> UInt8 {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character) ? character & 0xDF : character
    }
}
