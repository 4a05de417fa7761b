// Everything that users see, in one place:
// - results go to standard output, everything else to standard error;
// - a table for people, JSON for programs, bold text only on a terminal;
// - questions go through pinentry where there is a desktop or a terminal for it, else to the terminal itself;
// - errors are one line: tokenctl: what failed: why (what to do).

internal import Glibc
internal import Platform

enum Terminal {
    /// Whether standard output is a terminal.
    static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The number of the terminal's columns; nil where output is no terminal, or the terminal does not tell.
    static var width: Int? { size(\.ws_col) }

    /// The number of its rows.
    static var height: Int? { size(\.ws_row) }

    private static func size(_ part: KeyPath<winsize, UInt16>) -> Int? {
        guard isInteractive else { return nil }
        var size = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size[keyPath: part] > 0 else { return nil }
        return Int(size[keyPath: part])
    }

    /// `text` in bold on a terminal that knows bold, unless `NO_COLOR` is set and not empty, as no-color.org has it.
    static func emphasized(_ text: String) -> String {
        let isWanted = Environment.variable("NO_COLOR") ?? "" == "" && Environment.variable("TERM") != "dumb"
        return !text.isEmpty && isInteractive && isWanted ? "\u{1B}[1m\(text)\u{1B}[0m" : text
    }
}
