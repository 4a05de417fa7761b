internal import ArgumentParser
internal import FoundationEssentials
internal import Localization
internal import SecureBytes

/// Rewrites the forms of arguments in macOS's `security` that the parser does not know.
enum ArgumentForms {
    /// The argument that stands for a password that is to be asked for.
    static let ask = "\u{0}"

    static func expanded(_ given: [String]) throws -> [String] {
        let arguments = try separatingValues(given)
        return switch arguments.first {
        case "add-generic-password": try fillingPassword(arguments, AddGenericPassword.self)
        case "add-internet-password": try fillingPassword(arguments, AddInternetPassword.self)
        case "import": try joiningAttributes(arguments)
        default: arguments
        }
    }

    /// Splits `-w=text` into `-w` and `=text`. As in getopt(3), all that follows the letter is its value, but the parser would
    /// drop the `=`, with which a password may begin.
    private static func separatingValues(_ arguments: [String]) throws -> [String] {
        guard arguments.contains(where: hasLettersBeforeEqualsSign) else { return arguments }
        var (command, words): (any ParsableCommand.Type, _) = (Tokenctl.self, arguments[...])
        var rewritten: [String] = []
        while let name = words.first, let next = CommandName.subcommand(name, of: command) {
            command = next
            rewritten.append(words.removeFirst())
        }
        let options = try CommandOptions(command)
        while let word = words.popFirst() {
            if word == "--" { return rewritten + [word] + words }
            if let (letters, value) = options.separated(word) {
                rewritten += [letters, value]
            } else {
                rewritten.append(word)
                if options.open(in: word) != nil, let value = words.popFirst() { rewritten.append(value) }
            }
        }
        return rewritten
    }

    private static func hasLettersBeforeEqualsSign(_ text: String) -> Bool {
        guard text.utf8.first == UInt8(ascii: "-"), let end = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            return false
        }
        let letters = text.utf8[..<end].dropFirst()
        return !letters.isEmpty && letters.allSatisfy(isLetter)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    /// Adds a value to each `-w` without one, which is the last argument or before another option.
    private static func fillingPassword(
        _ arguments: [String], _ command: any ParsableCommand.Type
    ) throws -> [String] {
        var isGiven = false
        return try rewriting(arguments, command, "w") { rest in
            guard !isGiven else { throw CommandError("the password is given twice", advice: "leave one out") }
            isGiven = true
            guard let next = rest.first, !isOption(next) else { return [ask] }
            return [rest.removeFirst()]
        }
    }

    /// Whether the text is an option: a dash and one letter, or two dashes. Other texts with a dash may be passwords.
    private static func isOption(_ text: String) -> Bool {
        text.hasPrefix("--") || text.hasPrefix("-") && text.utf8.count == 2 && text.utf8.last.map(isLetter) == true
    }

    /// Rewrites `-a name value` as `-a name=value`.
    private static func joiningAttributes(_ arguments: [String]) throws -> [String] {
        try rewriting(arguments, Import.self, "a") { rest in
            rest.count > 1 ? [rest.removeFirst() + "=" + rest.removeFirst()] : []
        }
    }

    /// Rewrites the values of one option. Values of other options stay unchanged.
    ///
    /// - Parameter form: removes the option's values from the arguments after it, and returns the values for the parser.
    private static func rewriting(
        _ arguments: [String], _ command: any ParsableCommand.Type, _ letter: String,
        _ form: (inout ArraySlice<String>) throws -> [String]
    ) throws -> [String] {
        let options = try CommandOptions(command)
        var (rewritten, rest) = ([String](), arguments[...])
        while let word = rest.popFirst() {
            rewritten.append(word)
            if word == "--" { break }
            guard let option = options.open(in: word) else { continue }
            rewritten += try option.has(letter) ? form(&rest) : [rest.popFirst()].compactMap(\.self)
        }
        return rewritten + rest
    }
}

/// The options of a command, as its definition has them.
private struct CommandOptions {
    struct Option: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let kind: String
        let names: [Name]?

        var takesValue: Bool { kind == "option" }

        /// - Parameter name: a letter, or a word after two dashes.
        func has(_ name: String) -> Bool {
            names?.contains { $0.name == name && ($0.kind == "short") == (name.count == 1) } ?? false
        }
    }

    private struct Help: Decodable {
        struct Command: Decodable { let arguments: [Option] }
        let command: Command
    }

    private let options: [Option]

    init(_ command: any ParsableCommand.Type) throws {
        let help = try JSONDecoder().decode(Help.self, from: Data(command._dumpHelp().utf8))
        options = help.command.arguments
    }

    /// The option at the end of a word whose value is the next word; nil for any other word.
    func open(in word: String) -> Option? {
        if word.hasPrefix("--") { return options.first { $0.takesValue && $0.has(String(word.dropFirst(2))) } }
        guard word.hasPrefix("-") else { return nil }
        guard let end = lastLetter(of: word), word.index(after: end) == word.endIndex else { return nil }
        return options.first { $0.has(String(word[end])) }
    }

    /// Splits a word into option letters and a value that begins with `=`; nil for any other word.
    func separated(_ word: String) -> (letters: String, value: String)? {
        guard !word.hasPrefix("--"), word.hasPrefix("-"), let end = lastLetter(of: word),
            options.contains(where: { $0.has(String(word[end])) })
        else { return nil }
        let value = word[word.index(after: end)...]
        return value.hasPrefix("=") ? (String(word[...end]), String(value)) : nil
    }

    /// The first letter that takes a value, which is the rest of the word, or that is unknown. Letters before it are flags.
    private func lastLetter(of word: String) -> String.Index? {
        word.dropFirst().firstIndex { letter in options.first { $0.has(String(letter)) }?.takesValue != false }
    }
}

extension NameSpecification {
    /// A letter whose value is the next word or follows in the same one, as getopt(3) has it.
    static func letter(_ letter: Character) -> NameSpecification { [.letter(letter)] }
}

extension NameSpecification.Element {
    /// A letter whose value is the next word or follows in the same one, as getopt(3) has it.
    static func letter(_ letter: Character) -> NameSpecification.Element { .customShort(letter, allowingJoined: true) }
}

/// A secret that was given as an argument.
enum SecretArgument {
    static func secret(_ text: String) -> Secret {
        warn()
        var bytes = Array(text.utf8)
        return Secret(consuming: &bytes)
    }

    /// The help of an option that takes a secret.
    static func help(_ what: LocalizedText) -> ArgumentHelp {
        ArgumentHelp(
            String(localized: "\(what) Other programs can see it: better leave it out, and be asked."),
            valueName: "password")
    }

    static func warn() {
        guard !StandardInput.hasCommands else { return }
        Warnings.show("warning: other programs can see a password on the command line; leave it out to be asked")
    }
}
