/// How much room text takes on a terminal.
enum TextWidth {
    /// No column is cut to less.
    private static let least = 12

    /// The columns that a text takes: two for each wide character of East Asian scripts and each pictograph, none for a mark
    /// that is put on another.
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

    /// The widths of a table's columns, the widest ones cut until the table fits, as far as that goes.
    static func fitting(_ widths: [Int], into room: Int, least: [Int]) -> [Int] {
        var widths = widths
        while widths.reduce(0, +) > room,
            let widest = widths.indices.filter({ widths[$0] > max(least[$0], TextWidth.least) })
                .max(by: { widths[$0] < widths[$1] })
        {
            widths[widest] -= 1
        }
        return widths
    }

    /// The text without its middle, where it is wider than that.
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
