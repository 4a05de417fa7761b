internal import Localization
internal import Platform

/// The options before the command's name, as in macOS's `security`: `-i`, `-p prompt`, `-q`, `-v`, alone or together.
///
/// Not options of the command itself, where `-v` and others mean something else.
struct GlobalOptions: Equatable {
    /// The prompt of the interactive mode; nil outside of it.
    private(set) var prompt: String?

    /// Whether warnings and notes are left out; errors are not.
    private(set) var isQuiet = false

    /// Whether each command's exit status is told.
    private(set) var isVerbose = false

    /// Takes the options off the arguments' beginning.
    init(_ arguments: inout ArraySlice<String>) throws {
        while let first = arguments.first, GlobalOptions.isWord(first) {
            arguments.removeFirst()
            var letters = first.dropFirst()
            while let letter = letters.popFirst() {
                switch letter {
                case "i": prompt = prompt ?? "tokenctl> "
                case "q": isQuiet = true
                case "v": isVerbose = true
                case "l": throw MissingCommand.reasons["leaks"] ?? CommandError("there is no '-l' here")
                default:
                    // The rest of the word is the prompt, or the next word is.
                    guard let text = letters.isEmpty ? arguments.popFirst() : String(letters) else {
                        throw CommandError("missing value for '-p <prompt>'", advice: "see 'tokenctl --help'")
                    }
                    (prompt, letters) = (text, "")
                }
            }
        }
        guard prompt != nil, let surplus = arguments.first else { return }
        throw CommandError("unexpected argument '\(surplus)'", "the commands are read from standard input")
    }

    private static func isWord(_ text: String) -> Bool {
        guard text.hasPrefix("-"), text.count > 1 else { return false }
        let letters = text.dropFirst().prefix { $0 != "p" }
        return letters.allSatisfy { "ilqv".contains($0) }
    }
}

/// Whether warnings and notes are printed.
enum Warnings {
    @TaskLocal static var areWanted = true

    /// Writes `tokenctl: text` to standard error, if warnings are wanted. What ends the command is an error, not a warning.
    static func show(_ text: LocalizedText) { if areWanted { printError(text) } }

    /// Shows a warning once a day at most, of a state that lasts from one command to the next; `tokenctl doctor` tells
    /// it at any time.
    static func showDaily(_ text: LocalizedText) {
        guard areWanted, DailyNotices(in: Directories.own.cache).isDue(text.rendered(in: .english)) else { return }
        show("\(text); told once a day, and by 'tokenctl doctor'")
    }
}
