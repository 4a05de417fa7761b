internal import Glibc
internal import Platform
internal import SecureBytes

/// The program in which a person reads a text that is longer than the terminal: that of `PAGER`, else less.
enum Pager {
    /// - Returns: false where the text is to be written as it is: it fits, no person is at the terminal, or there is no such program.
    static func show(_ text: String) -> Bool {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { DisplayText.line(String($0)) }
        guard let height = Terminal.height, lines.count >= height, isatty(STDIN_FILENO) == 1,
            var words = CommandWords.split(Environment.variable("PAGER") ?? "less"), !words.isEmpty,
            let program = HelperProgram(words.removeFirst())
        else { return false }
        // As git has it: less ends by itself where the text fits, and leaves it on the screen.
        if program.isNamed("less"), Environment.variable("LESS") == nil { words.append("-FRX") }
        return program.show(lines.joined(separator: "\n"), words)
    }
}
