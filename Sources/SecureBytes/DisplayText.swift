/// Text from cards, files, modules and certificates in forms that are safe for a terminal: no character moves a cursor, begins a
/// line, reverses the reading direction, or is invisible.
///
/// Every writer of text applies this one rule.
package enum DisplayText {
    /// One line, with U+FFFD in place of each character that is not shown as itself.
    package static func line(_ text: String) -> String {
        replacing(text) { _ in ["\u{FFFD}"] }
    }

    /// One line, with `\XX` for each UTF-8 byte of a character that is not shown as itself. RFC 4514 §2.4.
    package static func escaped(_ text: String) -> String {
        replacing(text) { scalar in
            (UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter).flatMap { "\\\(Hex.encode([$0]))".unicodeScalars }
        }
    }

    /// JSON of the same value, with each character that is not shown as itself escaped by `\u` and four hexadecimal digits. RFC
    /// 8259 §7.
    package static func json(_ text: String) -> String {
        replacing(text) { scalar in
            // A line feed only separates lines of the JSON text: within strings it is escaped already.
            scalar == "\n" ? ["\n"] : Array(String(decoding: jsonEscape(scalar), as: UTF8.self).unicodeScalars)
        }
    }

    /// The escape of a character in a JSON string; two escapes for a character above U+FFFF. RFC 8259 §7.
    package static func jsonEscape(_ scalar: Unicode.Scalar) -> [UInt8] {
        UTF16.encode(scalar).map { $0.flatMap(escape) } ?? []
    }

    private static func escape(_ unit: UInt16) -> [UInt8] {
        let digits = Hex.encode(unit.bigEndianBytes).lowercased()
        return Array("\\u\(digits)".utf8)
    }

    /// Whether a character is shown as itself, and has no other effect.
    package static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        guard !scalar.isASCII else { return 0x20...0x7E ~= scalar.value }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return false
        // Fillers, selectors and the empty Braille pattern are invisible too.
        default: return !properties.isDefaultIgnorableCodePoint && scalar != "\u{2800}"
        }
    }

    private static func replacing(_ text: String, _ replacement: (Unicode.Scalar) -> [Unicode.Scalar]) -> String {
        guard !text.unicodeScalars.allSatisfy(isShown) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isShown(scalar) { result.append(scalar) } else { result.append(contentsOf: replacement(scalar)) }
        }
        return String(result)
    }
}
