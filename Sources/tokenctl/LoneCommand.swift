internal import ArgumentParser

/// One command alone, as the parser's root. The parser reads the options of a command below its root once more than those of the root, and makes a tree
/// of all commands: a third of the time that a start would take.
private struct LoneCommand<Command: ParsableCommand>: ParsableCommand {
    @OptionGroup var command: Command

    static var configuration: CommandConfiguration {
        // Only a root without a command above it has the option for completions, which costs time too.
        CommandConfiguration(commandName: "tokenctl", _superCommandName: "")
    }
}

extension ParsableCommand {
    /// The command of the arguments after its name; nil for a mistake or a request for help.
    fileprivate static func parsedAlone(_ arguments: [String]) -> (any ParsableCommand)? {
        (try? LoneCommand<Self>.parseAsRoot(arguments) as? LoneCommand<Self>)?.command
    }
}

extension Tokenctl {
    /// The command that the arguments name, with its options.
    ///
    /// - Throws: what the parser says of a mistake, or answers to a request for help.
    static func command(in arguments: [String]) throws -> any ParsableCommand {
        var (command, rest): (any ParsableCommand.Type, _) = (Tokenctl.self, arguments[...])
        while let name = rest.first, let next = CommandName.subcommand(name, of: command) {
            command = next
            rest.removeFirst()
        }
        if command.configuration.subcommands.isEmpty, let parsed = command.parsedAlone(Array(rest)) { return parsed }
        // Help and messages of mistakes have the whole name, as in 'tokenctl card pin', which a command alone does not know.
        return try parseAsRoot(arguments)
    }
}
