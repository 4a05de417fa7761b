/// Reads data objects one after another. No read goes beyond the given bytes; a failing one takes none.
public struct TLVReader: Sendable {
    /// The maximum nesting of data objects; PIV's own nest three deep, a certificate's fields six.
    public static let maximumDepth = 8

    /// The bytes that have not been read.
    public private(set) var remainder: ArraySlice<UInt8>

    private let depth: Int
    private let rules: TLVRules

    public init(_ bytes: [UInt8], _ rules: TLVRules = .card) {
        self.init(bytes[...], depth: 0, rules)
    }

    init(_ bytes: ArraySlice<UInt8>, depth: Int, _ rules: TLVRules) {
        remainder = bytes
        self.depth = depth
        self.rules = rules
    }

    /// Whether every byte has been read.
    public var isAtEnd: Bool { remainder.isEmpty }

    /// The next data object, or nil at the end.
    public mutating func next() throws(TLVError) -> TLV? {
        guard !isAtEnd else { return nil }
        let header = try TLVHeader(remainder.span, rules)
        let end = try header.value(in: remainder.span).upperBound
        let content = remainder.prefix(end).dropFirst(header.count)
        remainder = remainder.dropFirst(end)
        return TLV(header.tag, content, lengthOctets: header.lengthOctets, depth: depth, rules)
    }

    /// The next data object if it has this tag; otherwise no byte is taken.
    public mutating func next(_ tag: TLVTag) throws(TLVError) -> TLV? {
        let start = remainder
        guard let found = try next(), found.tag == tag else {
            remainder = start
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

    /// Throws unless all bytes have been read.
    public func end() throws(TLVError) {
        guard isAtEnd else { throw TLVError(.trailingBytes) }
    }

    /// The one data object that makes up all of `bytes`.
    public static func only(_ tag: TLVTag, in bytes: [UInt8], _ rules: TLVRules = .card) throws(TLVError) -> TLV {
        var reader = TLVReader(bytes, rules)
        let found = try reader.require(tag)
        try reader.end()
        return found
    }
}
