internal import ArgumentParser
internal import Localization

/// The parser's help in the current language. The parser makes it in English, each text in one line; those that the catalogue has are
/// replaced, and the lines are broken anew.
struct HelpText {
    /// The column in which the parser's explanations begin.
    private static let margin = 26
    /// The width that stands for no limit.
    private static let unlimited = 1 << 20

    private let width: Int
    private var lines: [String] = []

    /// The help or another output that the parser's `error` stands for.
    static func text(of error: any Error) -> String {
        guard !Language.current.isEnglish else { return Tokenctl.fullMessage(for: error) }
        return translated(Tokenctl.fullMessage(for: error, columns: unlimited), to: Terminal.width ?? 80)
    }

    /// - Parameter text: help with a line for each text. Another text is returned as it is.
    static func translated(_ text: String, to width: Int) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard text.hasPrefix(overview), let usage = lines.firstIndex(where: { $0.hasPrefix(HelpText.usage) }) else {
            return text
        }
        var help = HelpText(width: width)
        help.addOverview(lines[..<usage].joined(separator: "\n"))
        help.addSections(lines[usage...])
        return help.lines.joined(separator: "\n")
    }

    private static let overview = "OVERVIEW: "
    private static let usage = "USAGE: "

    private init(width: Int) {
        self.width = width
    }

    /// Adds a command's abstract and, after an empty line, its discussion.
    private mutating func addOverview(_ text: String) {
        let text = text.dropFirst(HelpText.overview.count).trimmingSuffix { $0 == "\n" }
        let abstract = text.prefix { $0 != "\n" }
        let discussion = text[abstract.endIndex...].drop { $0 == "\n" }
        add(String(localized: "OVERVIEW: \(HelpText.shown(abstract))"))
        if !discussion.isEmpty {
            lines.append("")
            add(HelpText.shown(discussion))
        }
        lines.append("")
    }

    private mutating func addSections(_ rest: ArraySlice<String>) {
        var rest = rest
        while let line = rest.popFirst() {
            if line.hasPrefix(HelpText.usage) {
                let synopsis = HelpText.withValueNames(String(line.dropFirst(HelpText.usage.count)))
                lines.append(String(localized: "USAGE: \(synopsis)"))
            } else if let heading = HelpText.heading(line) {
                lines.append(heading)
            } else if let match = line.wholeMatch(of: /\s+See '(.*)' for detailed help\./) {
                lines.append(
                    String(localized: "  See '\(HelpText.withValueNames(String(match.1)))' for detailed help."))
            } else if line.hasPrefix("  "), !line.hasPrefix("   ") {
                let explanation = String(repeating: " ", count: HelpText.margin)
                if let next = rest.first, next.hasPrefix(explanation) {
                    rest.removeFirst()
                    addElement(line, String(next.dropFirst(HelpText.margin)))
                } else {
                    addElement(String(line.prefix(HelpText.margin)), String(line.dropFirst(HelpText.margin)))
                }
            } else {
                lines.append(line)
            }
        }
    }

    /// The heading of a section.
    private static func heading(_ line: String) -> String? {
        switch line {
        case "ARGUMENTS:": return String(localized: "ARGUMENTS:")
        case "OPTIONS:": return String(localized: "OPTIONS:")
        case "SUBCOMMANDS:": return String(localized: "SUBCOMMANDS:")
        default:
            let ending = " SUBCOMMANDS:"
            guard line.hasSuffix(ending), !line.hasPrefix(" ") else { return nil }
            let group = line.dropLast(ending.count)
            let name = group.prefix(1) + group.dropFirst().lowercased()
            return String(localized: "\(Word.shown(String(name)).uppercased()) SUBCOMMANDS:")
        }
    }

    /// Adds an option, an argument or a subcommand, and its explanation beside or below it.
    private mutating func addElement(_ label: String, _ explanation: String) {
        let label = HelpText.withValueNames(label.trimmingSuffix { $0 == " " })
        guard !explanation.isEmpty else { return lines.append(label) }
        let margin = String(repeating: " ", count: HelpText.margin)
        let parts = TextWidth.wrapped(HelpText.explanation(explanation), to: max(width - HelpText.margin, 20))
        let columns = TextWidth.columns(of: label)
        if columns < HelpText.margin {
            lines.append(label + margin.dropFirst(columns) + parts[0])
        } else {
            lines += [label, margin + parts[0]]
        }
        lines += parts.dropFirst().map { margin + $0 }
    }

    /// An explanation, to which the parser adds the values and the default of its option.
    private static func explanation(_ text: String) -> String {
        let whole = shown(text)
        guard whole == text, let match = text.wholeMatch(of: /(.*?) \((values: [^()]*?)?(; )?(default: [^()]*)?\)/)
        else {
            return whole
        }
        let values = match.2.map { String(localized: "values: \($0.dropFirst("values: ".count))") }
        let standard = match.4.map { String(localized: "default: \($0.dropFirst("default: ".count))") }
        return "\(shown(match.1)) (\([values, standard].compactMap { $0 }.joined(separator: "; ")))"
    }

    /// The text with the names of values in the current language, such as `<file>`.
    private static func withValueNames(_ text: some StringProtocol) -> String {
        String(text).replacing(/<([^<>]+)>/) { "<\(Word.shown(String($0.1)))>" }
    }

    private static func shown(_ text: some StringProtocol) -> String { Word.shown(String(text)) }

    private mutating func add(_ text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            lines += TextWidth.wrapped(String(line), to: width)
        }
    }

    /// Texts of the parser itself, and names of values that it derives from those of properties.
    static let ofParser: [LocalizedKey] = [
        "Show help information.", "Show the version.", "Show subcommand help information.", "subcommand", "subcommands",
        "options", "certificate", "certificates", "codes", "files", "fault", "items", "keychains", "pairs",
        "pin", "puk", "pin-policy", "touch-policy", "signature", "state", "target", "url", "words", "algorithm", "at",
        "backup",
        "digest", "padding", "port", "profile", "serial", "holder", "kind", "policy", "reader", "common-name",
    ]
}

extension StringProtocol {
    /// The text without the characters at its end that fit.
    fileprivate func trimmingSuffix(while fits: (Character) -> Bool) -> SubSequence {
        var rest = self[...]
        while let last = rest.last, fits(last) { rest = rest.dropLast() }
        return rest
    }
}
