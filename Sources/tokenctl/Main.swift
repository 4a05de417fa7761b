internal import ArgumentParser
internal import Glibc
internal import KeychainHost

@main
enum Main {
    static func main() {
        // pcscd that ends in the middle of a call is an error to report, not a reason to die silently.
        signal(SIGPIPE, SIG_IGN)
        occupyStandardStreams()
        forbidCoreDumps()
        do {
            var command = try Tokenctl.parseAsRoot(PasswordArgument.expanded(CommandLine.arguments.dropFirst()))
            try command.run()
            try StandardOutput.finish()
        } catch {
            exit(report(error))
        }
    }

    /// A stream that was closed must not become the next file that is opened: messages would end up in a keychain.
    private static func occupyStandardStreams() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // The wrong way round, so that using it is an error as before.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// One byte, not none: only then does the kernel not even start a program that collects dumps. core(5)
    private static func forbidCoreDumps() {
        var limit = rlimit(rlim_cur: 1, rlim_max: 1)
        _ = unsafe setrlimit(__rlimit_resource_t(UInt32(RLIMIT_CORE.rawValue)), &limit)
    }

    /// Prints what went wrong and returns the exit code: 1, or 44 where nothing was found.
    private static func report(_ error: any Error) -> Int32 {
        switch error {
        case let error as KeychainError:
            printError(error.description)
            return error.code == .itemNotFound ? 44 : 1
        case let error as ExitCode:
            return error.rawValue
        case let error as WriteError:
            if !error.isClosedPipe { printError(error.description) }
            return 1
        default:
            guard Tokenctl.exitCode(for: error) == .success else {
                printError(sentence(error))
                return 1
            }
            return showHelp(Tokenctl.fullMessage(for: error))
        }
    }

    private static func showHelp(_ text: String) -> Int32 {
        print(text)
        do { try StandardOutput.finish() } catch { return report(error) }
        return 0
    }

    /// What the parser says, as a line like all others, with where to read on.
    private static func sentence(_ error: any Error) -> String {
        guard Tokenctl.exitCode(for: error) == .validationFailure else { return Tokenctl.message(for: error) }
        let lines = Tokenctl.message(for: error).split(whereSeparator: \.isNewline)
        let line = lines.map { $0.drop(while: \.isWhitespace) }.joined(separator: " ")
        let advice = Tokenctl.fullMessage(for: error).firstMatch(of: /See ('tokenctl[^']*')/).map { " (see \($0.1))" }
        return line.prefix(1).lowercased() + line.dropFirst() + (advice ?? "")
    }
}

/// Writes `tokenctl: text` to standard error.
func printError(_ text: String) {
    StandardError.write("tokenctl: \(text)\n")
}

struct Tokenctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokenctl",
        abstract: "One keychain over smart cards and local files.",
        discussion: """
            Cards come first in every listing, then local keychains. Keys on a card are used there; its PIN is asked \
            for when it is needed.
            """,
        version: "tokenctl \(version)",
        groupedSubcommands: [
            CommandGroup(name: "Cards", subcommands: [ListSmartcards.self, Card.self, Watch.self]),
            CommandGroup(
                name: "Keychains",
                subcommands: [
                    ListKeychains.self, CreateKeychain.self, UnlockKeychain.self, LockKeychain.self,
                    SetKeychainPassword.self,
                ]),
            CommandGroup(
                name: "Items",
                subcommands: [
                    FindCertificate.self, FindIdentity.self, AddGenericPassword.self, FindGenericPassword.self,
                    DeleteGenericPassword.self, Import.self, Export.self,
                ]),
            CommandGroup(name: "Keys", subcommands: [Sign.self, Verify.self, Decrypt.self]),
            CommandGroup(name: "Testing", subcommands: [VirtualCardCommand.self]),
        ])

    static let version = "0.1.0"
}
