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
        var octets: [UInt8] = []
        append(to: &octets)
        return octets
    }

    func append(to octets: inout [UInt8]) {
        octets.append(lowest: max((39 - rawValue.leadingZeroBitCount) / 8, 1), of: UInt64(rawValue))
    }

    public var description: String { Hex.encode(octets) }
}

/// The reason that bytes are not the expected data objects.
public struct TLVError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Hashable, Sendable {
        case truncated = "data object ends early"
        case indefiniteLength = "indefinite length"
        case lengthTooLong = "length of too many bytes"
        case lengthNotShortest = "length with needless bytes"
        case tagTooLong = "tag of too many bytes"
        case tooDeep = "data objects nested too deeply"
        case trailingBytes = "bytes after the last data object"
        case missing = "data object missing"
        case duplicate = "data object given twice"
        case wrongLength = "data object of a wrong length"
    }

    public let code: Code

    /// The data object of the error, where it is known.
    public let tag: TLVTag?

    public init(_ code: Code, tag: TLVTag? = nil) {
        self.code = code
        self.tag = tag
    }

    public static func == (left: TLVError, right: TLVError) -> Bool { left.code == right.code }

    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    public var description: String { tag.map { "\(code.rawValue) (tag \($0))" } ?? code.rawValue }
}

/// One data object: tag, length and value.
///
/// Two are equal when tag and value are: neither how the length was written nor where the object was found counts.
public struct TLV: Hashable, Sendable {
    public let tag: TLVTag

    /// The octets of the value, as a slice of the octets from which the object was read.
    package let content: ArraySlice<UInt8>

    /// The number of octets of the length field, so that a parsed object encodes to the same bytes. Cards write `82 00 10` where
    /// `10` would suffice.
    let lengthOctets: Int

    /// The number of data objects that enclose this one.
    let depth: Int

    /// The encoding rules of the object, and of the objects inside it.
    let rules: TLVRules

    /// The value.
    public var value: [UInt8] { Array(content) }

    public init(_ tag: TLVTag, _ value: [UInt8]) {
        self.init(tag, value[...], lengthOctets: TLV.shortestLengthOctets(for: value.count), depth: 0, .card)
    }

    /// A constructed data object.
    public init(_ tag: TLVTag, _ children: [TLV]) {
        var bytes: [UInt8] = []
        for child in children { child.append(to: &bytes) }
        self.init(tag, bytes)
    }

    init(_ tag: TLVTag, _ content: ArraySlice<UInt8>, lengthOctets: Int, depth: Int, _ rules: TLVRules) {
        self.tag = tag
        self.content = content
        self.lengthOctets = lengthOctets
        self.depth = depth
        self.rules = rules
    }

    public static func == (left: TLV, right: TLV) -> Bool { left.tag == right.tag && left.content == right.content }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(tag)
        hasher.combine(content)
    }

    /// A reader of the data objects inside this one.
    public func children() throws(TLVError) -> TLVReader {
        guard depth < TLVReader.maximumDepth else { throw TLVError(.tooDeep, tag: tag) }
        return TLVReader(content, depth: depth + 1, rules)
    }

    /// Tag, length and value.
    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(TLV.maximumHeaderCount + content.count)
        append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        TLV.appendHeader(tag, count: content.count, lengthOctets: lengthOctets, to: &bytes)
        bytes += content
    }

    /// Tag and length of a value of `count` octets, in the shortest form. For a secret value, which no array may hold.
    package static func header(_ tag: TLVTag, count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        appendHeader(tag, count: count, lengthOctets: shortestLengthOctets(for: count), to: &bytes)
        return bytes
    }

    private static func appendHeader(_ tag: TLVTag, count: Int, lengthOctets: Int, to bytes: inout [UInt8]) {
        tag.append(to: &bytes)
        let following = lengthOctets - 1
        if following > 0 { bytes.append(0x80 | UInt8(truncatingIfNeeded: following)) }
        bytes.append(lowest: max(following, 1), of: UInt64(count))
    }

    /// Four octets of a tag, and nine of a length.
    private static let maximumHeaderCount = 13

    private static func shortestLengthOctets(for count: Int) -> Int {
        count < 0x80 ? 1 : 1 + (Int.bitWidth - count.leadingZeroBitCount + 7) / 8
    }
}

extension [UInt8] {
    /// Appends the lowest bytes of a number, most significant first.
    fileprivate mutating func append(lowest count: Int, of number: UInt64) {
        for place in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: number >> (place * 8))) }
    }
}
