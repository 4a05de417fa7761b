internal import SecureBytes
package import TokenKit

/// The Card Holder Unique Identifier. SP 800-73-5 part 1 §3.1.2 and table 9.
///
///     EE length · 30 FASC-N · 32 organisation · 33 DUNS · 34 GUID · 35 expiry · 36 cardholder UUID · 3E signature · FE
///
/// The identifiers precede the signature, which makes up most of the object, so that its beginning suffices.
package struct CardholderIdentifier: Hashable, Sendable {
    package let fascn: [UInt8]?

    /// The card's own number; nil where it is missing or all zero.
    package let guid: [UInt8]?

    /// The cardholder's number; nil where it is missing or all zero.
    package let cardholderUUID: [UInt8]?

    /// The expiry date as the card has it, normally `YYYYMMDD`.
    package let expiry: String?

    /// Whether the issuer signed the object.
    package let isSigned: Bool

    /// Reads the object's content, or its beginning. A data object that is cut off at the end is left out.
    package init(parsing content: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("CHUID") { () throws(TLVError) in
            try CardholderIdentifier.fields(of: content)
        }
        fascn = try CardholderIdentifier.field(0x30, of: fields, count: FASCN.byteCount)
        guid = try CardholderIdentifier.field(0x34, of: fields, count: 16)
        cardholderUUID = try CardholderIdentifier.field(0x36, of: fields, count: 16)
        expiry = fields[0x35].map { PIVFormat.text($0) }
        isSigned = fields[0x3E] != nil
    }

    /// The content of the beginning of a GET DATA answer, or nil for an object that is empty.
    package static func contentPrefix(of data: [UInt8]) -> [UInt8]? {
        guard data.first == 0x53 else { return data.isEmpty ? nil : data }
        guard let header = try? TLVHeader(data.span, .card) else { return nil }
        let content = Array(data.dropFirst(header.count))
        return content.isEmpty ? nil : content
    }

    private static func fields(of content: [UInt8]) throws(TLVError) -> [TLVTag: [UInt8]] {
        var fields: [TLVTag: [UInt8]] = [:]
        var reader = TLVReader(content)
        do {
            while let field = try reader.next() {
                if fields[field.tag] == nil { fields[field.tag] = field.value }
            }
        } catch  where error.code == .truncated && error.tag == 0x3E {
            fields[0x3E] = []
        }
        return fields
    }

    /// A field of a fixed length. A field of zeros counts as missing, since some makers do not fill it.
    private static func field(
        _ tag: TLVTag, of fields: [TLVTag: [UInt8]], count: Int
    ) throws(TokenError) -> [UInt8]? {
        guard let value = fields[tag], !value.isEmpty else { return nil }
        guard value.count == count else {
            throw PIVFormat.malformed("CHUID", "\(TLVError(.wrongLength, tag: tag))")
        }
        return value.allSatisfy { $0 == 0 } ? nil : value
    }
}
