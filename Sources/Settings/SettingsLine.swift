package import Localization

/// A line of a file of settings, in the grammar that all files in /etc/tokenkit have: keychains.conf(5).
///
///     line    = [word {blank word}] [comment]     in keychains.conf: [word] name "=" value
///     word    = {character | '"' {character | '\"' | '\\'} '"'}
///     comment = "#" {character}
///
/// A file of the user's has the same grammar.
struct SettingsLine {
    /// Counted from 1.
    let number: Int
    /// The line as it is in the file, without its line feed.
    let text: String
    /// The line without blanks at its ends; empty for a comment.
    let content: String

    /// The longest file that is read, in bytes.
    static let maximumLength = 64 << 10

    /// The lines of a text. A control character in more than a comment is a fault: listings could not show it, and a path would end at
    /// U+0000.
    static func lines(of text: String, faults: inout [SettingsFault]) -> [SettingsLine] {
        // Split by scalars, since a carriage return and a newline are one `Character`.
        var parts = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        // The last line ends with a newline, not with another line.
        if parts.last?.isEmpty == true { parts.removeLast() }
        return parts.enumerated().map { index, part in
            let line = SettingsLine(number: index + 1, text: String(part))
            guard line.content.unicodeScalars.contains(where: { $0.value < 0x20 && !isBlank($0) || $0.value == 0x7F })
            else { return line }
            faults.append(line.fault("has a control character"))
            return SettingsLine(number: line.number, text: line.text, content: "")
        }
    }

    private init(number: Int, text: String, content: String? = nil) {
        (self.number, self.text) = (number, text)
        let trimmed = text.trimmingBlanks
        self.content = content ?? (trimmed.hasPrefix("#") ? "" : trimmed)
    }

    /// The words of a text up to a comment, without their quotes; nil where a quote is not closed.
    static func words(of text: some StringProtocol) -> [String]? {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            switch scalar {
            case "\"":
                isQuoted.toggle()
                word = word ?? ""
            case "\\" where isQuoted:
                guard let escaped = scalars.next(), escaped == "\"" || escaped == "\\" else { return nil }
                word?.unicodeScalars.append(escaped)
            case _ where isQuoted: word?.unicodeScalars.append(scalar)
            case "#":
                return words + [word].compactMap(\.self)
            case _ where isBlank(scalar):
                if let word { words.append(word) }
                word = nil
            default:
                word = word ?? ""
                word?.unicodeScalars.append(scalar)
            }
        }
        return isQuoted ? nil : words + [word].compactMap(\.self)
    }

    /// - Parameter form: how such a line is written, where that says more than the reason.
    func fault(
        _ reason: LocalizedText, remedy: LocalizedText = "correct it", form: LocalizedText? = nil
    ) -> SettingsFault {
        SettingsFault(line: number, reason: reason, remedy: form.map { "write: \($0)" } ?? remedy, hasForm: form != nil)
    }
}

/// A line that does not count, so that its file does not.
package struct SettingsFault: Error, Hashable, Sendable {
    /// Counted from 1.
    package let line: Int
    /// Completes a sentence about the line.
    package let reason: LocalizedText
    package let remedy: LocalizedText
    /// Whether the remedy says how such a line is written.
    package let hasForm: Bool
}

/// Whether a character separates words.
private func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" || scalar == "\r" }

extension StringProtocol {
    /// The text without spaces, tabs and carriage returns at its ends.
    var trimmingBlanks: String {
        let scalars = unicodeScalars.drop(while: isBlank)
        return String(String.UnicodeScalarView(scalars.dropLast(scalars.reversed().prefix(while: isBlank).count)))
    }
}
