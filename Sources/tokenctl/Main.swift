internal import ArgumentParser
internal import Glibc
internal import KeychainHost

@main
enum Main {
    static func main() {
        // A closed pipe is an error to report, not a reason to die silently.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try Tokenctl.parseAsRoot(PasswordArgument.expanded(CommandLine.arguments.dropFirst()))
            try command.run()
        } catch {
            exit(report(error))
        }
    }

    /// Prints what went wrong and returns the exit code: 1, or 44 where nothing was found.
    private static func report(_ error: any Error) -> Int32 {
        switch error {
        case let error as KeychainError:
            printError(error.description)
            return error.code == .itemNotFound ? 44 : 1
        case let error as ExitCode:
            return error.rawValue
        default:
            if Tokenctl.exitCode(for: error) == .success {
                print(Tokenctl.fullMessage(for: error))
                return 0
            }
            printError(Tokenctl.message(for: error))
            return 1
        }
    }
}

/// Writes `tokenctl: text` to standard error.
func printError(_ text: String) {
    _ = Descriptor.write("tokenctl: \(text)\n", to: STDERR_FILENO)
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
