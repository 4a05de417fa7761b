/// Text for a command line that people copy into a shell.
enum ShellText {
    /// One word, whatever is in it.
    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
