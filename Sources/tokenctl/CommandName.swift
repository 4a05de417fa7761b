internal import ArgumentParser
internal import Localization

/// Names of commands, and beginnings of names.
enum CommandName {
    static let all = Tokenctl.configuration.subcommands.map { $0._commandName }

    private static let help = "help"

    /// Completes the names of the command and its subcommands, also after `help`.
    ///
    /// - Throws: for an unknown or ambiguous name, whatever options are before or after it.
    static func completed(_ arguments: [String]) throws -> [String] {
        var (whole, rest) = ([String](), arguments[...])
        var command: any ParsableCommand.Type = Tokenctl.self
        while let given = rest.first, !given.hasPrefix("-"), !command.configuration.subcommands.isEmpty {
            let exact = subcommand(given, of: command)
            let name = if exact == nil { try complete(given, below: command, whole) } else { given }
            whole.append(name)
            rest.removeFirst()
            if name == help { continue }
            // A command that is not needed here takes any arguments.
            guard let next = exact ?? subcommand(name, of: command) else { return whole + rest }
            command = next
        }
        try requireName(rest, below: command, whole)
        return whole + rest
    }

    /// The subcommand of a name; nil where there is none.
    static func subcommand(
        _ name: String, of command: any ParsableCommand.Type
    ) -> (any ParsableCommand.Type)? {
        command.configuration.subcommands.first { $0._commandName == name }
    }

    /// Checks the name of a command that follows options. No command takes options there, but the parser would complain
    /// of the options alone, and a wrong name is the greater mistake.
    private static func requireName(
        _ arguments: ArraySlice<String>, below command: any ParsableCommand.Type, _ path: [String]
    ) throws {
        guard let first = arguments.first, first.hasPrefix("-"), !isOfParser(first),
            !command.configuration.subcommands.isEmpty, command.configuration.defaultSubcommand == nil,
            let name = arguments.first(where: { !$0.hasPrefix("-") })
        else { return }
        _ = try complete(name, below: command, path)
    }

    /// Whether the option is the parser's own, which has a place before a name.
    private static func isOfParser(_ option: String) -> Bool {
        ["-h", "--help", "--version", "--generate-completion-script"].contains(option) || option.hasPrefix("---")
    }

    private static func complete(
        _ name: String, below command: any ParsableCommand.Type, _ path: [String]
    ) throws -> String {
        var names = command.configuration.subcommands.map { $0._commandName }
        if command == Tokenctl.self {
            if let reason = MissingCommand.reasons[name] { throw reason }
            names += MissingCommand.needless + (path.isEmpty ? [help] : [])
        }
        guard !names.contains(name) else { return name }
        let matches = name.isEmpty ? [] : names.filter { $0.hasPrefix(name) }
        guard matches.count < 2 else {
            throw CommandError(
                "'\(name)' is the beginning of more than one command", "\(matches.joined(separator: ", "))")
        }
        if let match = matches.first { return match }
        let parent = path.filter { $0 != help }
        let place = (["tokenctl"] + parent).joined(separator: " ")
        throw CommandError(
            "there is no command '\((parent + [name]).joined(separator: " "))'",
            advice: guess(name, among: names).map { "did you mean '\((parent + [$0]).joined(separator: " "))'?" }
                ?? "see '\(place) --help'")
    }

    /// The name that was probably meant: the nearest one, if at most a third of the given letters differ, or else the only one
    /// that contains them.
    static func guess(_ name: String, among names: [String]) -> String? {
        let nearest = names.map { (name: $0, distance: distance(name, $0)) }.min { $0.distance < $1.distance }
        if let nearest, nearest.distance <= max(1, name.count / 3) { return nearest.name }
        let containing = name.count < 3 ? [] : names.filter { $0.contains(name) }
        return containing.count == 1 ? containing.first : nil
    }

    /// The number of letters that have to be added, removed, replaced or swapped with the next one.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.prefix(64)), Array(right.prefix(64)))
        var rows = [Array(0...right.count)]
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                let replaced = rows[i][j] + (left[i] == right[j] ? 0 : 1)
                var best = min(row[j] + 1, rows[i][j + 1] + 1, replaced)
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
