internal import KeychainModel

/// A value as SQLite stores it.
package enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
    /// A real number, or text that is not UTF-8: types that this program never writes.
    case foreign
}

extension SQLValue {
    init(_ value: AttributeValue) {
        switch value {
        case .string(let text): self = .text(text)
        case .data(let bytes): self = .blob(bytes)
        case .number(let number), .date(let number): self = .integer(number)
        case .bool(let flag): self = .integer(flag ? 1 : 0)
        }
    }

    init(_ bytes: [UInt8]?) {
        self = bytes.map { .blob($0) } ?? .null
    }

    /// The text; nil for another type.
    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The bytes of a blob; nil for another type.
    var blob: [UInt8]? {
        if case .blob(let bytes) = self { bytes } else { nil }
    }

    /// The integer; nil for another type.
    package var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The value as an attribute of `type`; nil if it cannot be one.
    func attributeValue(of type: AttributeType) -> AttributeValue? {
        switch (type, self) {
        case (.string, .text(let text)), (.data, .text(let text)), (.code, .text(let text)): .string(text)
        case (.string, .blob(let bytes)), (.data, .blob(let bytes)), (.opaque, .blob(let bytes)): .data(bytes)
        case (.number, .integer(let number)): .number(number)
        case (.date, .integer(let seconds)): .date(seconds)
        case (.boolean, .integer(0)): .bool(false)
        case (.boolean, .integer(1)): .bool(true)
        default: nil
        }
    }
}
