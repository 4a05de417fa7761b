internal import FoundationEssentials
internal import Glibc
internal import HostAPI
internal import SecureBytes

/// A line of a listing: cells for people, keys for programs.
protocol Row: Encodable {
    static var columns: [String] { get }
    /// The columns that are left out of a table where they would be empty.
    static var optionalColumns: Set<String> { get }
    /// The columns that say nothing once they are cut to fit a terminal, as dates.
    static var wholeColumns: Set<String> { get }
    var cells: [String] { get }
}

extension Row {
    static var optionalColumns: Set<String> { [] }
    static var wholeColumns: Set<String> { [] }
}

enum Listing {
    /// Prints the rows as a table, or as a JSON array.
    static func show<R: Row>(_ rows: [R], json: Bool) throws {
        guard !json else { return try showJSON(rows) }
        guard !rows.isEmpty else { return }
        var lines = [R.columns.map(Word.shown)] + rows.map { $0.cells.map(DisplayText.line) }
        let shown = lines[0].indices.filter { column in
            !R.optionalColumns.contains(R.columns[column]) || lines.dropFirst().contains { !$0[column].isEmpty }
        }
        let columns = shown.map { R.columns[$0] }
        lines = lines.map { line in shown.map { line[$0] } }
        var widths = lines[0].indices.map { column in lines.map { TextWidth.columns(of: $0[column]) }.max() ?? 0 }
        if let room = Terminal.width {
            widths = TextWidth.fitting(
                widths, into: room - gap.count * (widths.count - 1),
                headings: lines[0].map { TextWidth.columns(of: $0) },
                whole: Set(lines[0].indices.filter { R.wholeColumns.contains(columns[$0]) }))
            lines = lines.map { zip($0, widths).map { TextWidth.cut($0, to: $1) } }
        }
        StandardOutput.line(after: line(lines[0], widths))
        for row in lines.dropFirst() { StandardOutput.line(line(row, widths)) }
    }

    /// The blanks between two columns.
    private static let gap = "  "

    /// Prints a card's facts, a line each, or several on a terminal that is too narrow for one.
    static func show(_ facts: [CardFact]) {
        let names = facts.map { Word.shown($0.name) }
        let width = names.map { TextWidth.columns(of: $0) }.max() ?? 0
        let margin = String(repeating: " ", count: width + 1) + gap
        for (fact, name) in zip(facts, names) {
            let padding = String(repeating: " ", count: width - TextWidth.columns(of: name))
            let value = DisplayText.line(fact.value)
            let lines = Terminal.width.map { TextWidth.wrapped(value, to: $0 - margin.count) } ?? [value]
            StandardOutput.line("\(padding)\(gap)\(lines[0])", after: name + ":")
            for line in lines.dropFirst() { StandardOutput.line(margin + line) }
        }
    }

    /// The facts for programs. Lists of the same key are joined; of other values the first is taken.
    static func dictionary(_ facts: [CardFact]) -> [String: CardFact.Plain] {
        facts.reduce(into: [:]) { all, fact in
            all.merge(fact.parts) { first, next in
                guard case (.list(let words), .list(let more)) = (first, next) else { return first }
                return .list(words + more)
            }
        }
    }

    /// Prints a value as JSON, its keys in alphabetical order.
    static func showJSON(_ value: some Encodable) throws { StandardOutput.json(try json(value)) }

    /// Prints a value as JSON with secrets in it, of which no copy is made.
    static func showJSON(_ value: some Encodable, with secrets: JSONSecrets) throws {
        try secrets.show(json(value))
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let json = String(decoding: try encoder.encode(value), as: UTF8.self)
        // No string has a line feed in it, so that these are empty arrays and objects. To compile an expression takes milliseconds.
        guard json.contains("\n\n") else { return json }
        return json.replacing(/\[\n\n *\]/, with: "[]").replacing(/\{\n\n *\}/, with: "{}")
    }

    /// Prints an event at once: as a line of JSON, or of its parts.
    static func show(_ event: some Encodable, _ parts: [String?], json: Bool) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if json {
            StandardOutput.json(String(decoding: try encoder.encode(event), as: UTF8.self))
        } else {
            StandardOutput.line(parts.compactMap { $0 }.joined(separator: "  "))
        }
        try StandardOutput.finish()
    }

    private static func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = zip(cells, widths).map { cell, width in
            cell + String(repeating: " ", count: max(0, width - TextWidth.columns(of: cell)))
        }
        let line = padded.joined(separator: gap)
        return line.lastIndex { !$0.isWhitespace }.map { String(line[...$0]) } ?? ""
    }
}
