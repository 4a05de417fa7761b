/// The English key of a text that is a plain `String` in the sources, and looked up by ``LocalizedText/init(key:)`` where it is shown.
public typealias LocalizedKey = String

/// A text for people: its English format, which is its key in the catalogue, and the values that it quotes.
///
/// A literal becomes one where a function takes it, so that a call looks as for a `String`:
///
///     throw CommandError("there is no driver '\(name)'")
///
/// has the format `there is no driver '%1$@'`. It is rendered where it is shown, by ``Swift/String/init(localized:)``. The numbers let a
/// translation quote the values in another order. `Scripts/catalogue` finds the literals in the sources.
public struct LocalizedText: Sendable, Hashable {
    fileprivate enum Value: Sendable, Hashable {
        case string(String)
        case nested(LocalizedText)
    }

    private enum Number: Sendable, Hashable {
        case none
        /// The format for other numbers than one.
        case counted(Int, other: String)
    }

    /// The English format. Without values a percent sign is itself in it, else it is doubled.
    let format: String
    private let number: Number
    private let values: [Value]

    private init(_ format: String, _ values: [Value] = [], _ number: Number = .none) {
        (self.format, self.number, self.values) = (format, number, values)
    }

    /// Several values in a sentence: `a, b and c`.
    public static func list(_ items: [String]) -> LocalizedText {
        guard let last = items.last, items.count > 1 else { return "\(items.first ?? "")" }
        return "\(items.dropLast().joined(separator: ", ")) and \(last)"
    }

    /// A text whose key is known at run time alone, such as a name in a table. It is in the catalogue if a literal with the same
    /// text is.
    public init(key: String) {
        self.init(key)
    }

    /// A text that is the same in all languages, or was rendered before.
    public init(verbatim text: String) {
        self.init("%1$@", [.string(text)])
    }

    /// A text with a number, which languages have in different forms: English in two, others in up to six.
    ///
    /// - Parameters:
    ///   - one: the text for one; it quotes the same values in the same order.
    ///   - other: the text for other numbers.
    public static func plural(_ count: Int, one: LocalizedText, other: LocalizedText) -> LocalizedText {
        LocalizedText(one.format, other.values, .counted(count, other: other.format))
    }

    /// The text in a language. A placeholder of a translation without a value stays as it is.
    public func rendered(in language: Language = .current) -> String {
        let format =
            switch number {
            case .none: language.translation(of: self.format) ?? self.format
            case .counted(let count, let other):
                language.translation(of: self.format, count: count) ?? (count == 1 ? self.format : other)
            }
        guard !values.isEmpty else { return format }
        return LocalizedText.filled(format) { index in
            guard values.indices.contains(index) else { return nil }
            return switch values[index] {
            case .string(let text): text
            case .nested(let text): text.rendered(in: language)
            }
        }
    }

    /// Fills `%1$@` with the first value and so on; `%%` is a percent sign.
    private static func filled(_ format: String, _ value: (Int) -> String?) -> String {
        var (filled, rest) = ("", format[...])
        while let sign = rest.firstIndex(of: "%") {
            filled += rest[..<sign]
            rest = rest[sign...].dropFirst()
            if rest.hasPrefix("%") {
                filled += "%"
                rest = rest.dropFirst()
                continue
            }
            let digits = rest.prefix { "0"..."9" ~= $0 }
            let end = rest[digits.endIndex...]
            guard end.hasPrefix("$@"), let number = Int(digits), number > 0, let value = value(number - 1) else {
                filled += "%"
                continue
            }
            filled += value
            rest = end.dropFirst(2)
        }
        return filled + rest
    }
}

extension LocalizedText: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) {
        self.init(text)
    }

    public init(stringInterpolation parts: StringInterpolation) {
        self.init(parts.values.isEmpty ? parts.format.replacingPercents() : parts.format, parts.values)
    }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var format = ""
        fileprivate var values: [Value] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            format.reserveCapacity(literalCapacity + 4 * interpolationCount)
            values.reserveCapacity(interpolationCount)
        }

        public mutating func appendLiteral(_ literal: String) {
            guard literal.utf8.contains(UInt8(ascii: "%")) else { return format += literal }
            for character in literal { format += character == "%" ? "%%" : String(character) }
        }

        /// Quotes a text, which is rendered in the same language.
        public mutating func appendInterpolation(_ text: LocalizedText) { append(.nested(text)) }

        /// Quotes a value that no language changes.
        public mutating func appendInterpolation(_ value: some Any) { append(.string("\(value)")) }

        private mutating func append(_ value: Value) {
            values.append(value)
            format += "%\(values.count)$@"
        }
    }
}

extension LocalizedText: CustomStringConvertible {
    /// The text in the current language.
    public var description: String { rendered() }
}

extension LocalizedText: Encodable {
    /// Writes the text in English: programs read the same in all languages.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rendered(in: .english))
    }
}

extension String {
    /// The text in the current language.
    public init(localized text: LocalizedText) {
        self = text.rendered()
    }

    /// Every doubled percent sign as one.
    fileprivate func replacingPercents() -> String {
        var (text, isDouble) = ("", false)
        for character in self {
            isDouble = character == "%" && !isDouble
            if character != "%" || isDouble { text.append(character) }
        }
        return text
    }
}
