internal import KeychainModel
internal import ArgumentParser
internal import Glibc
internal import Localization

/// Runs the command in the arguments, or with `-i` the commands on standard input, one a line.
///
/// As in macOS's `security`, any unambiguous beginning of a command's name is accepted.
struct CommandLineInterpreter {
    private let options: GlobalOptions

    /// - Returns: the exit status: 0 for success, the status of a keychain error's code, or 1 for any other error; in the
    ///   interactive mode the last command's.
    static func run(_ arguments: [String]) -> Int32 {
        var rest = arguments[...]
        do {
            let interpreter = CommandLineInterpreter(options: try GlobalOptions(&rest))
            return Warnings.$areWanted.withValue(!interpreter.options.isQuiet) { interpreter.run(Array(rest)) }
        } catch {
            return report(error)
        }
    }

    private func run(_ arguments: [String]) -> Int32 {
        options.prompt.map { interactive(prompt: $0) } ?? execute(arguments)
    }

    private func interactive(prompt: String) -> Int32 {
        var status: Int32 = 0
        while true {
            if isatty(STDIN_FILENO) == 1 { StandardError.prompt(prompt) }
            guard let line = StandardInput.line() else { return status }
            guard line.isWhole, let line = String(validating: line.bytes, as: UTF8.self) else {
                printError(line.isWhole ? "the line is not text in UTF-8" : "the line is too long")
                status = 1
                continue
            }
            guard let words = CommandWords.split(line) else {
                printError("a quotation mark is missing")
                status = 1
                continue
            }
            if ["quit", "exit"].contains(words.first) { return status }
            if !words.isEmpty { status = StandardInput.$hasCommands.withValue(true) { execute(words) } }
            CommandClients.end()
        }
    }

    private func execute(_ arguments: [String]) -> Int32 {
        let status = CommandLineInterpreter.status(of: arguments)
        if options.isVerbose, let name = arguments.first { printError("\(name) ended with \(status)") }
        return status
    }

    private static func status(of arguments: [String]) -> Int32 {
        do {
            let arguments = try CommandName.completed(arguments.isEmpty ? [Status.name] : arguments)
            if let note = MissingCommand.note(arguments) {
                Warnings.show(note)
                return 0
            }
            if arguments == ["--version"] {
                StandardOutput.line(Tokenctl.nameAndVersion)
                try StandardOutput.finish()
                return 0
            }
            var command = try Tokenctl.command(in: ArgumentForms.expanded(arguments))
            try command.run()
            try StandardOutput.finish()
            return 0
        } catch {
            return report(error)
        }
    }

    /// Prints what went wrong and returns the exit status.
    private static func report(_ error: any Error) -> Int32 {
        switch error {
        case let error as KeychainError:
            printError("\(error)")
            return status(of: error.code)
        case let error as ExitCode:
            return error.rawValue
        case let error as WriteError:
            if !error.isClosedPipe { printError("\(error)") }
            return 1
        default:
            guard Tokenctl.exitCode(for: error) == .success else {
                printError("\(sentence(error))")
                return 1
            }
            return showHelp(HelpText.text(of: error))
        }
    }

    /// The low byte of the code, as macOS's `security` has it: 44 for errSecItemNotFound. A certificate that is not
    /// trusted is an answer, and gives 1.
    static func status(of code: ErrSec) -> Int32 {
        let status = code.rawValue & 0xFF
        return status == 0 || code == .notTrusted ? 1 : status
    }

    private static func showHelp(_ text: String) -> Int32 {
        if Pager.show(text) { return 0 }
        StandardOutput.lines(text)
        do { try StandardOutput.finish() } catch { return report(error) }
        return 0
    }

    /// The parser's error as one line, with the command that shows its help.
    private static func sentence(_ error: any Error) -> String {
        guard Tokenctl.exitCode(for: error) == .validationFailure else { return Tokenctl.message(for: error) }
        let lines = Tokenctl.message(for: error).split(whereSeparator: \.isNewline)
        let parts = lines.map { $0.drop(while: \.isWhitespace) }
        let choices = parts.filter { $0.hasPrefix("- ") }.map { $0.dropFirst(2) }
        let said =
            parts.filter { !$0.hasPrefix("- ") } + (choices.isEmpty ? [] : [choices.joined(separator: ", ")[...]])
        var line = said.joined(separator: " ")
        // A surplus argument of these commands may be a PIN, which is not printed.
        let full = Tokenctl.fullMessage(for: error)
        if full.contains(/tokenctl card pin (verify|change|unblock)/), line.contains(/nexpected arguments?:? '/) {
            line = String(localized: "PINs are asked for, or read by --pin-source, and not given as arguments")
        }
        line = ParserMessage.translated(line)
        let advice = full.firstMatch(of: /See '(tokenctl[^']*)'/).map { String(localized: "see '\($0.1)'") }
        // A name in capitals stays as it is.
        let isWord = Language.current.isEnglish && line.dropFirst().first?.isUppercase != true
        let text = (isWord ? line.prefix(1).lowercased() : String(line.prefix(1))) + line.dropFirst()
        return advice.map { "\(text) (\($0))" } ?? text
    }
}

/// Splits a line into words as a shell does.
enum CommandWords {
    /// - Returns: nil where a quotation mark is not closed.
    static func split(_ line: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var mark: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", mark != "'" {
                isEscaped = true
            } else if let open = mark {
                if character == open { mark = nil } else { word = (word ?? "") + String(character) }
            } else if character == "\"" || character == "'" {
                mark = character
                word = word ?? ""
            } else if character.isWhitespace {
                if let whole = word { words.append(whole) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard mark == nil, !isEscaped else { return nil }
        return words + (word.map { [$0] } ?? [])
    }
}
