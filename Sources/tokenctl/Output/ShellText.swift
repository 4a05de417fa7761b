/// Text for a command line that people copy into a shell.
enum ShellText {
    /// The text as one word, whatever characters it has.
    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
