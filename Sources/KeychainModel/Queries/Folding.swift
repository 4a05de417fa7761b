// The standard library offers its decomposition of text only to Foundation, which is too large to link for it.
@_spi(_Unicode) internal import Swift

/// The differences between texts that a search overlooks.
public struct Folding: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Upper and lower case.
    public static let `case` = Folding(rawValue: 1 << 0)
    /// Accents and other marks above, below or through a letter.
    public static let diacritics = Folding(rawValue: 1 << 1)
    /// The full and half width forms of East Asian text.
    public static let width = Folding(rawValue: 1 << 2)

    /// The text without these differences; two texts match if their folded forms are equal.
    func fold(_ text: String) -> String {
        guard !isEmpty else { return text }
        var scalars = String.UnicodeScalarView()
        for scalar in (contains(.case) ? text.uppercased().lowercased() : text)._nfd {
            // A letter's marks follow it once it is decomposed.
            if contains(.diacritics), scalar.properties.canonicalCombiningClass != .notReordered,
                scalar.properties.generalCategory == .nonspacingMark
            {
                continue
            }
            scalars.append(contains(.width) ? Self.standardWidth[scalar] ?? scalar : scalar)
        }
        return String(scalars)
    }

    /// The characters of standard width for the forms in U+FF00 to U+FFEF, found by their Unicode names.
    private static let standardWidth: [Unicode.Scalar: Unicode.Scalar] = {
        let standard: [ClosedRange<UInt32>] = [
            0x20...0x7E, 0xA2...0xAF, 0x2190...0x2193, 0x3001...0x30FF, 0x3131...0x3164,
        ]
        var named: [String: Unicode.Scalar] = [:]
        for scalar in standard.joined().compactMap(Unicode.Scalar.init) { named[scalar.properties.name ?? ""] = scalar }
        var forms: [Unicode.Scalar: Unicode.Scalar] = ["\u{FF9E}": "\u{3099}", "\u{FF9F}": "\u{309A}"]
        for form in (0xFF01...0xFFEE as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init) {
            guard let name = form.properties.name, let width = name.firstIndex(of: " ") else { continue }
            if let scalar = named[String(name[name.index(after: width)...])] { forms[form] = scalar }
        }
        return forms
    }()
}
