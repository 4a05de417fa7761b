/// The encoding rules of tags and lengths.
public enum TLVRules: Sendable, Hashable {
    /// The encoding of cards: tags of one to four octets; lengths in the short form, or the long form with up to three
    /// octets, needless ones included. ISO/IEC 7816-4 §6.3.
    case card
    /// DER: tags of one octet, which suffice for X.509; lengths of up to four octets in the shortest form. X.690 §10.1.
    case der
    /// One octet for the tag and one for the length. PC/SC part 10 §2.2.
    case octets

    fileprivate var maximumTagOctets: Int { self == .card ? 4 : 1 }
    fileprivate var maximumLengthOctets: Int { self == .card ? 3 : 4 }
}

/// Tag and length at the front of a data object. The indefinite form of the length is an error under all rules.
package struct TLVHeader: Sendable {
    package let tag: TLVTag

    /// The number of octets of tag and length.
    package let count: Int

    /// The number of octets of the length field.
    let lengthOctets: Int

    private let valueCount: Int

    /// Reads the header at the front of `bytes`; the value need not be there.
    package init(_ bytes: Span<UInt8>, _ rules: TLVRules) throws(TLVError) {
        var position = 0
        tag = try TLVHeader.tag(in: bytes, at: &position, rules)
        let start = position
        valueCount = try TLVHeader.length(in: bytes, at: &position, of: tag, rules)
        lengthOctets = position - start
        count = position
    }

    /// The range of the value within `bytes`, from which the header was read.
    package func value(in bytes: Span<UInt8>) throws(TLVError) -> Range<Int> {
        guard count <= bytes.count, valueCount <= bytes.count - count else { throw TLVError(.truncated, tag: tag) }
        return count..<count + valueCount
    }

    private static func next(
        in bytes: Span<UInt8>, at position: inout Int, of tag: TLVTag? = nil
    ) throws(TLVError) -> UInt8 {
        guard position < bytes.count else { throw TLVError(.truncated, tag: tag) }
        defer { position += 1 }
        return bytes[position]
    }

    private static func tag(
        in bytes: Span<UInt8>, at position: inout Int, _ rules: TLVRules
    ) throws(TLVError) -> TLVTag {
        var number = UInt32(try next(in: bytes, at: &position))
        guard number & 0x1F == 0x1F, rules != .octets else { return TLVTag(rawValue: number) }
        while position < rules.maximumTagOctets {
            let octet = try next(in: bytes, at: &position)
            number = number << 8 | UInt32(octet)
            if octet & 0x80 == 0 { return TLVTag(rawValue: number) }
        }
        throw TLVError(.tagTooLong)
    }

    private static func length(
        in bytes: Span<UInt8>, at position: inout Int, of tag: TLVTag, _ rules: TLVRules
    ) throws(TLVError) -> Int {
        let first = try next(in: bytes, at: &position, of: tag)
        guard first >= 0x80, rules != .octets else { return Int(first) }
        guard first != 0x80 else { throw TLVError(.indefiniteLength, tag: tag) }
        guard Int(first & 0x7F) <= rules.maximumLengthOctets else { throw TLVError(.lengthTooLong, tag: tag) }
        var length = 0
        for index in 0..<first & 0x7F {
            let octet = try next(in: bytes, at: &position, of: tag)
            if index == 0, octet == 0, rules == .der { throw TLVError(.lengthNotShortest, tag: tag) }
            length = length << 8 | Int(octet)
        }
        guard length >= 0x80 || rules != .der else { throw TLVError(.lengthNotShortest, tag: tag) }
        return length
    }
}

extension Span where Element == UInt8 {
    /// Takes the value of the next data object, which must have this tag, off the front. For a secret, of which no array may hold
    /// a copy.
    ///
    /// - Throws: `missing` for another tag or no bytes, with nothing taken.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    package mutating func readTLV(_ tag: TLVTag, _ rules: TLVRules) throws(TLVError) -> Span<UInt8> {
        guard !isEmpty else { throw TLVError(.missing, tag: tag) }
        let header = try TLVHeader(self, rules)
        guard header.tag == tag else { throw TLVError(.missing, tag: tag) }
        let range = try header.value(in: self)
        let value = extracting(range)
        self = extracting(range.upperBound...)
        return value
    }
}
