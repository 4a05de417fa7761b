internal import ArgumentParser
internal import Glibc
internal import HostConnection
internal import KeychainModel
internal import Localization
import Platform

struct Host: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Start, stop or show the process that has cards and keychains for the session's programs.",
        discussion: """
            Every command of tokenctl that needs it starts it. Other programs share it where it runs; each starts one of its own \
            where it does not. With systemd 'systemctl --user enable --now tokenkit.socket' has it started when the first program \
            needs it. With TOKENKIT_HOST=private in the environment, commands neither start nor share it.
            """,
        subcommands: [Start.self, Stop.self, Status.self, Log.self], defaultSubcommand: Status.self)

    private static func report(_ sentence: LocalizedText, _ session: HostSession, _ output: OutputOptions) throws {
        guard !output.json else { return try Listing.showJSON(State(session, session.listener)) }
        StandardOutput.line(localized: sentence)
    }

    struct Start: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "start",
            abstract: "Start it, unless it runs. It ends by itself when it is not used for a minute.")

        @OptionGroup var output: OutputOptions

        func run() throws {
            let session = try HostSession()
            guard session.listener == .none else {
                return try Host.report("The host serves this session already.", session, output)
            }
            do throws(KeychainError) { try HostConnection.startSession() } catch {
                throw CommandError("the host does not serve this session", "\(error.reason)")
            }
            try Host.report("The host serves this session at \(session.path).", session, output)
        }
    }

    struct Stop: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stop", abstract: "Have it take no further programs. It ends with the last of those it serves."
        )

        @OptionGroup var output: OutputOptions

        func run() throws {
            let session = try HostSession()
            let listener = session.listener
            switch listener {
            case .none: return try Host.report("No host serves this session.", session, output)
            case .overloaded:
                throw CommandError(
                    "the host does not answer", "many programs wait for it",
                    advice: "end it with 'pkill -KILL \(HostProgram.name)'")
            case .process: break
            }
            guard let process = session.host(listener) else {
                throw CommandError(
                    "cannot stop this session's host", "its socket belongs to a service manager",
                    advice: "systemctl --user stop tokenkit.socket tokenkit.service")
            }
            guard kill(process, SIGTERM) == 0 else {
                throw CommandError("cannot stop the host", "\(SystemError().reason)")
            }
            for _ in 0..<100 where session.listener == listener { usleep(50_000) }
            guard session.listener != listener else {
                throw CommandError(
                    "the host has not stopped", "the process \(process) does not answer",
                    advice: "end it with 'kill -KILL \(process)'")
            }
            try Host.report("The host takes no further programs.", session, output)
        }
    }

}

/// The session that a host serves, by its folder for sockets.
struct HostSession {
    let runtime: String

    /// - Throws: ``CommandError`` where the session has no folder for sockets.
    init() throws(CommandError) {
        guard let runtime = Environment.variable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") else {
            throw CommandError(
                "this session cannot share a host", "it has no folder for sockets", advice: "set XDG_RUNTIME_DIR")
        }
        self.runtime = runtime
    }

    var path: String { HostSocket.path(in: runtime) }

    /// The listener at the session's socket.
    var listener: HostSocket.Listener { HostSocket.listener(in: runtime) }

    /// The process of a listener that is a host; nil for a service manager.
    func host(_ listener: HostSocket.Listener) -> Int32? {
        guard case .process(let process) = listener else { return nil }
        // The host hides its executable file, as it hides its memory.
        return ProcessStatus(of: process)?.name == HostProgram.name ? process : nil
    }
}

/// The program `tokenkitd`.
enum HostProgram {
    static let name = "tokenkitd"

    /// The folder that this program is installed below, as `make install` lays it out.
    static var folderOfInstallation: String {
        "/" + Executable.path(of: getpid()).split(separator: "/").dropLast(2).joined(separator: "/")
    }

    /// Whether this program is from a package of the distribution, which alone installs below `/usr`.
    static var isPackaged: Bool { folderOfInstallation == "/usr" }

    /// The command that installs what is missing of this program's installation.
    ///
    /// - Parameter package: the package of Debian that has it.
    static func installation(of package: String) -> String {
        isPackaged ? "sudo apt-get install \(package)" : "sudo make install"
    }

    /// The path of the installed host, or else of the one that was built beside this program.
    static var path: String {
        let installed = folderOfInstallation + "/libexec/\(name)"
        guard unsafe access(installed, X_OK) != 0 else { return installed }
        return "/" + Executable.path(of: getpid()).split(separator: "/").dropLast().joined(separator: "/") + "/\(name)"
    }
}
