internal import ArgumentParser

/// The root of one command alone. The parser makes a tree of all commands below its root, and then looks for its own option for completions: a third of
/// the time that a start would take.
private struct LoneCommand<Command: ParsableCommand>: ParsableCommand {
    static var configuration: CommandConfiguration {
        // Only a root without a command above it has the option for completions.
        CommandConfiguration(commandName: "tokenctl", _superCommandName: "", subcommands: [Command.self])
    }
}

extension ParsableCommand {
    fileprivate static func parseAlone(_ arguments: [String]) throws -> any ParsableCommand {
        try LoneCommand<Self>.parseAsRoot(arguments)
    }
}

extension Tokenctl {
    /// The command that the arguments name, with its options.
    ///
    /// - Throws: what the parser says of a mistake, or answers to a request for help.
    static func command(in arguments: [String]) throws -> any ParsableCommand {
        if arguments.allSatisfy({ !requestsForHelp.contains($0) }), let name = arguments.first,
            let command = CommandName.subcommand(name, of: self),
            let parsed = try? command.parseAlone(arguments)
        {
            return parsed
        }
        return try parseAsRoot(arguments)
    }

    /// Arguments that ask the parser for help or completions. Its answer names the command with those above it, and needs the whole tree.
    private static let requestsForHelp = ["help", "--help", "-h", "--help-hidden", "--generate-completion-script"]
}
