internal import ArgumentParser
internal import TokenKit

/// Forms of arguments in macOS's `security` that the parser does not know, as forms that it does.
enum ArgumentForms {
    /// What stands for a password that is to be asked for.
    static let ask = "\u{0}"

    static func expanded(_ arguments: [String]) -> [String] {
        guard let verb = arguments.first else { return [] }
        if verb == "import" { return joiningAttributes(arguments) }
        return verb.hasPrefix("add-") && verb.hasSuffix("-password") ? fillingPassword(arguments) : arguments
    }

    /// A value after each `-w` that has none, which is the last one or before another option.
    private static func fillingPassword(_ arguments: [String]) -> [String] {
        arguments.indices.flatMap { index in
            // The older spelling, which an internet password needs for its path.
            let isOld = arguments[0] == "add-generic-password" && arguments[index] == "-p"
            guard arguments[index] == "-w" || isOld else { return [arguments[index]] }
            let isBare = index + 1 == arguments.count || isOption(arguments[index + 1])
            return isBare ? ["-w", ask] : ["-w"]
        }
    }

    /// A password may begin with a dash too.
    private static func isOption(_ text: String) -> Bool { text.wholeMatch(of: /-[A-Za-z]|--.*/) != nil }

    /// `-a name value` as `-a name=value`.
    private static func joiningAttributes(_ arguments: [String]) -> [String] {
        var (joined, rest) = ([String](), arguments[...])
        while let argument = rest.popFirst() {
            joined.append(argument)
            if argument == "-a", rest.count > 1 { joined.append(rest.removeFirst() + "=" + rest.removeFirst()) }
        }
        return joined
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
