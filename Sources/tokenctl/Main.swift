internal import ArgumentParser
internal import Glibc
internal import HostAPI
internal import Localization
internal import SecureBytes

@main
enum Main {
    static func main() {
        // pcscd that ends in the middle of a call is an error to report, not a reason to die silently.
        signal(SIGPIPE, SIG_IGN)
        InheritedDescriptors.note()
        occupyStandardStreams()
        forbidCoreDumps()
        guard hasTextOnly() else { exit(1) }
        HostAccess.forbidBlocking()
        let status = CommandLineInterpreter.run(Array(CommandLine.arguments.dropFirst()))
        CommandClients.end()
        exit(status)
    }

    /// Whether every argument is text in UTF-8. One that is silently repaired could name another item or file.
    private static func hasTextOnly() -> Bool {
        for index in 1..<max(Int(CommandLine.argc), 1) {
            guard let argument = unsafe CommandLine.unsafeArgv[index], unsafe String(validatingCString: argument) == nil
            else { continue }
            printError("argument \(index) is not text in UTF-8: '\(CommandLine.arguments[index])'")
            return false
        }
        return true
    }

    /// A stream that was closed must not become the next file that is opened: messages would end up in a keychain.
    private static func occupyStandardStreams() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
            // Opened for the opposite direction, so that using it is an error as before.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Sets the limit of core dumps to one byte. Only this value keeps the kernel from starting a program that collects
    /// them, core(5).
    private static func forbidCoreDumps() {
        var limit = rlimit(rlim_cur: 1, rlim_max: 1)
        _ = unsafe setrlimit(__rlimit_resource_t(UInt32(RLIMIT_CORE.rawValue)), &limit)
    }
}

/// Writes `tokenctl: text` to standard error, without the PIN of a URI that is in it.
func printError(_ message: LocalizedText) {
    var text = String(localized: message)
    if text.contains("pin-value=") { text.replace(/(pin-value=)[^&'"\s]+/) { "\($0.1)…" } }
    StandardError.line("tokenctl: \(text)")
}

struct Tokenctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokenctl",
        abstract: "One keychain over smart cards and local files.",
        discussion: """
            What people come for:
              find-identity -v                         see certificates and their keys
              sign --key 9A -o report.sig report.txt   sign a file
              decrypt --key 9D letter.enc              decrypt a short message
              card info                                see what is on a card
              card pin change                          set another PIN
              add-generic-password -a anna -s web      keep a password
              find-generic-password -s web -w          read a password
              import me.p12                            bring a certificate and its key
              create-csr --key 9A -c Anna -o anna.csr  request a certificate
              bind-keychain                            open a keychain with a card's PIN

            Cards come first in every listing, then local keychains. Keys on a card are used there; its PIN is asked \
            for when it is needed. Before the command's name -i reads commands from standard input, -p sets their prompt, \
            -q leaves warnings out, and -v tells each command's exit status.
            """,
        version: nameAndVersion,
        groupedSubcommands: [
            CommandGroup(
                name: "Cards",
                subcommands: [ListSmartcards.self, ExportSmartcard.self, Smartcards.self, Card.self, Watch.self]),
            CommandGroup(
                name: "Keychains",
                subcommands: [
                    ListKeychains.self, ListModules.self, DefaultKeychain.self, LoginKeychain.self, CreateKeychain.self,
                    DeleteKeychain.self, UnlockKeychain.self, LockKeychain.self, SetKeychainPassword.self,
                    SetKeychainSettings.self, ShowKeychainInfo.self,
                    BackupKeychain.self, RestoreKeychain.self, BindKeychain.self, UnbindKeychain.self,
                    DumpKeychain.self,
                    WaitForNotifications.self,
                ]),
            CommandGroup(
                name: "Items",
                subcommands: [
                    FindCertificate.self, FindIdentity.self, FindKey.self, AddCertificates.self,
                    DeleteCertificate.self, DeleteIdentity.self, AddGenericPassword.self, FindGenericPassword.self,
                    DeleteGenericPassword.self, AddInternetPassword.self, FindInternetPassword.self,
                    DeleteInternetPassword.self, ListPasswords.self, ItemCommand.self, Explain.self, Import.self,
                    Export.self,
                ]),
            CommandGroup(
                name: "Keys",
                subcommands: [
                    CreateKeypair.self, CreateCSR.self, Sign.self, Verify.self, Encrypt.self, Decrypt.self,
                    VerifyCert.self,
                ]),
            CommandGroup(
                name: "Help",
                subcommands: [Status.self, Doctor.self, Host.self, Access.self, SSH.self, ErrorText.self]),
            CommandGroup(name: "Testing", subcommands: [VirtualCardCommand.self]),
        ])

    static let version = HostStatus.currentVersion
    static let nameAndVersion = "tokenctl \(version)"
}
