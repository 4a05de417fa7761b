/// The width of text on a terminal.
enum TextWidth {
    /// The widths to which columns are cut, one after the other until the table fits. The first spares the headings.
    private static let floors = [12, 8, 4, 1]

    /// The columns that a text takes: two for each wide character of East Asian scripts and each pictograph, none for a
    /// combining mark.
    static func columns(of text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        guard !scalar.isASCII else { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        // Unicode Standard Annex 11, the blocks that are wide.
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x2_0000...0x3_FFFD:
            return 2
        default: return 1
        }
    }

    /// The widths of a table's columns, the widest ones cut until the table fits.
    ///
    /// - Parameters:
    ///   - headings: the widths of the columns' headings, which the first of the cuts spares.
    ///   - whole: the columns that say nothing once they are cut, as dates. They are cut last.
    static func fitting(_ widths: [Int], into room: Int, headings: [Int], whole: Set<Int> = []) -> [Int] {
        var widths = widths
        for (floor, spared) in floors.map({ ($0, whole) }) + [(1, [])] {
            while widths.reduce(0, +) > room,
                let widest = widths.indices.filter({
                    !spared.contains($0) && widths[$0] > max(floor, floor == floors[0] ? headings[$0] : 0)
                }).max(by: { widths[$0] < widths[$1] })
            {
                widths[widest] -= 1
            }
        }
        return widths
    }

    /// The text in lines that are no wider than `width`, broken between words where there are any.
    static func wrapped(_ text: String, to width: Int) -> [String] {
        guard columns(of: text) > width, width > 1 else { return [text] }
        var lines = [""]
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let joined = lines.count == 1 && lines[0].isEmpty ? String(word) : "\(lines[lines.count - 1]) \(word)"
            if columns(of: joined) <= width {
                lines[lines.count - 1] = joined
                continue
            }
            if !lines[lines.count - 1].isEmpty { lines.append("") }
            for character in word {
                if columns(of: lines[lines.count - 1]) + columns(of: String(character)) > width { lines.append("") }
                lines[lines.count - 1].append(character)
            }
        }
        return lines
    }

    /// The text without its middle, if it is wider than `width`.
    static func cut(_ text: String, to width: Int) -> String {
        guard columns(of: text) > width, width > 0 else { return text }
        var (head, tail) = ([Character](), [Character]())
        var (front, back) = (text[...], text[...])
        var room = width - 1
        while true {
            let isFront = head.count <= tail.count
            guard let next = isFront ? front.popFirst() : back.popLast() else { break }
            room -= columns(of: String(next))
            guard room >= 0 else { break }
            if isFront { head.append(next) } else { tail.append(next) }
        }
        return String(head) + "…" + String(tail.reversed())
    }
}
