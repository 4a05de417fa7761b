/// The tag of a BER-TLV data object, as its identifier octets read as one number (`0x53`, `0x7F49`, `0x5FC102`).
///
/// ISO/IEC 7816-4 §6.3; SP 800-73-5 part 1 §4.
public struct TLVTag: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    public init(integerLiteral value: UInt32) {
        self.init(rawValue: value)
    }

    /// The identifier octets, one to four of them.
    public var octets: [UInt8] {
        let all = (0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (24 - 8 * $0)) }
        return Array(all.drop { $0 == 0 }.isEmpty ? all.suffix(1) : all.drop { $0 == 0 })
    }

    public var description: String { Hex.encode(octets) }
}

/// Why bytes are not the data objects they should be.
public struct TLVError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Hashable, Sendable {
        case truncated = "data object ends early"
        case indefiniteLength = "indefinite length"
        case lengthTooLong = "length of more than three bytes"
        case tagTooLong = "tag of more than four bytes"
        case tooDeep = "data objects nested too deeply"
        case trailingBytes = "bytes after the last data object"
        case missing = "data object missing"
        case duplicate = "data object given twice"
        case wrongLength = "data object of a wrong length"
    }

    public let code: Code

    /// The data object it happened in or for, where that is known.
    public let tag: TLVTag?

    public init(_ code: Code, tag: TLVTag? = nil) {
        self.code = code
        self.tag = tag
    }

    public static func == (left: TLVError, right: TLVError) -> Bool { left.code == right.code }

    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    public var description: String { tag.map { "\(code.rawValue) (tag \($0))" } ?? code.rawValue }
}

/// One BER-TLV data object.
///
/// Two are equal when tag and value are: neither how the length was written nor where the object was found counts.
public struct TLV: Hashable, Sendable {
    public let tag: TLVTag
    public let value: [UInt8]

    /// How many octets the length field had, so that what was parsed encodes to the same bytes. Cards write `82 00 10`
    /// where `10` would do.
    let lengthOctets: Int

    /// How many data objects enclose this one.
    let depth: Int

    public init(_ tag: TLVTag, _ value: [UInt8]) {
        self.init(tag, value, lengthOctets: TLV.minimumLengthOctets(for: value.count), depth: 0)
    }

    /// A constructed data object.
    public init(_ tag: TLVTag, _ children: [TLV]) {
        self.init(tag, children.flatMap { $0.encoded() })
    }

    init(_ tag: TLVTag, _ value: [UInt8], lengthOctets: Int, depth: Int) {
        self.tag = tag
        self.value = value
        self.lengthOctets = lengthOctets
        self.depth = depth
    }

    public static func == (left: TLV, right: TLV) -> Bool { left.tag == right.tag && left.value == right.value }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(tag)
        hasher.combine(value)
    }

    /// A reader of the data objects inside this one.
    public func children() throws(TLVError) -> TLVReader {
        guard depth < TLVReader.maximumDepth else { throw TLVError(.tooDeep, tag: tag) }
        return TLVReader(value, depth: depth + 1)
    }

    /// Tag, length and value.
    public func encoded() -> [UInt8] {
        tag.octets + TLV.encodedLength(value.count, octets: lengthOctets) + value
    }

    private static func minimumLengthOctets(for count: Int) -> Int {
        switch count {
        case ..<0x80: 1
        case ..<0x100: 2
        case ..<0x1_0000: 3
        case ..<0x100_0000: 4
        default: 5
        }
    }

    private static func encodedLength(_ count: Int, octets: Int) -> [UInt8] {
        guard octets > 1 else { return [UInt8(truncatingIfNeeded: count)] }
        let number = (1..<octets).map { UInt8(truncatingIfNeeded: count >> (8 * (octets - 1 - $0))) }
        return [0x80 | UInt8(truncatingIfNeeded: octets - 1)] + number
    }
}
