internal import Localization

/// The type of an attribute's values.
public enum AttributeType: String, Sendable, Hashable, CaseIterable {
    case string, data, number, boolean, date
    /// Four characters, or none.
    case code
    /// Bytes. No value of another type is converted to them.
    case opaque

    /// The type with its article, for a sentence.
    var noun: LocalizedText {
        switch self {
        case .string: "a string"
        case .number: "a number"
        case .boolean: "a boolean"
        case .date: "a date"
        case .data: "data"
        case .code: "a code of four characters"
        case .opaque: "an encoded access control"
        }
    }

    /// Whether values are text or bytes, and so compared by their bytes.
    package var isText: Bool { self == .string || self == .data || self == .code }
}

/// The value of an attribute.
public enum AttributeValue: Sendable, Hashable {
    case string(String)
    case data([UInt8])
    case number(Int64)
    case bool(Bool)
    /// Whole seconds since the start of 1970, UTC.
    case date(Int64)

    /// The text, if this is a string.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The bytes of data or of a string in UTF-8; nil for the rest.
    public var bytes: [UInt8]? {
        switch self {
        case .string(let text): Array(text.utf8)
        case .data(let bytes): bytes
        case .number, .bool, .date: nil
        }
    }

    /// The integer of a number, a boolean (0 or 1) or a date (seconds); nil for the rest.
    public var integer: Int64? {
        switch self {
        case .number(let value), .date(let value): value
        case .bool(let flag): flag ? 1 : 0
        case .string, .data: nil
        }
    }

    /// Whether this is a true boolean or a number other than 0.
    public var isTrue: Bool { (integer ?? 0) != 0 }

    /// The value as an attribute of `type` holds it, or nil if it cannot be one.
    ///
    /// Strings and data pass for each other and keep the kind they came in; numbers are also read from decimal text,
    /// booleans also from 0 and 1, codes also from the number they are in C (keychain semantics 1.4).
    public func converted(to type: AttributeType) -> AttributeValue? {
        switch (type, self) {
        case (.string, .string), (.string, .data), (.data, .data), (.data, .string): self
        case (.number, .number), (.boolean, .bool), (.date, .date): self
        case (.number, .bool(let flag)): .number(flag ? 1 : 0)
        case (.number, .string(let text)): Int64(text).map { .number($0) }
        case (.boolean, .number(0)): .bool(false)
        case (.boolean, .number(1)): .bool(true)
        case (.opaque, .data): self
        case (.code, .number(let code)): Self.code(of: code).map { .string($0) }
        case (.code, .string), (.code, .data): bytes.flatMap { Self.code(of: $0) }.map { .string($0) }
        default: nil
        }
    }

    /// Four printable characters; the empty text for no code.
    private static func code(of bytes: [UInt8]) -> String? {
        guard bytes.isEmpty || bytes.count == 4, bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The code that the bytes of a 32-bit number spell, as C programs write it.
    private static func code(of number: Int64) -> String? {
        guard number != 0 else { return "" }
        guard let number = UInt32(exactly: number) else { return nil }
        return code(of: (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) })
    }

    /// Whether both are the same for a search: the same bytes, whether string or data, or the same integer.
    ///
    /// Text is compared by its UTF-8 bytes, as the store does, not by Unicode equivalence.
    public func matches(_ other: AttributeValue) -> Bool {
        if let bytes { return bytes == other.bytes }
        return integer == other.integer && other.bytes == nil
    }

    /// Whether this is the value that an absent attribute of the unique set counts as: empty, or 0.
    public var isDefault: Bool { bytes?.isEmpty ?? (integer == 0) }
}

/// Attributes and their values.
public typealias Attributes = [Attribute: AttributeValue]

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}
