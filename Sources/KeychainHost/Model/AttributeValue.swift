/// What kind of value an attribute holds.
public enum AttributeType: Sendable, Hashable {
    case string, data, number, boolean, date
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
    /// booleans also from 0 and 1 (keychain semantics 1.4).
    public func converted(to type: AttributeType) -> AttributeValue? {
        switch (type, self) {
        case (.string, .string), (.string, .data), (.data, .data), (.data, .string): self
        case (.number, .number), (.boolean, .bool), (.date, .date): self
        case (.number, .bool(let flag)): .number(flag ? 1 : 0)
        case (.number, .string(let text)): Int64(text).map { .number($0) }
        case (.boolean, .number(0)): .bool(false)
        case (.boolean, .number(1)): .bool(true)
        default: nil
        }
    }

    /// Whether both are the same for a search: the same bytes, be they string or data, or the same integer.
    ///
    /// Text is compared by its UTF-8 bytes, as the store does, not by Unicode equivalence.
    public func matches(_ other: AttributeValue) -> Bool {
        if let bytes { return bytes == other.bytes }
        return integer == other.integer && other.bytes == nil
    }

    /// Whether this is what an attribute that takes part in uniqueness counts as when it is absent: empty, or 0.
    var isDefault: Bool { bytes?.isEmpty ?? (integer == 0) }
}

/// Attributes and their values.
public typealias Attributes = [Attribute: AttributeValue]

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}
