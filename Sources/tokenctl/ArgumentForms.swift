internal import ArgumentParser
internal import FoundationEssentials
internal import TokenKit

/// Forms of arguments in macOS's `security` that the parser does not know, as forms that it does.
enum ArgumentForms {
    /// What stands for a password that is to be asked for.
    static let ask = "\u{0}"

    static func expanded(_ arguments: [String]) throws -> [String] {
        switch arguments.first {
        case "add-generic-password": try fillingPassword(arguments, AddGenericPassword.self)
        case "add-internet-password": try fillingPassword(arguments, AddInternetPassword.self)
        case "import": try joiningAttributes(arguments)
        default: arguments
        }
    }

    /// A value after each `-w` that has none, which is the last one or before another option.
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

    /// A password may begin with a dash too.
    private static func isOption(_ text: String) -> Bool { text.wholeMatch(of: /-[A-Za-z]|--.*/) != nil }

    /// `-a name value` as `-a name=value`.
    private static func joiningAttributes(_ arguments: [String]) throws -> [String] {
        try rewriting(arguments, Import.self, "a") { rest in
            rest.count > 1 ? [rest.removeFirst() + "=" + rest.removeFirst()] : []
        }
    }

    /// The arguments with another form of the values of one option. What is the value of any other is no option.
    ///
    /// - Parameter form: takes the option's values off what follows it, and returns what the parser is to find there.
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

    /// The option of a word whose value is the next word.
    func open(in word: String) -> Option? {
        if word.hasPrefix("--") { return options.first { $0.takesValue && $0.has(String(word.dropFirst(2))) } }
        guard word.hasPrefix("-") else { return nil }
        // Letters stand together; what follows one that takes a value is the value.
        let letters = word.dropFirst()
        let end = letters.firstIndex { letter in options.first { $0.has(String(letter)) }?.takesValue != false }
        guard let end, letters.index(after: end) == letters.endIndex else { return nil }
        return options.first { $0.has(String(letters[end])) }
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

    /// What the help says of an option that takes one.
    static func help(_ what: String) -> ArgumentHelp {
        ArgumentHelp("\(what) Other programs can see it: better leave it out, and be asked.", valueName: "password")
    }

    static func warn() {
        guard !StandardInput.hasCommands else { return }
        Warnings.show("warning: other programs can see a password on the command line; leave it out to be asked")
    }
}
