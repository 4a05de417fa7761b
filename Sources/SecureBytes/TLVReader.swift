/// Reads BER-TLV data objects one after another.
///
/// Tags have one to four octets, lengths the short form or up to three octets of the long form; the indefinite form is an
/// error. No read goes beyond the bytes given. ISO/IEC 7816-4 §6.3.
public struct TLVReader: Sendable {
    /// How deep data objects may be nested; PIV's own nest three deep.
    public static let maximumDepth = 8

    private let bytes: [UInt8]
    private var position = 0
    private let depth: Int

    public init(_ bytes: [UInt8]) {
        self.init(bytes, depth: 0)
    }

    init(_ bytes: [UInt8], depth: Int) {
        self.bytes = bytes
        self.depth = depth
    }

    /// Whether every byte has been read.
    public var isAtEnd: Bool { position >= bytes.count }

    /// The bytes that have not been read.
    public var remainder: ArraySlice<UInt8> { bytes[position...] }

    /// The next data object, or nil at the end.
    public mutating func next() throws(TLVError) -> TLV? {
        guard !isAtEnd else { return nil }
        var cursor = position
        let tag = try TLVReader.tag(in: bytes, at: &cursor)
        let lengthStart = cursor
        let length = try TLVReader.length(in: bytes, at: &cursor, of: tag)
        let lengthOctets = cursor - lengthStart
        guard length <= bytes.count - cursor else { throw TLVError(.truncated, tag: tag) }
        position = cursor + length
        return TLV(tag, Array(bytes[cursor..<position]), lengthOctets: lengthOctets, depth: depth)
    }

    /// The next data object if it has this tag; otherwise nothing is read.
    public mutating func next(_ tag: TLVTag) throws(TLVError) -> TLV? {
        let start = position
        guard let found = try next(), found.tag == tag else {
            position = start
            return nil
        }
        return found
    }

    /// The next data object, which must have this tag.
    public mutating func require(_ tag: TLVTag) throws(TLVError) -> TLV {
        guard let found = try next(tag) else { throw TLVError(.missing, tag: tag) }
        return found
    }

    /// Every data object that is left.
    public mutating func all() throws(TLVError) -> [TLV] {
        var found: [TLV] = []
        while let element = try next() { found.append(element) }
        return found
    }

    /// Checks that nothing is left.
    public func end() throws(TLVError) {
        guard isAtEnd else { throw TLVError(.trailingBytes) }
    }

    /// The one data object that makes up all of `bytes`.
    public static func only(_ tag: TLVTag, in bytes: [UInt8]) throws(TLVError) -> TLV {
        var reader = TLVReader(bytes)
        let found = try reader.require(tag)
        try reader.end()
        return found
    }

    private static func tag(in bytes: [UInt8], at cursor: inout Int) throws(TLVError) -> TLVTag {
        var number = UInt32(bytes[cursor])
        cursor += 1
        guard number & 0x1F == 0x1F else { return TLVTag(rawValue: number) }
        for _ in 0..<3 {
            guard cursor < bytes.count else { throw TLVError(.truncated) }
            let octet = bytes[cursor]
            cursor += 1
            number = number << 8 | UInt32(octet)
            if octet & 0x80 == 0 { return TLVTag(rawValue: number) }
        }
        throw TLVError(.tagTooLong)
    }

    private static func length(in bytes: [UInt8], at cursor: inout Int, of tag: TLVTag) throws(TLVError) -> Int {
        guard cursor < bytes.count else { throw TLVError(.truncated, tag: tag) }
        let first = bytes[cursor]
        cursor += 1
        guard first >= 0x80 else { return Int(first) }
        guard first != 0x80 else { throw TLVError(.indefiniteLength, tag: tag) }
        let octets = Int(first & 0x7F)
        guard octets <= 3 else { throw TLVError(.lengthTooLong, tag: tag) }
        guard octets <= bytes.count - cursor else { throw TLVError(.truncated, tag: tag) }
        let number = bytes[cursor..<cursor + octets].reduce(0) { $0 << 8 | Int($1) }
        cursor += octets
        return number
    }
}
